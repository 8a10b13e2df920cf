import AuthenticatorRequests
import SecurityKeyProtocol

/// An attestation object (WebAuthn 6.5.4) in canonical CBOR.
struct AttestationObject {
    let bytes: [UInt8]

    /// - Parameter isAnonymous: the relying party wants no attestation, so nothing tells it which key it is (WebAuthn 5.1.3).
    init(_ made: CreatedKeyCredential, isAnonymous: Bool) throws {
        var data = made.authenticatorData
        guard AuthenticatorData(data).hasCredential, data.count <= UInt16.max else {
            throw CredentialRefusal.malformedAnswer
        }
        if isAnonymous { data.replaceSubrange(AuthenticatorData.aaguidRange, with: [UInt8](repeating: 0, count: 16)) }
        let format = isAnonymous ? "none" : made.format
        let statement = isAnonymous || made.statement.isEmpty ? [0xA0] : made.statement
        guard format.utf8.count < 24 else { throw CredentialRefusal.malformedAnswer }
        bytes =
            [0xA3] + Self.text("fmt") + Self.text(format) + Self.text("attStmt") + statement + Self.text("authData")
            + Self.byteString(data)
    }

    /// - Precondition: fewer than 24 bytes.
    private static func text(_ text: String) -> [UInt8] { [0x60 | UInt8(text.utf8.count)] + Array(text.utf8) }

    private static func byteString(_ bytes: [UInt8]) -> [UInt8] {
        switch bytes.count {
        case ..<24: [0x40 | UInt8(bytes.count)] + bytes
        case ..<256: [0x58, UInt8(bytes.count)] + bytes
        default: [0x59, UInt8(bytes.count >> 8), UInt8(truncatingIfNeeded: bytes.count)] + bytes
        }
    }
}
