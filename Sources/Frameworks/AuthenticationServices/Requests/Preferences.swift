/// A relying party's wish that the person is verified, by PIN or finger (Apple's
/// `ASAuthorizationPublicKeyCredentialUserVerificationPreference`). The raw values are WebAuthn's words.
public struct ASAuthorizationPublicKeyCredentialUserVerificationPreference: RawRepresentable, Hashable, Sendable,
    Codable
{
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }
    public init(_ rawValue: String) { self.rawValue = rawValue }

    /// If the authenticator can.
    public static let preferred = Self(rawValue: "preferred")
    /// Otherwise nothing is made or signed.
    public static let required = Self(rawValue: "required")
    /// Only if the authenticator insists.
    public static let discouraged = Self(rawValue: "discouraged")
}

/// The attestation that a relying party wants (Apple's `ASAuthorizationPublicKeyCredentialAttestationKind`). The raw values
/// are WebAuthn's words.
public struct ASAuthorizationPublicKeyCredentialAttestationKind: RawRepresentable, Hashable, Sendable, Codable {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }
    public init(_ rawValue: String) { self.rawValue = rawValue }

    /// None.
    public static let none = Self(rawValue: "none")
    /// The authenticator's own.
    public static let direct = Self(rawValue: "direct")
    /// One that may be made anonymous.
    public static let indirect = Self(rawValue: "indirect")
    /// One that names the device, where the authenticator's maker allows it for the relying party.
    public static let enterprise = Self(rawValue: "enterprise")
}

/// Whether a credential shall be found without its identifier (Apple's
/// `ASAuthorizationPublicKeyCredentialResidentKeyPreference`). The raw values are WebAuthn's words.
public struct ASAuthorizationPublicKeyCredentialResidentKeyPreference: RawRepresentable, Hashable, Sendable, Codable {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }
    public init(_ rawValue: String) { self.rawValue = rawValue }

    /// Rather not.
    public static let discouraged = Self(rawValue: "discouraged")
    /// If the authenticator has room.
    public static let preferred = Self(rawValue: "preferred")
    /// Otherwise nothing is made.
    public static let required = Self(rawValue: "required")
}

/// The number of a signature algorithm (RFC 9053; Apple's `ASCOSEAlgorithmIdentifier`).
public struct ASCOSEAlgorithmIdentifier: RawRepresentable, Hashable, Sendable, Codable {
    public let rawValue: Int
    public init(rawValue: Int) { self.rawValue = rawValue }
    public init(_ rawValue: Int) { self.rawValue = rawValue }

    /// ECDSA with SHA-256 on P-256 (-7).
    public static let ES256 = Self(rawValue: -7)
}

/// The number of an elliptic curve (RFC 9053; Apple's `ASCOSEEllipticCurveIdentifier`).
public struct ASCOSEEllipticCurveIdentifier: RawRepresentable, Hashable, Sendable, Codable {
    public let rawValue: Int
    public init(rawValue: Int) { self.rawValue = rawValue }
    public init(_ rawValue: Int) { self.rawValue = rawValue }

    /// P-256 (1).
    public static let P256 = Self(rawValue: 1)
}
