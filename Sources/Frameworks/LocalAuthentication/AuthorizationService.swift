package import AccessControl
package import Cancellations
import Foundation
package import OstiaryClient
package import OstiaryMessages
package import SecretMemory

/// The daemon's calls that the classes of this module use. Tests put a daemon of their own here.
///
/// All calls block.
package protocol AuthorizationService: Sendable {
    func preflight(_ subject: AuthorizationContext.Subject) throws
    func preflight(policy: Int) throws
    /// How the owner can be authenticated now.
    func environment() throws -> WireEnvironment
    /// Begins to watch that.
    func watchEnvironment() -> any EnvironmentWatching
    /// A context in the daemon, which keeps proofs for later uses if `keepsFactors` is true. It is opened when it is
    /// first used.
    func makeSession(keepsFactors: Bool) -> any AuthorizationSession

    func createRight(
        _ identifier: String, accessControl: AccessControl, secret: borrowing SecretBytes?
    ) throws -> StoredRight
    func right(_ identifier: String) throws -> StoredRight
    func removeRight(id: Data) throws
    func removeRight(_ identifier: String) throws
    func removeAllRights() throws

    func confirmAndSign(
        _ data: Data, right: Data, algorithm: String, interaction: Interaction, cancellation: Cancellation?
    ) throws -> Data
    func confirmAndAttest(
        challenge: Data, right: Data, interaction: Interaction, cancellation: Cancellation?
    ) throws -> Data
}

/// The calls of one context in the daemon; ``AuthorizationContext`` describes each.
package protocol AuthorizationSession: AnyObject, Sendable {
    @discardableResult
    func authorize(
        _ subject: AuthorizationContext.Subject, interaction: Interaction, cancellation: Cancellation?
    ) throws -> Grant
    @discardableResult
    func evaluate(policy: Int, interaction: Interaction, cancellation: Cancellation?) throws -> Grant
    @discardableResult
    func evaluate(
        _ accessControl: AccessControl, for operation: AccessControl.Operation, interaction: Interaction,
        cancellation: Cancellation?
    ) throws -> Grant
    func watchGrant(_ ended: @escaping @Sendable () -> Void)
    func deauthorize()
    func invalidate()
    /// The context under which items and keys are used.
    var daemonContext: AuthorizationContext { get }

    func setCredential(_ credential: borrowing SecretBytes?, type: Int) throws
    func isCredentialSet(type: Int) throws -> Bool

    func sign(digest: Data, right: Data, algorithm: String, cancellation: Cancellation?) throws -> Data
    func decrypt(
        _ ciphertext: Data, right: Data, algorithm: String, cancellation: Cancellation?
    ) throws -> SecretBytes
    func exchange(
        publicKey: Data, right: Data, algorithm: String, requestedSize: Int?, sharedInfo: Data?,
        cancellation: Cancellation?
    ) throws -> SecretBytes
    func secret(ofRight right: Data, cancellation: Cancellation?) throws -> SecretBytes
    func attestation(challenge: Data, right: Data, cancellation: Cancellation?) throws -> Data
}

/// Waits for changes of the environment; ``EnvironmentWatch`` describes the calls.
package protocol EnvironmentWatching: Sendable {
    func next(after known: WireEnvironment?) -> WireEnvironment?
    func end()
}

extension EnvironmentWatch: EnvironmentWatching {}

extension AuthorizationContext: AuthorizationSession {
    package var daemonContext: AuthorizationContext { self }
}

/// The user's daemon.
struct OstiaryService: AuthorizationService {
    func preflight(_ subject: AuthorizationContext.Subject) throws { try AuthorizationContext.preflight(subject) }

    func preflight(policy: Int) throws { try AuthorizationContext.preflight(policy: policy) }

    func environment() throws -> WireEnvironment { try OstiaryClient.shared.environment() }

    func watchEnvironment() -> any EnvironmentWatching { OstiaryClient.shared.watchEnvironment() }

    func makeSession(keepsFactors: Bool) -> any AuthorizationSession {
        AuthorizationContext(keepsFactors: keepsFactors)
    }

    func createRight(
        _ identifier: String, accessControl: AccessControl, secret: borrowing SecretBytes?
    ) throws -> StoredRight {
        try OstiaryClient.shared.createRight(identifier, accessControl: accessControl, secret: secret)
    }

    func right(_ identifier: String) throws -> StoredRight { try OstiaryClient.shared.right(identifier) }

    func removeRight(id: Data) throws { try OstiaryClient.shared.removeRight(id: id) }

    func removeRight(_ identifier: String) throws { try OstiaryClient.shared.removeRight(identifier) }

    func removeAllRights() throws { try OstiaryClient.shared.removeAllRights() }

    func confirmAndSign(
        _ data: Data, right: Data, algorithm: String, interaction: Interaction, cancellation: Cancellation?
    ) throws -> Data {
        try OstiaryClient.shared.confirmAndSign(
            data, right: right, algorithm: algorithm, interaction: interaction, cancellation: cancellation)
    }

    func confirmAndAttest(
        challenge: Data, right: Data, interaction: Interaction, cancellation: Cancellation?
    ) throws -> Data {
        try OstiaryClient.shared.confirmAndAttest(
            challenge: challenge, right: right, interaction: interaction, cancellation: cancellation)
    }
}
