import OstiaryMessages
import Sessions

/// How a user can be authenticated.
extension Broker {
    func environment(_ exchange: Exchange) throws -> Reply {
        let message = services.environment.message(for: exchange.session)
        try exchange.verifyCaller()
        return Reply(.environment(message))
    }

    /// Has watches answered from now on when a fingerprint reader is plugged in or out; see ``EnvironmentFollower``.
    package func followReaders() { services.environment.followReaders() }
}
