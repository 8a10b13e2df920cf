public import Foundation

/// What a client needs to sign in. As JSON it fits `PublicKeyCredential.parseRequestOptionsFromJSON` (WebAuthn Level 3,
/// section 5.1.9).
public struct RequestOptions: Sendable, Encodable {
    public let challenge: Data
    public let relyingPartyIdentifier: String
    public let allowed: [CredentialDescriptor]
    public let lifetime: Duration
    public let verification: UserRequirements.Verification
    public let hints: [ClientHint]
    public let extensions: AssertionExtensions

    private enum CodingKeys: String, CodingKey {
        case challenge, rpId, allowCredentials, timeout, userVerification, hints, extensions
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(challenge.base64URLEncoded, forKey: .challenge)
        try container.encode(relyingPartyIdentifier, forKey: .rpId)
        try container.encode(allowed, forKey: .allowCredentials)
        try container.encode(lifetime.components.seconds * 1000, forKey: .timeout)
        try container.encode(verification, forKey: .userVerification)
        if !hints.isEmpty { try container.encode(hints, forKey: .hints) }
        if !extensions.isEmpty { try container.encode(extensions, forKey: .extensions) }
    }
}

/// The credentials that an account has, for `PublicKeyCredential.signalAllAcceptedCredentials`: the person's passkey manager
/// forgets those that are gone (WebAuthn Level 3, section 5.1.10).
public struct AcceptedCredentials: Sendable, Encodable {
    public let relyingPartyIdentifier: String
    public let account: Data
    public let credentials: [Data]

    private enum CodingKeys: String, CodingKey {
        case rpId, userId, allAcceptedCredentialIds
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(relyingPartyIdentifier, forKey: .rpId)
        try container.encode(account.base64URLEncoded, forKey: .userId)
        try container.encode(credentials.map(\.base64URLEncoded), forKey: .allAcceptedCredentialIds)
    }
}
