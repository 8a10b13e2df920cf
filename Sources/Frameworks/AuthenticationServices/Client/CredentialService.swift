package import Cancellations
import OstiaryClient
package import OstiaryMessages
package import SecretMemory

/// The daemon's side of a request, for the controller and for tests. The calls block until the person has answered.
package protocol CredentialService: Sendable {
    /// - Parameter outputs: reads the outputs of the PRF extension, which are wiped afterwards.
    func register<Outputs>(
        _ request: WireRegisterCredentialRequest, cancellation: Cancellation,
        outputs: (borrowing SecretBytes) -> Outputs
    ) throws -> (WireRegisteredCredential, Outputs)

    /// As ``register(_:cancellation:outputs:)``, for a signature.
    func assert<Outputs>(
        _ request: WireAssertCredentialRequest, cancellation: Cancellation,
        outputs: (borrowing SecretBytes) -> Outputs
    ) throws -> (WireAssertedCredential, Outputs)
}

/// The user's daemon.
struct DaemonCredentials: CredentialService {
    func register<Outputs>(
        _ request: WireRegisterCredentialRequest, cancellation: Cancellation,
        outputs: (borrowing SecretBytes) -> Outputs
    ) throws -> (WireRegisteredCredential, Outputs) {
        try OstiaryClient.shared.registerCredential(request, cancellation: cancellation, outputs: outputs)
    }

    func assert<Outputs>(
        _ request: WireAssertCredentialRequest, cancellation: Cancellation,
        outputs: (borrowing SecretBytes) -> Outputs
    ) throws -> (WireAssertedCredential, Outputs) {
        try OstiaryClient.shared.assertCredential(request, cancellation: cancellation, outputs: outputs)
    }
}
