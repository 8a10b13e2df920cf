/// The kinds of enclaves. The text is stored and shown; the code stands in blobs.
public enum EnclaveKind: String, CaseIterable, Sendable {
    case software
    case tpm

    /// The kind's byte in the header of every blob; never reused for another kind.
    public var code: UInt8 {
        switch self {
        case .software: 1
        case .tpm: 2
        }
    }

    /// The kind with this byte code; nil for an unknown one.
    public init?(code: UInt8) {
        guard let kind = Self.allCases.first(where: { $0.code == code }) else { return nil }
        self = kind
    }
}

/// Who can try passcodes, and how often.
public enum GuessingExposure: Sendable {
    /// Anybody with a copy of the files can try, without this machine, as fast as the stretching allows.
    case offline
    /// The chip counts wrong values and stops; a copy of the files is useless without it.
    case limitedByHardware
}

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
