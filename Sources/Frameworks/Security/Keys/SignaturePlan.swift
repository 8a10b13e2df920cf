import Crypto
import Foundation
import KeyAlgorithms

/// How a key performs a signature algorithm: by itself, or with a simpler one that it performs.
///
/// A message algorithm becomes the digest algorithm of its hash, an algorithm of one hash the one without a name of a hash,
/// and an RFC 4754 signature an X9.62 one that is rewritten. So a token that knows `digest-X962:SHA256` alone also does
/// `message-X962:SHA256` and both of RFC 4754, and nothing of another hash.
struct SignaturePlan {
    /// The algorithm that the caller named.
    private let algorithm: KeyAlgorithm
    /// The algorithm that the key performs.
    let performed: KeyAlgorithm
    private let sizeInBits: Int

    /// Nil if `key` cannot do it in any way.
    init?(_ algorithm: KeyAlgorithm, _ operation: KeyOperation, with key: any KeyBacking) {
        guard let performed = Self.performed(algorithm, operation, by: key) else { return nil }
        self.algorithm = algorithm
        self.performed = performed
        sizeInBits = key.sizeInBits
    }

    private static func performed(
        _ algorithm: KeyAlgorithm, _ operation: KeyOperation, by key: any KeyBacking
    ) -> KeyAlgorithm? {
        if key.supports(operation, algorithm) { return algorithm }
        return candidates(for: algorithm.kind).lazy.compactMap(KeyAlgorithm.init(kind:))
            .first { key.supports(operation, $0) }
    }

    /// The input that the key gets for the caller's `input`. Checks a digest's length, and hashes a message unless the
    /// key does that.
    func input(for input: Data) throws(KeyAlgorithmError) -> Data {
        if case .message = Self.input(of: performed.kind) { return input }
        return try CheckedDigest(of: input, algorithm: algorithm).bytes
    }

    /// The signature of the key in the encoding that the caller asked for.
    func signature(from signature: Data) throws(KeyAlgorithmError) -> Data {
        guard isRewritten else { return signature }
        do {
            return try rewrite(signature, from: performed, to: algorithm)
        } catch {
            throw .computationFailed  // The key did not do its part.
        }
    }

    /// The caller's signature in the encoding of the key.
    func performedSignature(from signature: Data) throws(KeyAlgorithmError) -> Data {
        try isRewritten ? rewrite(signature, from: algorithm, to: performed) : signature
    }

    private var isRewritten: Bool {
        guard case .signature(let asked, _) = algorithm.kind, case .signature(let own, _) = performed.kind else {
            return false
        }
        return asked != own
    }

    private func rewrite(
        _ signature: Data, from source: KeyAlgorithm, to target: KeyAlgorithm
    ) throws(KeyAlgorithmError) -> Data {
        switch sizeInBits {
        case P256.bitCount: try rewrite(signature, from: source, to: target, on: P256.self)
        case P384.bitCount: try rewrite(signature, from: source, to: target, on: P384.self)
        case P521.bitCount: try rewrite(signature, from: source, to: target, on: P521.self)
        default: throw .unsupportedAlgorithm
        }
    }

    private func rewrite<Curve: EllipticCurve>(
        _ signature: Data, from source: KeyAlgorithm, to target: KeyAlgorithm, on curve: Curve.Type
    ) throws(KeyAlgorithmError) -> Data {
        let raw = try ECDSA.rawSignature(from: signature, for: source, on: curve)
        return try ECDSA.encode(rawSignature: raw, for: target, on: curve)
    }

    // MARK: the simpler algorithms

    /// The algorithm itself, then the algorithms that it can be derived from, the nearest first.
    private static func candidates(for kind: KeyAlgorithm.Kind) -> [KeyAlgorithm.Kind] {
        switch kind {
        case .signature(let encoding, let input):
            let encodings = encoding == .x962 ? [encoding] : [encoding, .x962]
            return simpler(input).flatMap { input in
                encodings.map { .signature(encoding: $0, input: input) }
            }
        case .rsaSignature(let padding, .message(let hash)):
            return [kind, .rsaSignature(padding, input: .digest(hash))]
        case .rsaSignature: return [kind]
        case .encryption, .keyExchange, .rsaEncryption: return []
        }
    }

    private static func simpler(_ input: SignatureInput) -> [SignatureInput] {
        switch input {
        case .message(let hash): [input, .digest(hash), .digest(nil)]
        case .digest(.some): [input, .digest(nil)]
        case .digest(nil): [input]
        }
    }

    private static func input(of kind: KeyAlgorithm.Kind) -> SignatureInput? {
        switch kind {
        case .signature(_, let input), .rsaSignature(_, let input): input
        case .encryption, .keyExchange, .rsaEncryption: nil
        }
    }
}
