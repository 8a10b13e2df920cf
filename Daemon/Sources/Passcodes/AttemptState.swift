/// How often an entry failed in a row, and the wait that this brought. Stored before each check, so that killing the daemon
/// between question and answer gives no free try.
public struct AttemptState: Equatable, Sendable {
    /// Failures since the last success; an attempt that was begun and never finished counts.
    public let failedCount: UInt32
    /// The wait that the last failure brought; nil while there is none.
    let wait: Wait?

    /// A wait that was imposed at some moment of some boot.
    struct Wait: Equatable, Sendable {
        /// When it ends, on CLOCK_BOOTTIME of that boot.
        let deadline: Duration
        /// The wait that was left when the state was last stored. A reboot starts this wait again. It is zero after the
        /// wait was seen to be over.
        let remaining: Duration
        let bootIdentifier: BootIdentifier
    }

    /// No failure.
    public static let initial = AttemptState(failedCount: 0, wait: nil)

    init(failedCount: UInt32, wait: Wait?) {
        self.failedCount = failedCount
        self.wait = wait
    }

    /// The whole wait that this many failures bring.
    public var delay: Duration { AttemptLimiter.delay(afterFailures: failedCount) }

    private static let formatVersion: UInt8 = 1

    /// Version (1), failures (32 bits); with a wait also deadline and remainder in nanoseconds (64 bits each) and the
    /// boot's 16 bytes. Numbers are big-endian.
    public var canonicalBytes: [UInt8] {
        let head = [Self.formatVersion] + failedCount.bigEndianBytes
        guard let wait else { return head }
        return head + wait.deadline.nanoseconds.bigEndianBytes + wait.remaining.nanoseconds.bigEndianBytes
            + wait.bootIdentifier.bytes
    }

    /// Reads exactly what ``canonicalBytes`` writes. There is a wait if and only if that many failures bring one, and it is
    /// never longer than that.
    public init(canonicalBytes bytes: [UInt8]) throws(AttemptStateError) {
        guard bytes.count >= 5 else { throw .malformed }
        guard bytes[0] == Self.formatVersion else { throw .unknownVersion }
        let failedCount = UInt32(bigEndianBytes: bytes[1..<5])
        let delay = AttemptLimiter.delay(afterFailures: failedCount)
        guard delay > .zero else {
            guard bytes.count == 5 else { throw .malformed }
            self.init(failedCount: failedCount, wait: nil)
            return
        }
        guard bytes.count == 37, let boot = BootIdentifier(Array(bytes[21..<37])) else { throw .malformed }
        let deadline = Int64(bigEndianBytes: bytes[5..<13])
        let remaining = Int64(bigEndianBytes: bytes[13..<21])
        guard deadline >= 0, (0...delay.nanoseconds).contains(remaining) else { throw .outOfBounds }
        self.init(
            failedCount: failedCount,
            wait: Wait(
                deadline: .nanoseconds(deadline), remaining: .nanoseconds(remaining), bootIdentifier: boot))
    }
}

/// The reasons why bytes are not an attempt state. The reader refuses the attempt then, because an unreadable count is
/// not zero.
public enum AttemptStateError: Error, Equatable, Sendable {
    case malformed
    case unknownVersion
    case outOfBounds
}

extension Duration {
    /// Whole nanoseconds; enough for 292 years.
    var nanoseconds: Int64 {
        let (seconds, attoseconds) = components
        return seconds * 1_000_000_000 + attoseconds / 1_000_000_000
    }
}
