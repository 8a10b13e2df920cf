public import Cancellations
public import Foundation
import OstiaryMessages
import SecretMemory

/// A credential that was made for OpenSSH, in an authenticator.
public struct SSHCredential: Sendable, Equatable {
    public enum Place: Sendable, Equatable {
        /// A passkey of this machine, which always verifies the person.
        case passkey(id: Data)
        /// A credential on a security key, which the person plugs in and touches.
        case securityKey(handle: Data, requiresVerification: Bool)
    }

    /// The blob of the plain key, with its application (OpenSSH, `PROTOCOL.u2f`).
    public let publicKey: Data
    public let place: Place

    public init(publicKey: Data, place: Place) { (self.publicKey, self.place) = (publicKey, place) }
}

extension OstiaryClient {
    /// Signs once for SSH with a passkey of this machine or a security key. This program must be a door. Blocks while the person is asked.
    ///
    /// - Throws: `operationNotPermitted` for a credential of another relying party than `ssh:` (`ssh.relying-party`), and for data or bindings that
    ///   contradict themselves (`ssh.…`), before anybody is asked; `noCredential` when the plugged key holds no such credential.
    /// - Returns: flags (1), counter (4, the highest byte first) and signature (64: `r ‖ s`, or that of Ed25519).
    public func assertSSH(
        _ input: SSHSigningInput, with credential: SSHCredential, interaction: Interaction,
        cancellation: Cancellation? = nil
    ) throws -> Data {
        Data(
            exposing: try call(
                .sshAssert(input.request(credential, interaction)), tail: SecretBytes(sending: input.data),
                terminal: interaction.terminal, cancellation: cancellation
            ).takeTail())
    }
}

extension SSHSigningInput {
    fileprivate func request(_ credential: SSHCredential, _ interaction: Interaction) -> WireSSHAssertRequest {
        .with {
            ($0.publicKey, $0.bindings) = (credential.publicKey, bindings.map(\.message))
            ($0.hostName, $0.question) = (hostName, interaction.question)
            switch credential.place {
            case .passkey(let id): ($0.attachment, $0.credentialID) = (.platform, id)
            case .securityKey(let handle, let requiresVerification):
                ($0.attachment, $0.credentialID) = (.crossPlatform, handle)
                $0.requiresVerification = requiresVerification
            }
        }
    }
}
