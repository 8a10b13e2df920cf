import OstiaryWire
import Synchronization

/// Ends a call early, from any thread: its prompt goes away and the call throws `appCancel`.
public final class Cancellation: Sendable {
    private struct State {
        var isCancelled = false
        var cancel: (@Sendable () -> Void)?
    }

    private let state = Mutex(State())

    public init() {}

    public func cancel() {
        let cancel = state.withLock { state in
            state.isCancelled = true
            return state.cancel
        }
        cancel?()
    }

    /// Names what ``cancel()`` does from now on; throws when it has been called already.
    func begin(_ cancel: @escaping @Sendable () -> Void) throws {
        try state.withLock { state in
            guard !state.isCancelled else {
                throw OstiaryError(.init(.appCancel), "The program cancelled the request.")
            }
            state.cancel = cancel
        }
    }

    func end() { state.withLock { $0.cancel = nil } }
}
