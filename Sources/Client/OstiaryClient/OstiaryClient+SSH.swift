public import Cancellations
public import Foundation
import OstiaryMessages
import SecretMemory

/// A session that the connection of an SSH client is bound to, as `session-bind@openssh.com` brings it. The daemon verifies it.
public struct SSHBinding: Sendable, Equatable {
    /// The blob of the host's key or certificate.
    public let hostKey: Data
    public let sessionID: Data
    /// The blob of the host's signature over the session id.
    public let signature: Data
    public let isForwarding: Bool

    public init(hostKey: Data, sessionID: Data, signature: Data, isForwarding: Bool) {
        self.hostKey = hostKey
        self.sessionID = sessionID
        self.signature = signature
        self.isForwarding = isForwarding
    }

    var message: WireSSHBinding {
        .with {
            ($0.hostKey, $0.sessionID, $0.signature, $0.isForwarding) = (hostKey, sessionID, signature, isForwarding)
        }
    }
}

/// Bytes that an SSH client wants to have signed, and the known facts of their destination.
public struct SSHSigningInput: Sendable, Equatable {
    /// The bytes themselves: at most 256 KiB. The daemon reads them, and computes their digest.
    public let data: Data
    /// All sessions that the client's connection is bound to, in order; at most 16.
    public let bindings: [SSHBinding]
    /// This program's word for the destination, such as a name of `known_hosts`; shown as such. At most 255 bytes.
    public let hostName: String

    public init(data: Data, bindings: [SSHBinding] = [], hostName: String = "") {
        self.data = data
        self.bindings = bindings
        self.hostName = hostName
    }

    func request(right: Data, context: UInt64 = 0, _ interaction: Interaction) -> WireSSHSignRequest {
        .with {
            ($0.rightID, $0.contextID, $0.bindings) = (right, context, bindings.map(\.message))
            ($0.hostName, $0.question) = (hostName, interaction.question)
        }
    }
}

extension OstiaryClient {
    /// Signs once for SSH with a right or P-256 key that confirms each signature. Blocks while the person is asked.
    ///
    /// A signature that the key's constraints do not permit is refused with `operationNotPermitted` before anybody is asked; the cause says which one
    /// (`ssh.…`).
    ///
    /// - Returns: the ECDSA signature with SHA-256, `r ‖ s`, 64 bytes.
    public func confirmAndSignSSH(
        _ input: SSHSigningInput, right: Data, interaction: Interaction, cancellation: Cancellation? = nil
    ) throws -> Data {
        Data(
            exposing: try call(
                .sshSign(input.request(right: right, interaction)), tail: SecretBytes(sending: input.data),
                terminal: interaction.terminal, cancellation: cancellation
            ).takeTail())
    }
}

extension AuthorizationContext {
    /// Signs for SSH with a right or P-256 key that does not confirm each signature. Unless the context holds the key's authorization
    /// already, the person is asked, and the context keeps it. Blocks while the person is asked.
    ///
    /// The constraints are checked as for ``OstiaryClient/confirmAndSignSSH(_:right:interaction:cancellation:)``, each time.
    ///
    /// - Returns: the ECDSA signature with SHA-256, `r ‖ s`, 64 bytes.
    public func signSSH(
        _ input: SSHSigningInput, right: Data, interaction: Interaction, cancellation: Cancellation? = nil
    ) throws -> Data {
        let answer = try call(
            tail: SecretBytes(sending: input.data), terminal: interaction.terminal, cancellation: cancellation
        ) { .sshSign(input.request(right: right, context: $0, interaction)) }
        return Data(exposing: answer.tail)
    }
}
