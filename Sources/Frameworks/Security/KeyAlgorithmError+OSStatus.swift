package import KeyAlgorithms

extension KeyAlgorithmError {
    /// The status that Apple's calls report for this error (CFError domain `NSOSStatusErrorDomain`).
    package var status: OSStatus {
        switch self {
        case .unsupportedAlgorithm, .invalidParameter, .decryptionFailed: errSecParam
        case .signatureMismatch: errSecVerifyFailed
        case .computationFailed: errSecDecode
        }
    }

    /// A description for a person.
    var reason: String {
        switch self {
        case .unsupportedAlgorithm: "The key does not support this algorithm for this operation."
        case .invalidParameter(.digestLength): "The digest does not have the length that the algorithm needs."
        case .invalidParameter(.publicKey): "The public key is of another kind than this key."
        case .invalidParameter(.requestedSize): "The requested size is missing, is not a number or is out of bounds."
        case .invalidParameter(.sharedInfo): "The shared info is not data or is too long."
        case .invalidParameter(.plaintextLength): "The data to be encrypted is too long for the key and algorithm."
        case .invalidParameter(.ciphertextLength): "The ciphertext is too long."
        case .decryptionFailed: "The ciphertext does not belong to this key and algorithm."
        case .signatureMismatch: "The signature does not belong to this data and key."
        case .computationFailed: "The computation with the key gave no result."
        }
    }
}
