/// When an authenticator may use a credential (CTAP 2.1, "credProtect"), weakest first.
public enum CredentialProtection: Int, Sendable, CaseIterable, Comparable {
    /// Always.
    case verificationOptional = 1
    /// Without verification only for who names the credential's ID.
    case verificationOptionalWithID = 2
    /// After it verified the person, and never else.
    case verificationRequired = 3

    public static func < (one: Self, other: Self) -> Bool { one.rawValue < other.rawValue }

    /// The name in the client's options.
    var name: String {
        switch self {
        case .verificationOptional: "userVerificationOptional"
        case .verificationOptionalWithID: "userVerificationOptionalWithCredentialIDList"
        case .verificationRequired: "userVerificationRequired"
        }
    }
}
