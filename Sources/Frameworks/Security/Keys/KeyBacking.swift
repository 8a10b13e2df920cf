package import Foundation
package import KeyAlgorithms
package import SecretMemory

/// The inside of a ``SecKey``: key material in this process, or a handle of a key that somebody else holds.
///
/// A backing names the algorithms that it performs itself. `SecKey` derives others from them: it hashes a message and
/// has the digest signed, and it rewrites a signature from X9.62 to RFC 4754. It calls a backing only if
/// ``supports(_:_:)`` answered with true.
///
/// Errors: ``KeyAlgorithmError`` and ``StatusError`` become an `OSStatus`; an `NSError` is handed on unchanged.
package protocol KeyBacking: AnyObject, Sendable {
    var keyType: KeyType { get }
    var keyClass: KeyClass { get }

    /// Size of the curve or modulus.
    var sizeInBits: Int { get }

    /// The attributes that `SecKeyCopyAttributes` returns.
    var attributes: [String: Any] { get }

    /// Says of what kind the key is, without its bytes.
    var summary: String { get }

    /// The key as bytes; `errSecUnimplemented` for a key that does not leave.
    func externalRepresentation() throws -> Data

    /// The public half, which is in this process; of a public key itself.
    func publicKey() throws -> any KeyBacking

    /// Whether the key performs `algorithm` itself. Only operations of its own half are asked about.
    func supports(_ operation: KeyOperation, _ algorithm: KeyAlgorithm) -> Bool

    /// A signature over `input`, a message or a digest of the right length as `algorithm` says.
    func signature(of input: Data, algorithm: KeyAlgorithm) throws -> Data

    /// Returns if `signature` is one over `input`, and throws ``KeyAlgorithmError/signatureMismatch`` if it is not.
    func verify(_ signature: Data, of input: Data, algorithm: KeyAlgorithm) throws

    func encrypt(_ plaintext: Data, algorithm: KeyAlgorithm) throws -> Data

    func decrypt(_ ciphertext: Data, algorithm: KeyAlgorithm) throws -> SecretBytes

    /// The result of a key exchange with the public key whose external representation is `peer`.
    func exchange(
        with peer: Data, algorithm: KeyAlgorithm, parameters: KeyExchangeParameters
    ) throws -> SecretBytes

    /// Whether both are the same key: of the same half, type and bytes, or of the same token and handle.
    func isSame(as other: any KeyBacking) -> Bool
}

// A key need not implement operations that it does not offer: `supports(_:_:)` says no, and these defaults are never
// reached.
extension KeyBacking {
    package func signature(of input: Data, algorithm: KeyAlgorithm) throws -> Data {
        throw KeyAlgorithmError.unsupportedAlgorithm
    }

    package func verify(_ signature: Data, of input: Data, algorithm: KeyAlgorithm) throws {
        throw KeyAlgorithmError.unsupportedAlgorithm
    }

    package func encrypt(_ plaintext: Data, algorithm: KeyAlgorithm) throws -> Data {
        throw KeyAlgorithmError.unsupportedAlgorithm
    }

    package func decrypt(_ ciphertext: Data, algorithm: KeyAlgorithm) throws -> SecretBytes {
        throw KeyAlgorithmError.unsupportedAlgorithm
    }

    package func exchange(
        with peer: Data, algorithm: KeyAlgorithm, parameters: KeyExchangeParameters
    ) throws -> SecretBytes {
        throw KeyAlgorithmError.unsupportedAlgorithm
    }
}

/// The key types that exist here, with the values of `kSecAttrKeyType`.
package enum KeyType: String, CaseIterable, Sendable {
    case rsa = "42"
    case ellipticCurve = "73"
}

/// The halves of a pair, with the values of `kSecAttrKeyClass`.
package enum KeyClass: String, CaseIterable, Sendable {
    case publicKey = "0"
    case privateKey = "1"
}
