/// What the FIDO Alliance reports on a model of authenticator (Metadata Service 3, section 3.1.4).
public struct AuthenticatorStatus: RawRepresentable, Hashable, Sendable {
    public let rawValue: String

    public init(rawValue: String) { self.rawValue = rawValue }

    public static let revoked = Self(rawValue: "REVOKED")
    public static let userVerificationBypass = Self(rawValue: "USER_VERIFICATION_BYPASS")
    public static let attestationKeyCompromise = Self(rawValue: "ATTESTATION_KEY_COMPROMISE")
    public static let userKeyRemoteCompromise = Self(rawValue: "USER_KEY_REMOTE_COMPROMISE")
    public static let userKeyPhysicalCompromise = Self(rawValue: "USER_KEY_PHYSICAL_COMPROMISE")
}

extension Set<AuthenticatorStatus> {
    /// The reports after which a model proves nothing any more.
    public static let compromised: Self = [
        .revoked, .userVerificationBypass, .attestationKeyCompromise, .userKeyRemoteCompromise,
        .userKeyPhysicalCompromise,
    ]
}

/// One report on a model.
public struct AuthenticatorStatusReport: Sendable, Equatable {
    public let status: AuthenticatorStatus
    /// The day from which it holds, such as `2026-01-31`; nil if the report names none.
    public let effectiveDate: String?
    /// The attestation certificate that the report is about, in DER; nil for all.
    let certificate: [UInt8]?
}
