/// The keys that an enclave may be able to make. Raw values are stored and never change their meaning.
public enum EnclaveKeyType: UInt8, CaseIterable, Sendable {
    /// NIST P-256: ECDSA and ECDH.
    case p256 = 1
    /// ML-KEM (FIPS 203): decapsulation.
    case mlKEM768 = 2
    case mlKEM1024 = 3
    /// ML-DSA (FIPS 204): signatures over messages.
    case mlDSA65 = 4
    case mlDSA87 = 5

    /// Size of the public key: P-256 as an uncompressed X9.63 point, the others as their standard encodes them.
    public var publicKeyByteCount: Int {
        switch self {
        case .p256: 65
        case .mlKEM768: 1184
        case .mlKEM1024: 1568
        case .mlDSA65: 1952
        case .mlDSA87: 2592
        }
    }
}
