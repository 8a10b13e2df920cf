public import Foundation

/// An account, as authenticators show and keep it.
public struct WebAuthnUser: Sendable, Equatable, Encodable {
    /// 1 to 64 bytes that say nothing about the person; random ones are best.
    public var handle: Data
    public var name: String
    public var displayName: String

    public init(handle: Data, name: String, displayName: String? = nil) {
        self.handle = handle
        self.name = name
        self.displayName = displayName ?? name
    }

    private enum CodingKeys: String, CodingKey {
        case handle = "id"
        case name, displayName
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(handle.base64URLEncoded, forKey: .handle)
        try container.encode(name, forKey: .name)
        try container.encode(displayName, forKey: .displayName)
    }
}

/// A credential and how to reach its authenticator.
public struct CredentialDescriptor: Sendable, Equatable, Encodable {
    public let id: Data
    public let transports: [String]

    init(_ record: CredentialRecord) {
        id = record.id
        transports = record.transports
    }

    private enum CodingKeys: CodingKey {
        case type, id, transports
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode("public-key", forKey: .type)
        try container.encode(id.base64URLEncoded, forKey: .id)
        if !transports.isEmpty { try container.encode(transports, forKey: .transports) }
    }
}

/// What a client needs to make a credential. As JSON it fits `PublicKeyCredential.parseCreationOptionsFromJSON`
/// (WebAuthn Level 3, section 5.1.8).
public struct CreationOptions: Sendable, Encodable {
    public struct RelyingPartyEntity: Sendable, Encodable {
        public let id: String
        public let name: String
    }

    public enum Attestation: String, Sendable, Encodable {
        case none, direct
    }

    public let challenge: Data
    public let relyingParty: RelyingPartyEntity
    public let user: WebAuthnUser
    public let algorithms: [COSEAlgorithm]
    /// Credentials that the account has; an authenticator that has one of them makes no second one.
    public let excluded: [CredentialDescriptor]
    public let lifetime: Duration
    public let verification: UserRequirements.Verification
    public let attestation: Attestation

    private enum CodingKeys: String, CodingKey {
        case challenge, rp, user, pubKeyCredParams, excludeCredentials, timeout, authenticatorSelection, attestation
    }

    private struct Parameters: Encodable {
        let type = "public-key"
        let alg: Int
    }

    private struct Selection: Encodable {
        let residentKey = "preferred"
        let userVerification: UserRequirements.Verification
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(challenge.base64URLEncoded, forKey: .challenge)
        try container.encode(relyingParty, forKey: .rp)
        try container.encode(user, forKey: .user)
        try container.encode(algorithms.map { Parameters(alg: $0.rawValue) }, forKey: .pubKeyCredParams)
        try container.encode(excluded, forKey: .excludeCredentials)
        try container.encode(lifetime.components.seconds * 1000, forKey: .timeout)
        try container.encode(Selection(userVerification: verification), forKey: .authenticatorSelection)
        try container.encode(attestation, forKey: .attestation)
    }
}

/// What a client needs to sign in. As JSON it fits `PublicKeyCredential.parseRequestOptionsFromJSON` (WebAuthn Level 3,
/// section 5.1.9).
public struct RequestOptions: Sendable, Encodable {
    public let challenge: Data
    public let relyingPartyIdentifier: String
    public let allowed: [CredentialDescriptor]
    public let lifetime: Duration
    public let verification: UserRequirements.Verification

    private enum CodingKeys: String, CodingKey {
        case challenge, rpId, allowCredentials, timeout, userVerification
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(challenge.base64URLEncoded, forKey: .challenge)
        try container.encode(relyingPartyIdentifier, forKey: .rpId)
        try container.encode(allowed, forKey: .allowCredentials)
        try container.encode(lifetime.components.seconds * 1000, forKey: .timeout)
        try container.encode(verification, forKey: .userVerification)
    }
}
