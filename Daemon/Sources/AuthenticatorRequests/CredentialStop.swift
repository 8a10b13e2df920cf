import Synchronization

/// Ends an authenticator's wait: the person or the program cancelled.
package final class CredentialStop: CredentialCancellation {
    private struct State {
        var isCancelled = false
        var handlers: [@Sendable () -> Void] = []
    }

    private let state = Mutex(State())

    package init() {}

    package var isCancelled: Bool { state.withLock { $0.isCancelled } }

    package func whenCancelled(_ handler: @escaping @Sendable () -> Void) {
        let isCancelled = state.withLock { state in
            if !state.isCancelled { state.handlers.append(handler) }
            return state.isCancelled
        }
        if isCancelled { handler() }
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
