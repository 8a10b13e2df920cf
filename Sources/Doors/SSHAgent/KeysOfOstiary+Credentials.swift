import AccessControl
package import Cancellations
import DoorSupport
import Foundation
package import OstiaryClient
package import SSHFormats
package import SSHKeyFiles

/// Keys whose private halves are in authenticators: passkeys of this machine, and security keys.
extension KeysOfOstiary {
    /// The passkeys that were made for SSH, the newest first. Those of websites sign for their websites alone.
    static func passkeys(of ostiary: OstiaryClient) throws -> [HeldKey] {
        try ostiary.passkeys().compactMap { HeldKey($0) }
    }

    package func sign(
        _ request: ClientSignature, withSecurityKey key: SSHPrivateKey, cancellation: Cancellation
    ) throws -> SSHSignature {
        guard let handle = key.handle else { throw KeySignatureError.failed }
        return try sign(
            request, by: key.publicKey.plain,
            .securityKey(handle: handle.bytes, requiresVerification: handle.requiresVerification), cancellation)
    }

    /// The daemon parses the very bytes and verifies the bindings, and the authenticator signs for the relying party of the key.
    func sign(
        _ request: ClientSignature, by key: SSHPublicKey, _ place: SSHCredential.Place, _ cancellation: Cancellation
    ) throws -> SSHSignature {
        let bytes = try client.ostiary.assertSSH(
            SSHSigningInput(request), with: SSHCredential(publicKey: key.blob, place: place),
            interaction: Interaction(signingFor: request.connection, because: "sign for SSH"),
            cancellation: cancellation)
        return try key.signature(of: SSHAssertion(bytes: bytes))
    }
}

extension SSHSigningInput {
    init(_ request: ClientSignature) {
        self.init(
            data: request.data, bindings: request.connection.sessions.bindings.map(SSHBinding.init),
            hostName: request.hostName)
    }
}

extension HeldKey {
    /// A passkey that was made for SSH; nil for one of a website. Its limits are those of its authenticator: none, and no unknown data.
    package init?(_ passkey: ListedPasskey) {
        guard let key = try? SSHPublicKey(securityKeyP256: passkey.publicKey, application: passkey.relyingParty),
            key.isCredentialForSSH, let constraints = try? SSHKeyConstraints()
        else { return nil }
        self.init(
            name: Self.name(of: passkey), publicKey: key, constraints: constraints, place: .passkey(id: passkey.id))
    }

    /// The program that made the passkey chose the account's name, and lists print it.
    private static func name(of passkey: ListedPasskey) -> String {
        let isShown =
            !passkey.userName.isEmpty
            && passkey.userName.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }
        return isShown ? passkey.userName : "passkey"
    }
}
