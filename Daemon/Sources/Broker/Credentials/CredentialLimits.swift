/// The limits of a program's request about a credential, each with its reason.
enum CredentialLimits {
    /// WebAuthn 13.4.3 asks for 16 bytes at least; relying parties use up to 64.
    static let challengeByteCount = 1...1024
    /// WebAuthn 5.4.3.
    static let userHandleByteCount = 1...64
    /// Authenticators cut names at 64 bytes; a question shows more of them.
    static let nameByteCount = 256
    /// WebAuthn 7.1, step 25.
    static let identifierByteCount = 1...1023
    /// Credentials of one account.
    static let descriptorCount = 64
    /// More ways than there are.
    static let transportCount = 8
    static let transportByteCount = 32
    /// More algorithms than there are.
    static let algorithmCount = 32
    /// FIDO AppID: a URL.
    static let appIDByteCount = 512
    /// The inputs of the PRF extension have any length; they are hashed.
    static let prfInputByteCount = 1024
    /// CTAP 2.1 6.10: an authenticator has 1024 bytes for all blobs at least, and few have more than some kB.
    static let largeBlobByteCount = 4096
    /// Kinds of authenticators.
    static let optionCount = 2
    /// The size of an authenticator's answer. Certificates take the most.
    static let attestationObjectByteCount = 64 * 1024
    static let authenticatorDataByteCount = 37...4096
    static let signatureByteCount = 1...8192
}
