/// The flags of authenticator data (WebAuthn Level 3, section 6.1).
struct AuthenticatorFlags: OptionSet, Sendable {
    let rawValue: UInt8

    static let userPresent = Self(rawValue: 0x01)
    static let userVerified = Self(rawValue: 0x04)
    static let backupEligible = Self(rawValue: 0x08)
    static let backedUp = Self(rawValue: 0x10)
    static let hasCredential = Self(rawValue: 0x40)
    static let hasExtensions = Self(rawValue: 0x80)
}
