/// What a new credential should be like. Apart from the protection these are wishes: the client decides, and the record tells.
public struct CredentialPreferences: Sendable, Equatable {
    /// Whether the authenticator should keep the account, so that nobody types a name ("passkey").
    public enum ResidentKey: String, Sendable, Codable, CaseIterable {
        case required, preferred, discouraged
    }

    public var residentKey: ResidentKey
    /// Nil for any authenticator.
    public var attachment: AuthenticatorAttachment?
    /// What the client should offer first.
    public var hints: [ClientHint]
    /// Nil for what the verifier's policy needs.
    public var attestation: CreationOptions.Attestation?
    /// The formats of attestation that are liked best; empty for any.
    public var attestationFormats: [AttestationFormat]
    public var extensions: RegistrationExtensions
    /// Whether the browser makes the credential on the side, after a sign-in with a password ("conditional create"). The page
    /// calls `navigator.credentials.create({ mediation: "conditional", publicKey: … })`. Then nobody needs to touch the
    /// authenticator (WebAuthn Level 3, section 7.1, step 15). Ask so only for somebody who has just signed in.
    public var isConditional: Bool

    public init(
        residentKey: ResidentKey = .preferred, attachment: AuthenticatorAttachment? = nil, hints: [ClientHint] = [],
        attestation: CreationOptions.Attestation? = nil, attestationFormats: [AttestationFormat] = [],
        extensions: RegistrationExtensions = RegistrationExtensions(), isConditional: Bool = false
    ) {
        self.residentKey = residentKey
        self.attachment = attachment
        self.hints = hints
        self.attestation = attestation
        self.attestationFormats = attestationFormats
        self.extensions = extensions
        self.isConditional = isConditional
    }
}

/// Whether an authenticator is part of the person's machine.
public enum AuthenticatorAttachment: String, Sendable, Codable, CaseIterable {
    case platform
    case crossPlatform = "cross-platform"
}

/// The kind of authenticator that the person most likely uses (WebAuthn Level 3, section 5.8.7).
public enum ClientHint: String, Sendable, Codable, CaseIterable {
    case securityKey = "security-key"
    case clientDevice = "client-device"
    case hybrid
}
