public import CanonicalCBOR

/// Why a credential's public key cannot be used (RFC 9053 and RFC 8230; WebAuthn Level 3, section 5.8.5).
public enum PublicKeyError: Error, Equatable, Sendable {
    /// It is not CBOR.
    case notCBOR(CBORError)
    /// It is not a map.
    case notMap
    /// The parameter with this label is not there.
    case missing(label: Int)
    /// The parameter with this label is of another type than it must be.
    case mistyped(label: Int)
    /// The key has a parameter with another label than its kind has. `nil`: the label is text.
    case unexpected(label: Int?)
    /// The algorithm is none of ``COSEAlgorithm``.
    case unsupportedAlgorithm(Int)
    /// The parameter with this label does not fit the algorithm: another kind of key or another curve.
    case mismatch(label: Int)
    /// The parameter with this label has another length than it must have; this many bytes.
    case length(label: Int, Int)
    /// The numbers are no key: a point off its curve, or an exponent that RSA cannot use.
    case invalidKey
}
