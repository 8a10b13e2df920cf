/// What a relying party asks an authenticator to sign: the parameters of authenticatorGetAssertion (CTAP 2.1, 6.2).
package struct CredentialAssertion: Sendable, Equatable {
    /// SHA-256 of the client data, 32 bytes. The daemon made the client data.
    package var clientDataHash: [UInt8]
    package var relyingParty: RelyingPartyName
    /// The credentials that count; empty for every discoverable one of the relying party.
    package var allowed: [CredentialDescriptor] = []
    package var userVerification: Preference = .preferred
    /// The identifier that credentials of FIDO U2F were made for; nil without the extension.
    package var appID: String?
    package var salts: PRFSalts?
    /// Salts for particular credentials; they take the place of `salts`.
    package var saltsByCredential: [[UInt8]: PRFSalts] = [:]
    package var largeBlob: LargeBlobOperation?

    package init(clientDataHash: [UInt8], relyingParty: RelyingPartyName) {
        (self.clientDataHash, self.relyingParty) = (clientDataHash, relyingParty)
    }
}

package enum LargeBlobOperation: Sendable, Equatable {
    case read
    case write([UInt8])
}
