/// The attestation formats that are verified (WebAuthn Level 3, section 8).
public enum AttestationFormat: String, Sendable, CaseIterable, Hashable {
    case none
    case packed
    case fidoU2F = "fido-u2f"
    case tpm
    case apple
    case androidKey = "android-key"

    /// Whether the statement's signature covers the flags and the model in authenticator data. That of `fido-u2f` covers the
    /// relying party, the credential and its key alone (WebAuthn Level 3, section 8.6).
    var coversAuthenticatorData: Bool { self != .fidoU2F }

    /// RSA with PKCS #1 v1.5 and SHA-1 (RFC 8812), which is no ``COSEAlgorithm`` here.
    static let rsaWithSHA1 = -65535

    /// The algorithms that attestation certificates of the format may sign with. SHA-1 is broken; only TPMs may use it, because
    /// many of those in use sign with nothing else.
    var certificateAlgorithms: Set<Int> {
        let elliptic: Set<COSEAlgorithm> = [.es256, .es384, .es512]
        switch self {
        case .none, .apple: return []
        case .fidoU2F: return [COSEAlgorithm.es256.rawValue]
        case .tpm: return Set(elliptic.union([.rs256]).map(\.rawValue)).union([Self.rsaWithSHA1])
        case .packed, .androidKey:
            return Set(elliptic.union([.edDSA, .rs256, .ps256, .ps384, .ps512]).map(\.rawValue))
        }
    }
}
