public import Cancellations
import OstiaryMessages

/// Ends a call early, from any thread: its prompt goes away and the call throws `appCancel`.
public typealias Cancellation = Cancellations.Cancellation

extension Cancellation {
    /// Names what ``cancel()`` does from now on, until the registration is removed; throws when it has been called already.
    func begin(_ cancel: @escaping @Sendable () -> Void) throws -> Registration {
        guard let registration = register(cancel) else {
            throw OstiaryError(.init(.appCancel), "The program cancelled the request.")
        }
        return registration
    }
}
