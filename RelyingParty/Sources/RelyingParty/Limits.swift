/// The sizes of a client's input. Larger input is refused before it is read.
enum Limits {
    /// Browsers send some 150 to 400 bytes. An origin and a top origin of 2,000 bytes each fit.
    static let clientDataByteCount = 8 * 1024
    /// A chain of five certificates and a credential ID of the longest length fit several times.
    static let attestationObjectByteCount = 64 * 1024
    /// An answer as JSON: both of the above in base64.
    static let responseByteCount = 128 * 1024
    /// 37 bytes, and extensions of a few hundred.
    static let assertionDataByteCount = 4 * 1024
    /// ML-DSA-87 has 4,627. RSA with 8,192 bits, the longest modulus that is taken, has 1,024.
    static let signatureByteCount = 4627
    /// WebAuthn Level 3, section 7.1: longer ones are refused.
    static let credentialIDByteCount = 1023
    /// WebAuthn Level 3, section 5.4.3.
    static let userHandleByteCount = 64
    /// Enough for a name of 64 characters in any script, which have up to four bytes each.
    static let nicknameByteCount = 256
    /// The FIDO Alliance's list has some ten megabytes.
    static let metadataByteCount = 64 * 1024 * 1024
    /// Levels of arrays and objects in client data, whose known members have one.
    static let jsonDepth = 8
    /// Real chains have one to four certificates.
    static let certificateCount = 8
    /// From the least that swift-crypto takes to more than any authenticator makes.
    static let rsaModulusByteCount = 256...1024
}
