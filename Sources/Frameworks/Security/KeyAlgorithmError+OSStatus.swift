package import KeyAlgorithms

extension KeyAlgorithmError {
    /// What Apple's calls report for this error (CFError domain `NSOSStatusErrorDomain`).
    package var status: OSStatus {
        switch self {
        case .unsupportedAlgorithm, .invalidParameter, .decryptionFailed: errSecParam
        case .signatureMismatch: errSecVerifyFailed
        case .computationFailed: errSecDecode
        }
    }
}
