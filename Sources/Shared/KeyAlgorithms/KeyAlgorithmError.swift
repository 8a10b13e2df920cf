/// Why a key algorithm did not give a result. Carries no bytes of a caller, key or message.
///
/// Apple's calls report these as `OSStatus`: ``unsupportedAlgorithm``, ``invalidParameter(_:)`` and
/// ``decryptionFailed`` are `errSecParam` (-50), ``signatureMismatch`` is `errSecVerifyFailed` (-67808) and
/// ``computationFailed`` is `errSecDecode` (-26275).
public enum KeyAlgorithmError: Error, Hashable, Sendable {
    /// The name is unknown, belongs to another kind of key, or belongs to another operation.
    case unsupportedAlgorithm
    /// An input was refused before any key was used.
    case invalidParameter(Parameter)
    /// The ciphertext does not belong to this key and algorithm. Too short, not a point, and a wrong tag are one refusal,
    /// so that an answer teaches nothing about a forged ciphertext.
    case decryptionFailed
    /// The signature is not one of this key over this input, or is not in the algorithm's encoding.
    case signatureMismatch
    /// The inputs were accepted and the library or the enclave gave no usable result.
    case computationFailed

    /// The input that was refused.
    public enum Parameter: Hashable, Sendable, CaseIterable {
        /// Not as long as the algorithm's hash, or empty.
        case digestLength
        /// Not a point of P-256 in the expected encoding.
        case publicKey
        /// Absent, not a number, not positive, or above ``KeyAlgorithmLimits/keyExchangeResult``.
        case requestedSize
        /// Not bytes, or above ``KeyAlgorithmLimits/sharedInfo``.
        case sharedInfo
        /// Above ``KeyAlgorithmLimits/plaintext``.
        case plaintextLength
        /// Above ``KeyAlgorithmLimits/ciphertext``.
        case ciphertextLength
    }
}
