/// Signature algorithms by their number at IANA ("COSE Algorithms").
public enum COSEAlgorithm: Int, Sendable, CaseIterable, Hashable {
    /// ECDSA on P-256 with SHA-256.
    case es256 = -7
    /// Ed25519.
    case edDSA = -8
    /// ECDSA on P-384 with SHA-384.
    case es384 = -35
    /// ECDSA on P-521 with SHA-512.
    case es512 = -36
    /// RSA with PSS and SHA-256 (RFC 8230); so are the next two with their hash. The salt is as long as the hash.
    case ps256 = -37
    case ps384 = -38
    case ps512 = -39
    /// ML-DSA-44 (FIPS 204), which no quantum computer is known to break; so are the next two.
    case mlDSA44 = -48
    case mlDSA65 = -49
    case mlDSA87 = -50
    /// RSA with PKCS #1 v1.5 and SHA-256.
    case rs256 = -257
}
