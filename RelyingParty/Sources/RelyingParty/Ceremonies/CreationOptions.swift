public import Foundation

/// What a client needs to make a credential. As JSON it fits `PublicKeyCredential.parseCreationOptionsFromJSON`
/// (WebAuthn Level 3, section 5.1.8).
public struct CreationOptions: Sendable, Encodable {
    public struct RelyingPartyEntity: Sendable, Encodable {
        public let id: String
        public let name: String
    }

    /// What the client is to do with the authenticator's attestation (WebAuthn Level 3, section 5.4.7).
    public enum Attestation: String, Sendable, Codable, CaseIterable {
        case none, indirect, direct, enterprise
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
    public let preferences: CredentialPreferences

    private enum CodingKeys: String, CodingKey {
        case challenge, rp, user, pubKeyCredParams, excludeCredentials, timeout, authenticatorSelection, attestation
        case attestationFormats, hints, extensions
    }

    private struct Parameters: Encodable {
        let type = "public-key"
        let alg: Int
    }

    private struct Selection: Encodable {
        let residentKey: CredentialPreferences.ResidentKey
        /// For clients of Level 1, which do not know `residentKey`.
        let requireResidentKey: Bool?
        let authenticatorAttachment: AuthenticatorAttachment?
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
        let selection = Selection(
            residentKey: preferences.residentKey,
            requireResidentKey: preferences.residentKey == .required ? true : nil,
            authenticatorAttachment: preferences.attachment, userVerification: verification)
        try container.encode(selection, forKey: .authenticatorSelection)
        try container.encode(attestation, forKey: .attestation)
        if !preferences.attestationFormats.isEmpty {
            try container.encode(preferences.attestationFormats.map(\.rawValue), forKey: .attestationFormats)
        }
        if !preferences.hints.isEmpty { try container.encode(preferences.hints, forKey: .hints) }
        if !preferences.extensions.isEmpty { try container.encode(preferences.extensions, forKey: .extensions) }
    }
}
