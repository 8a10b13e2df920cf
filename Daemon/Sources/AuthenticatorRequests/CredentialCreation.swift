package import ExactNames

/// What a relying party asks an authenticator to make: the parameters of authenticatorMakeCredential (CTAP 2.1, 6.1).
package struct CredentialCreation: Sendable, Equatable {
    /// SHA-256 of the client data, 32 bytes. The daemon made the client data.
    package var clientDataHash: [UInt8]
    package var relyingParty: RelyingPartyName
    package var user: CredentialUser
    /// COSE identifiers of the signature algorithms, the one that the relying party likes best first. Not empty.
    package var algorithms: [Int]
    /// Credentials of the account; an authenticator that holds one of them makes no other.
    package var excluded: [CredentialDescriptor] = []
    package var userVerification: Preference = .preferred
    package var discoverable: Preference = .preferred
    package var attestation: AttestationPreference = .none
    package var extensions = CreationExtensions()

    package init(clientDataHash: [UInt8], relyingParty: RelyingPartyName, user: CredentialUser, algorithms: [Int]) {
        self.clientDataHash = clientDataHash
        self.relyingParty = relyingParty
        self.user = user
        self.algorithms = algorithms
    }
}

/// A relying party as a question shows it.
package struct RelyingPartyName: Sendable, Equatable {
    /// A domain, for example `example.com`.
    package var identifier: ExactName
    /// For people; nil where the relying party gives none.
    package var name: String?

    package init(identifier: ExactName, name: String? = nil) {
        (self.identifier, self.name) = (identifier, name)
    }
}

/// An account at a relying party.
package struct CredentialUser: Sendable, Equatable {
    /// The user handle, 1 to 64 bytes.
    package var identifier: [UInt8]
    package var name: String?
    package var displayName: String?

    package init(identifier: [UInt8], name: String? = nil, displayName: String? = nil) {
        (self.identifier, self.name, self.displayName) = (identifier, name, displayName)
    }
}

/// Names a credential (WebAuthn PublicKeyCredentialDescriptor).
package struct CredentialDescriptor: Sendable, Hashable {
    /// 1 to 1023 bytes.
    package var identifier: [UInt8]
    /// `usb`, `nfc`, `ble`, `internal`, `hybrid`; empty when unknown.
    package var transports: [String]

    package init(identifier: [UInt8], transports: [String] = []) {
        (self.identifier, self.transports) = (identifier, transports)
    }
}

/// What a relying party says about user verification and discoverable credentials.
package enum Preference: Sendable, Equatable {
    case required, preferred, discouraged
}

/// What a relying party says about attestation.
package enum AttestationPreference: Sendable, Equatable {
    case none, indirect, direct, enterprise
}

/// Extensions of a creation.
package struct CreationExtensions: Sendable, Equatable {
    /// The credential shall answer the PRF extension (hmac-secret).
    package var wantsPRF = false
    /// Salts to evaluate at the creation, each SHA-256 over the WebAuthn prefix and the input: 32 bytes.
    package var salts: PRFSalts?
    package var largeBlob: Preference?

    package init() {}
}

/// One or two salts of hmac-secret, 32 bytes each.
package struct PRFSalts: Sendable, Equatable {
    package var first: [UInt8]
    package var second: [UInt8]?

    package init(first: [UInt8], second: [UInt8]? = nil) {
        (self.first, self.second) = (first, second)
    }
}
