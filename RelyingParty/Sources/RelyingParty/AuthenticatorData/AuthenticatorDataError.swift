public import CanonicalCBOR

/// Why authenticator data cannot be read (WebAuthn Level 3, section 6.1).
public enum AuthenticatorDataError: Error, Equatable, Sendable {
    /// More bytes than any authenticator sends; this many.
    case tooLong(Int)
    /// The bytes end within a field.
    case truncated
    /// Bytes follow the last field.
    case trailingBytes(Int)
    /// A registration has no new credential in it.
    case credentialMissing
    /// An assertion has a new credential in it.
    case credentialNotExpected
    /// A credential ID has no bytes, or more than 1,023; this many.
    case credentialIDLength(Int)
    /// The public key is not CBOR. Offsets count from the key.
    case publicKeyNotCBOR(CBORError)
    /// The extension outputs are not CBOR. Offsets count from their map.
    case extensionsNotCBOR(CBORError)
    /// The extension outputs are not a map.
    case extensionsNotMap
}
