/// Authenticator data (WebAuthn 6.1), of which this side reads the flags and two extensions.
struct AuthenticatorData {
    private let bytes: [UInt8]

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// Hash of the relying party, flags and counter.
    static let headByteCount = 37
    private static let flagsOffset = 32
    private static let userVerified: UInt8 = 0x04
    private static let hasCredential: UInt8 = 0x40
    static let aaguidRange = headByteCount..<headByteCount + 16

    private var flags: UInt8 { bytes.count >= Self.headByteCount ? bytes[Self.flagsOffset] : 0 }

    var isUserVerified: Bool { flags & Self.userVerified != 0 }

    /// Whether an AAGUID stands behind the head.
    var hasCredential: Bool { flags & Self.hasCredential != 0 && bytes.count >= Self.aaguidRange.upperBound }

    /// Whether the credential got the extension hmac-secret: the text, and behind it the CBOR value true.
    var hasHMACSecret: Bool { bytes.contains(Self.hmacSecret + [0xF5]) }

    /// The model of the key that made the credential; nil without a credential.
    var aaguid: [UInt8]? { hasCredential ? Array(bytes[Self.aaguidRange]) : nil }

    /// Whether the only extensions are hmac-secret and a protection of this level, in canonical CBOR.
    func endsInHMACSecret(protection: UInt8) -> Bool {
        let extensions = [0xA2] + Self.credentialProtection + [protection] + Self.hmacSecret + [0xF5]
        return bytes.suffix(extensions.count).elementsEqual(extensions)
    }

    private static let hmacSecret = [0x6B] + Array("hmac-secret".utf8)
    private static let credentialProtection = [0x6B] + Array("credProtect".utf8)
}
