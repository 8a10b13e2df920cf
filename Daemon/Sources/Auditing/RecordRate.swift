import ExactNames
import Foundation
import OstiaryMessages
import Refusals
import Synchronization

/// Keeps the last of the disk for the records of all programs: when little space is left, each program may only make so many
/// records a minute, and so may all programs of one owner together. With space left there is no limit, since a program that
/// signs a lot is no attack.
final class RecordRate: Sendable {
    /// Records of one program at once, and each second from then on: 64 MiB last for hours.
    static let burst = 200.0
    static let perSecond = 5.0
    /// The same for the programs of one owner together: a program can give itself many names.
    static let burstOfOwner = 1000.0
    static let perSecondOfOwner = 25.0
    /// Records of all programs between two looks at the disk. If the disk fills up in between, they go into the space that the log
    /// has reserved, 256 KiB at a time; these take at most 213 KiB of it, with the longest names.
    private static let recordsPerLook = 100
    /// Bytes of one owner's records at once, and each day from then on, where several owners share the log: the last 64 MiB then last
    /// for more than a week while one of them fills them.
    static let bytesOfOwnerPerDay = 8.0 * 1024 * 1024
    /// What a record has besides its entry: length, kind, place, chain and seal.
    private static let recordByteCount = 96.0
    private static let secondsPerDay = 86_400.0
    /// Programs of one owner that are told apart.
    private static let programLimit = 1000

    private struct State {
        var recordsUntilLook = 0
        var isScarce = false
        var shares: [OwnerID?: OwnerShare] = [:]
    }

    private let state = Mutex(State())
    private let space: @Sendable () -> DiskSpace?
    private let now: @Sendable () -> Duration
    private let isOfSeveral: Bool

    /// - Parameters:
    ///   - isOfSeveral: whether several owners share the log. Then each has a share of bytes, too.
    ///   - space: the free space for the log; nil when it is unknown, which limits nothing.
    ///   - now: the time since boot.
    init(
        isOfSeveral: Bool, space: @escaping @Sendable () -> DiskSpace?, now: @escaping @Sendable () -> Duration
    ) {
        self.isOfSeveral = isOfSeveral
        self.space = space
        self.now = now
    }

    /// Counts a record of the program with this name in the log.
    ///
    /// - Parameter byteCount: of the record's entry.
    /// - Throws: when space is scarce and the program, or all programs of its owner, have made their share.
    func admit(_ program: ProgramOfOwner, byteCount: Int) throws(Refusal) {
        let refusal: Refusal? = state.withLock { state in
            look(&state)
            guard state.isScarce else { return nil }
            let time = now()
            return state.shares[program.owner, default: OwnerShare(ofSeveral: isOfSeveral, at: time)]
                .take(for: program.program, Double(byteCount) + Self.recordByteCount, at: time)
        }
        if let refusal { throw refusal }
    }

    private func look(_ state: inout State) {
        state.recordsUntilLook -= 1
        guard state.recordsUntilLook < 0 else { return }
        // Once it is scarce, each record looks: the disk may have been freed.
        state.isScarce = space()?.isScarce ?? false
        state.recordsUntilLook = state.isScarce ? 0 : Self.recordsPerLook
        if !state.isScarce { state.shares = [:] }
    }

    /// The share of one owner's programs.
    private struct OwnerShare {
        private var all: TokenBucket
        /// Nil for the only owner.
        private var bytes: TokenBucket?
        /// By the program's name in the log.
        private var programs: [ExactName: TokenBucket] = [:]

        init(ofSeveral isOfSeveral: Bool, at time: Duration) {
            all = TokenBucket(RecordRate.burstOfOwner, perSecond: RecordRate.perSecondOfOwner, at: time)
            guard isOfSeveral else { return }
            let bytes = RecordRate.bytesOfOwnerPerDay
            self.bytes = TokenBucket(bytes, perSecond: bytes / RecordRate.secondsPerDay, at: time)
        }

        /// Counts a record of the program with this name; returns why it is refused, or nil.
        mutating func take(for name: ExactName, _ byteCount: Double, at time: Duration) -> Refusal? {
            var program = bucket(of: name, at: time)
            defer { programs[name] = program }
            program.fill(until: time)
            all.fill(until: time)
            bytes?.fill(until: time)
            guard program.has(1) else { return RecordRate.tooManyOfProgram }
            guard all.has(1), bytes?.has(byteCount) != false else { return RecordRate.tooManyOfOwner }
            program.take(1)
            all.take(1)
            bytes?.take(byteCount)
            return nil
        }

        /// A new program takes the entry of the one that wrote least recently, where there are too many.
        private mutating func bucket(of name: ExactName, at time: Duration) -> TokenBucket {
            if let known = programs[name] { return known }
            if programs.count >= RecordRate.programLimit,
                let oldest = programs.min(by: { $0.value.time < $1.value.time })
            {
                programs[oldest.key] = nil
            }
            return TokenBucket(RecordRate.burst, perSecond: RecordRate.perSecond, at: time)
        }
    }

    private static let tooManyOfProgram = Refusal(
        .tooMany,
        "Little space is left on the disk, and this program's records would fill it. Free space, or slow down.",
        cause: "log.rate")

    private static let tooManyOfOwner = Refusal(
        .tooMany,
        "Little space is left on the disk, and this user's programs would fill it. Free space, or slow down.",
        cause: "log.rate")
}

/// Records, lines or bytes that may be made at once, and how their number grows again.
package struct TokenBucket: Sendable {
    private let burst: Double
    private let perSecond: Double
    package private(set) var time: Duration
    private var tokens: Double

    package init(_ burst: Double, perSecond: Double, at time: Duration) {
        self.burst = burst
        self.perSecond = perSecond
        self.time = time
        tokens = burst
    }

    package func has(_ count: Double) -> Bool { tokens >= count }

    package mutating func fill(until now: Duration) {
        tokens = min(burst, tokens + (now - time) / .seconds(1) * perSecond)
        time = now
    }

    package mutating func take(_ count: Double) { tokens -= count }
}
