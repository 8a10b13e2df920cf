import AuthenticatorRequests
import Synchronization

/// Ends one command that waits for the user.
package final class CommandCancellation: CredentialCancellation {
    private struct State {
        var isCancelled = false
        var handlers: [@Sendable () -> Void] = []
    }

    private let state = Mutex(State())

    package init() {}

    package var isCancelled: Bool { state.withLock { $0.isCancelled } }

    package func whenCancelled(_ handler: @escaping @Sendable () -> Void) {
        let isLate = state.withLock { state in
            if !state.isCancelled { state.handlers.append(handler) }
            return state.isCancelled
        }
        if isLate { handler() }
    }

    package func cancel() {
        let handlers = state.withLock { state in
            defer { state.handlers = [] }
            state.isCancelled = true
            return state.handlers
        }
        for handler in handlers { handler() }
    }
}
