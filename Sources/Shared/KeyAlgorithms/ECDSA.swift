import Crypto
public import Foundation

/// ECDSA on P-256 around the private operation, which an enclave does: it takes a ``GroupDigest`` and gives `r ‖ s`.
///
///     let digest = try GroupDigest(of: input, algorithm: algorithm)
///     let raw = try enclave.sign(digest.bytes)
///     let signature = try ECDSA.encode(rawSignature: raw, for: algorithm)
public enum ECDSA {
    /// Length of a raw signature `r ‖ s`.
    public static let rawSignatureByteCount = 64

    /// Writes `r ‖ s`, 64 bytes, in the encoding of `algorithm`.
    ///
    /// Throws ``KeyAlgorithmError/computationFailed`` for another length: the private operation did not do its part.
    public static func encode(
        rawSignature: Data, for algorithm: KeyAlgorithm
    ) throws(KeyAlgorithmError) -> Data {
        let encoding = try encoding(of: algorithm)
        do {
            let signature = try P256.Signing.ECDSASignature(rawRepresentation: rawSignature)
            return encoding == .x962 ? signature.derRepresentation : signature.rawRepresentation
        } catch {
            throw .computationFailed
        }
    }

    /// Reads `r ‖ s`, 64 bytes, out of a signature in the encoding of `algorithm`.
    ///
    /// Only the one DER encoding of a pair of integers is read, so that no second spelling of a signature passes. Anything
    /// else is ``KeyAlgorithmError/signatureMismatch``, as on Apple's systems. Whether `r` and `s` are in range is for
    /// verification to say.
    public static func rawSignature(
        from signature: Data, for algorithm: KeyAlgorithm
    ) throws(KeyAlgorithmError) -> Data {
        try parse(signature, encoding: encoding(of: algorithm)).rawRepresentation
    }

    /// Returns if `signature` is one over `input`, a message or digest as `algorithm` says, and throws if it is not:
    /// ``KeyAlgorithmError/signatureMismatch`` for the signature, ``KeyAlgorithmError/Parameter/digestLength`` for a digest
    /// of a wrong length, ``KeyAlgorithmError/unsupportedAlgorithm`` for an algorithm that is not ECDSA.
    public static func verify(
        signature: Data, of input: Data, publicKey: P256PublicKey, algorithm: KeyAlgorithm
    ) throws(KeyAlgorithmError) {
        let digest = try GroupDigest(of: input, algorithm: algorithm)
        let parsed = try parse(signature, encoding: encoding(of: algorithm))
        guard publicKey.verificationKey.isValidSignature(parsed, for: digest) else { throw .signatureMismatch }
    }

    private static func encoding(of algorithm: KeyAlgorithm) throws(KeyAlgorithmError) -> SignatureEncoding {
        guard case .signature(let encoding, _) = algorithm.kind else { throw .unsupportedAlgorithm }
        return encoding
    }

    private static func parse(
        _ signature: Data, encoding: SignatureEncoding
    ) throws(KeyAlgorithmError) -> P256.Signing.ECDSASignature {
        do {
            switch encoding {
            case .rfc4754: return try P256.Signing.ECDSASignature(rawRepresentation: signature)
            case .x962: return try P256.Signing.ECDSASignature(derRepresentation: signature)
            }
        } catch {
            throw .signatureMismatch
        }
    }
}
