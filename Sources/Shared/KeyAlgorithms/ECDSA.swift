public import Crypto
public import Foundation

/// ECDSA around the private operation, which an enclave does: it takes a ``GroupDigest`` and gives `r ‖ s`. The curve is
/// P-256 unless another one is named.
///
///     let digest = try GroupDigest(of: input, algorithm: algorithm)
///     let raw = try enclave.sign(digest.bytes)
///     let signature = try ECDSA.encode(rawSignature: raw, for: algorithm)
public enum ECDSA {
    /// Length of a raw signature `r ‖ s` of P-256.
    public static let rawSignatureByteCount = 64

    /// Writes `r ‖ s`, each as long as the field (64 bytes on P-256), in the encoding of `algorithm`.
    ///
    /// Throws ``KeyAlgorithmError/computationFailed`` for another length: the private operation did not do its part.
    public static func encode<Curve: EllipticCurve>(
        rawSignature: Data, for algorithm: KeyAlgorithm, on curve: Curve.Type = P256.self
    ) throws(KeyAlgorithmError) -> Data {
        let encoding = try encoding(of: algorithm)
        do {
            let signature = try Curve.VerificationKey.Signature(rawRepresentation: rawSignature)
            return encoding == .x962 ? signature.derRepresentation : signature.rawRepresentation
        } catch {
            throw .computationFailed
        }
    }

    /// Reads `r ‖ s`, each as long as the field (64 bytes on P-256), out of a signature in the encoding of `algorithm`.
    ///
    /// Only the one DER encoding of a pair of integers is read, so that no second spelling of a signature passes. Anything
    /// else is ``KeyAlgorithmError/signatureMismatch``, as on Apple's systems. Whether `r` and `s` are in range is for
    /// verification to say.
    public static func rawSignature<Curve: EllipticCurve>(
        from signature: Data, for algorithm: KeyAlgorithm, on curve: Curve.Type = P256.self
    ) throws(KeyAlgorithmError) -> Data {
        try parse(signature, encoding: encoding(of: algorithm), on: curve).rawRepresentation
    }

    /// Returns if `signature` is a signature over `input`, which is a message or a digest as `algorithm` says. Throws
    /// otherwise: ``KeyAlgorithmError/signatureMismatch`` for the signature,
    /// ``KeyAlgorithmError/Parameter/digestLength`` for a digest of a wrong length,
    /// ``KeyAlgorithmError/unsupportedAlgorithm`` for an algorithm that is not ECDSA.
    public static func verify<Curve: EllipticCurve>(
        signature: Data, of input: Data, publicKey: ECPublicKey<Curve>, algorithm: KeyAlgorithm
    ) throws(KeyAlgorithmError) {
        let encoding = try encoding(of: algorithm)
        let digest = try CheckedDigest(of: input, algorithm: algorithm)
        let parsed = try parse(signature, encoding: encoding, on: Curve.self)
        guard publicKey.verificationKey.isValidSignature(parsed, for: digest) else { throw .signatureMismatch }
    }

    private static func encoding(of algorithm: KeyAlgorithm) throws(KeyAlgorithmError) -> SignatureEncoding {
        guard case .signature(let encoding, _) = algorithm.kind else { throw .unsupportedAlgorithm }
        return encoding
    }

    private static func parse<Curve: EllipticCurve>(
        _ signature: Data, encoding: SignatureEncoding, on curve: Curve.Type
    ) throws(KeyAlgorithmError) -> Curve.VerificationKey.Signature {
        do {
            switch encoding {
            case .rfc4754: return try Curve.VerificationKey.Signature(rawRepresentation: signature)
            case .x962: return try Curve.VerificationKey.Signature(derRepresentation: signature)
            }
        } catch {
            throw .signatureMismatch
        }
    }
}
