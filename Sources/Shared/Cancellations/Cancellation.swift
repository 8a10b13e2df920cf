import Synchronization

/// Ends a wait from another thread: the person, the program or the daemon does not want the result any more.
///
/// The waiting thread registers a handler that ends its wait. For a wait in `poll`, use ``PollableCancellation``.
public final class Cancellation: Sendable {
    /// A handler that was named; see ``remove(_:)``.
    public struct Registration: Sendable {
        fileprivate let number: Int
    }

    private struct State {
        var isCancelled = false
        var count = 0
        var handlers: [(number: Int, handler: @Sendable () -> Void)] = []
    }

    private let state = Mutex(State())

    public init() {}

    public var isCancelled: Bool { state.withLock { $0.isCancelled } }

    /// Ends the present waits and all later ones. May be called more than once.
    public func cancel() {
        let handlers = state.withLock { state in
            defer { state.handlers = [] }
            state.isCancelled = true
            return state.handlers
        }
        for (_, handler) in handlers { handler() }
    }

    /// Names what ``cancel()`` does: it runs `handler` once, on the thread that cancels. The handler must not block.
    ///
    /// - Returns: nil if it was cancelled already. The handler never runs then.
    public func register(_ handler: @escaping @Sendable () -> Void) -> Registration? {
        state.withLock { state in
            guard !state.isCancelled else { return nil }
            state.count += 1
            state.handlers.append((state.count, handler))
            return Registration(number: state.count)
        }
    }

    /// Forgets a handler. One that runs at this moment goes on.
    public func remove(_ registration: Registration) {
        state.withLock { $0.handlers.removeAll { $0.number == registration.number } }
    }

    /// Runs `handler` once when it is cancelled, on the thread that cancels, or at once if it was already. The handler must not
    /// block.
    public func whenCancelled(_ handler: @escaping @Sendable () -> Void) {
        if register(handler) == nil { handler() }
    }
}
