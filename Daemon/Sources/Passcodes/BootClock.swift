import Glibc

/// One boot of the kernel: the 16 bytes of its random UUID.
public struct BootIdentifier: Equatable, Sendable {
    public static let byteCount = 16
    public let bytes: [UInt8]

    /// A stored identifier; nil unless `bytes` are exactly 16.
    public init?(_ bytes: [UInt8]) {
        guard bytes.count == Self.byteCount else { return nil }
        self.bytes = bytes
    }

    /// Reads the text of `/proc/sys/kernel/random/boot_id`: a UUID in lower-case hexadecimal, maybe with a line end.
    init?(uuid text: some StringProtocol) {
        let digits = text.utf8.filter { $0 != UInt8(ascii: "-") && $0 != UInt8(ascii: "\n") }
        guard digits.count == 2 * Self.byteCount else { return nil }
        var bytes: [UInt8] = []
        for index in stride(from: 0, to: digits.count, by: 2) {
            let pair = String(decoding: digits[index..<index + 2], as: UTF8.self)
            guard pair.allSatisfy(\.isHexDigit), let byte = UInt8(pair, radix: 16) else { return nil }
            bytes.append(byte)
        }
        self.init(bytes)
    }
}

/// A moment that no change of the wall clock moves: time since a certain boot, suspended time included.
public struct BootMoment: Equatable, Sendable {
    public let bootIdentifier: BootIdentifier
    /// CLOCK_BOOTTIME.
    public let time: Duration

    public init(bootIdentifier: BootIdentifier, time: Duration) {
        self.bootIdentifier = bootIdentifier
        self.time = time
    }
}

/// Tells the time for delays. Injected, so that tests move it.
public protocol BootClock: Sendable {
    func now() -> BootMoment

    /// Has `thread` do `work` once, when the clock has gone on by `duration` or a little later.
    func run(after duration: Duration, on thread: @escaping TimedWork, _ work: @escaping @Sendable () -> Void)
}

/// Does work on a thread after a time, and waits for nothing.
public typealias TimedWork = @Sendable (_ delay: Duration, _ work: @escaping @Sendable () -> Void) -> Void

extension BootClock {
    /// After that much time of the thread's own timer, which may not count suspended time. So `work` looks at the clock.
    public func run(
        after duration: Duration, on thread: @escaping TimedWork, _ work: @escaping @Sendable () -> Void
    ) { thread(duration, work) }
}

/// The kernel's own clock: CLOCK_BOOTTIME, and the boot identifier as it was when the clock was made.
public struct SystemBootClock: BootClock {
    private let bootIdentifier: BootIdentifier

    /// Reads the boot identifier; throws when the kernel does not tell it, or does not tell the machine's time. Without one no
    /// delay can be trusted.
    public init() throws(BootClockError) {
        try TimeNamespace.requireMachineTime()
        guard let text = KernelFile.text(of: "/proc/sys/kernel/random/boot_id"),
            let identifier = BootIdentifier(uuid: text)
        else { throw .bootIdentifierUnreadable }
        bootIdentifier = identifier
    }

    public func now() -> BootMoment {
        var time = timespec()
        let result = unsafe clock_gettime(CLOCK_BOOTTIME, &time)
        precondition(result == 0, "every Linux since 2.6.39 has CLOCK_BOOTTIME")
        return BootMoment(
            bootIdentifier: bootIdentifier, time: .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec))
    }
}

/// Why there is no clock to measure delays with.
public enum BootClockError: Error, Equatable, Sendable {
    case bootIdentifierUnreadable
    /// The offsets of the time namespace cannot be read or understood.
    case timeOffsetUnreadable
    /// A time namespace moves CLOCK_BOOTTIME by these seconds and nanoseconds.
    case shiftedTime(seconds: Int64, nanoseconds: Int64)
}
