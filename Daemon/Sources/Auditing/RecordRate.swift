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

    /// - Parameters:
    ///   - space: the free space for the log; nil when it is unknown, which limits nothing.
    ///   - now: the time since boot.
    init(space: @escaping @Sendable () -> DiskSpace?, now: @escaping @Sendable () -> Duration) {
        self.space = space
        self.now = now
    }

    /// Counts a record of the program with this name in the log.
    ///
    /// - Throws: when space is scarce and the program, or all programs of its owner, have made their share.
    func admit(_ program: ProgramOfOwner) throws(Refusal) {
        let refusal: Refusal? = state.withLock { state in
            look(&state)
            guard state.isScarce else { return nil }
            let time = now()
            return state.shares[program.owner, default: OwnerShare(at: time)].take(for: program.program, at: time)
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
        private var all: Bucket
        /// By the program's name in the log.
        private var programs: [ExactName: Bucket] = [:]

        init(at time: Duration) {
            all = Bucket(RecordRate.burstOfOwner, perSecond: RecordRate.perSecondOfOwner, at: time)
        }

        /// Counts a record of the program with this name; returns why it is refused, or nil.
        mutating func take(for name: ExactName, at time: Duration) -> Refusal? {
            var program = bucket(of: name, at: time)
            defer { programs[name] = program }
            program.fill(until: time)
            all.fill(until: time)
            guard !program.isEmpty else { return RecordRate.tooManyOfProgram }
            guard !all.isEmpty else { return RecordRate.tooManyOfOwner }
            program.take()
            all.take()
            return nil
        }

        /// A new program takes the entry of the one that wrote least recently, where there are too many.
        private mutating func bucket(of name: ExactName, at time: Duration) -> Bucket {
            if let known = programs[name] { return known }
            if programs.count >= RecordRate.programLimit,
                let oldest = programs.min(by: { $0.value.time < $1.value.time })
            {
                programs[oldest.key] = nil
            }
            return Bucket(RecordRate.burst, perSecond: RecordRate.perSecond, at: time)
        }
    }

    /// Records that may be made at once, and how their number grows again.
    private struct Bucket {
        let burst: Double
        let perSecond: Double
        private(set) var time: Duration
        private var tokens: Double

        init(_ burst: Double, perSecond: Double, at time: Duration) {
            self.burst = burst
            self.perSecond = perSecond
            self.time = time
            tokens = burst
        }

        var isEmpty: Bool { tokens < 1 }

        mutating func fill(until now: Duration) {
            tokens = min(burst, tokens + (now - time) / .seconds(1) * perSecond)
            time = now
        }

        mutating func take() { tokens -= 1 }
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
