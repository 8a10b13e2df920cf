import Synchronization

/// How many rights, keys and items a change of the passcode has brought under the new keys so far.
package final class RewrappingProgress: Sendable {
    package struct Count: Equatable, Sendable {
        package var done = 0
        package let total: Int
    }

    /// One change among those that are prepared at the same time, of which one can be made.
    struct Run: Equatable, Sendable {
        fileprivate let number: UInt64
    }

    private struct State {
        var latest: UInt64 = 0
        /// Of the latest change.
        var count: Count?
    }

    private let state = Mutex(State())

    /// Nil while no passcode is being set, changed or removed.
    package var current: Count? { state.withLock { $0.count } }

    func begin(total: Int) -> Run {
        state.withLock { state in
            state.latest += 1
            state.count = Count(total: total)
            return Run(number: state.latest)
        }
    }

    func add(_ count: Int, of run: Run) {
        state.withLock { if $0.latest == run.number { $0.count?.done += count } }
    }

    func end(_ run: Run) {
        state.withLock { if $0.latest == run.number { $0.count = nil } }
    }
}
