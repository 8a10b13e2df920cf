import ExactNames
import Foundation
import OstiaryMessages
import Refusals
import Synchronization

/// Keeps the last of the disk for the records of all programs: when little space is left, each program may only make so many
/// records a minute. With space left there is no limit, since a program that signs a lot is no attack.
final class RecordRate: Sendable {
    /// Records of one program at once, and each second from then on: 64 MiB last for hours.
    static let burst = 200.0
    static let perSecond = 5.0
    /// Records of all programs between two looks at the disk. If the disk fills up in between, they go into the space that the log
    /// has reserved, 256 KiB at a time; these take at most 210 KiB of it, with the longest names.
    private static let recordsPerLook = 100
    /// Programs that are told apart; a program can give itself many names.
    private static let programLimit = 1000

    private struct State {
        var recordsUntilLook = 0
        var isScarce = false
        /// By the program's name in the log.
        var buckets: [ExactName: Bucket] = [:]
    }

    private struct Bucket {
        var tokens: Double
        var time: Duration
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
    /// - Throws: when space is scarce and the program has made its share.
    func admit(_ program: ExactName) throws(Refusal) {
        let isAdmitted = state.withLock { state in
            look(&state)
            guard state.isScarce else { return true }
            return take(from: &state, program)
        }
        guard isAdmitted else {
            throw Refusal(
                .tooMany,
                "Little space is left on the disk, and this program's records would fill it. Free space, or slow down.",
                cause: "log.rate")
        }
    }

    private func look(_ state: inout State) {
        state.recordsUntilLook -= 1
        guard state.recordsUntilLook < 0 else { return }
        // Once it is scarce, each record looks: the disk may have been freed.
        state.isScarce = space()?.isScarce ?? false
        state.recordsUntilLook = state.isScarce ? 0 : Self.recordsPerLook
        if !state.isScarce { state.buckets = [:] }
    }

    private func take(from state: inout State, _ name: ExactName) -> Bool {
        let time = now()
        if state.buckets.count >= Self.programLimit, state.buckets[name] == nil {
            guard let oldest = state.buckets.min(by: { $0.value.time < $1.value.time }) else { return false }
            state.buckets[oldest.key] = nil
        }
        var bucket = state.buckets[name] ?? Bucket(tokens: Self.burst, time: time)
        bucket.tokens = min(Self.burst, bucket.tokens + (time - bucket.time) / .seconds(1) * Self.perSecond)
        bucket.time = time
        defer { state.buckets[name] = bucket }
        guard bucket.tokens >= 1 else { return false }
        bucket.tokens -= 1
        return true
    }
}
