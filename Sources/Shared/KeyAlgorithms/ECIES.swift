public import Crypto
public import Foundation
public import SecretMemory

/// Apple's ECIES (`eciesEncryption…X963SHA…AESGCM`).
///
/// Ciphertext: `E ‖ C ‖ T`, with `E` the ephemeral public key (X9.63 uncompressed, 65 bytes on P-256), `C` as long as the
/// plaintext and `T` the 16-byte tag. The key material is the X9.63 KDF over the raw ECDH secret with `E` as shared info. The
/// plain form takes an AES key of it, 16 bytes on curves of up to 256 bits and 32 bytes above, and uses 16 zero bytes as
/// IV; the variable-IV form takes key and then IV. AES-GCM runs with the 16-byte IV and without additional data.
public enum ECIES {
    /// Bytes that a ciphertext of P-256 is longer than its plaintext.
    public static let overhead = Envelope.overhead

    static let tagByteCount = 16

    /// Encrypts to the holder of the private half of `recipient`; asks nobody. Give the bytes of a secret by lending them.
    ///
    /// `limit` is the length that the ciphertext may have. Throws ``KeyAlgorithmError/unsupportedAlgorithm`` or
    /// ``KeyAlgorithmError/Parameter/plaintextLength``.
    public static func encrypt<Curve: EllipticCurve>(
        _ plaintext: some DataProtocol, to recipient: ECPublicKey<Curve>, algorithm: KeyAlgorithm,
        limit: Int = KeyAlgorithmLimits.ciphertext
    ) throws(KeyAlgorithmError) -> Data {
        let scheme = try ECIESScheme<Curve>(algorithm)
        guard plaintext.count <= limit - ECIESEnvelope<Curve>.overhead else {
            throw .invalidParameter(.plaintextLength)
        }
        let ephemeral = Curve.AgreementKey(compactRepresentable: false)
        let ephemeralKey = try ECPublicKey<Curve>(x963: ephemeral.publicKey.x963Representation)
        let sharedSecret = try ephemeral.sharedSecret(with: recipient)
        do {
            let keys = try scheme.keys(sharedSecret: sharedSecret, ephemeralKey: ephemeralKey)
            let box = try AES.GCM.seal(plaintext, using: keys.key, nonce: keys.nonce)
            return ephemeralKey.x963 + box.ciphertext + box.tag
        } catch {
            throw .computationFailed
        }
    }

    /// Decrypts with a private key. `sharedSecret` multiplies the key with the ephemeral key, given as the 65 bytes of
    /// X9.63, and returns the 32 bytes of raw ECDH. Its errors are passed on.
    ///
    /// If a person must be asked for the key, make an ``Envelope`` first: it refuses a malformed ciphertext before the
    /// question.
    public static func decrypt(
        _ ciphertext: Data, algorithm: KeyAlgorithm, sharedSecret: (Data) throws -> SecretBytes
    ) throws -> SecretBytes {
        let envelope = try Envelope(ciphertext, algorithm: algorithm)
        return try envelope.open(sharedSecret: sharedSecret(envelope.ephemeralKey.x963))
    }

    /// A ciphertext for a key of the enclave's curve.
    public typealias Envelope = ECIESEnvelope<P256>
}

/// A ciphertext in its parts, with a valid ephemeral key, not yet known to be genuine.
public struct ECIESEnvelope<Curve: EllipticCurve>: Sendable {
    /// Bytes that a ciphertext is longer than its plaintext.
    public static var overhead: Int { ECPublicKey<Curve>.byteCount + ECIES.tagByteCount }

    /// The point to be multiplied with the private key.
    public let ephemeralKey: ECPublicKey<Curve>
    private let scheme: ECIESScheme<Curve>
    private let encrypted: Data
    private let tag: Data

    /// Splits a ciphertext.
    ///
    /// Throws ``KeyAlgorithmError/unsupportedAlgorithm``; ``KeyAlgorithmError/Parameter/ciphertextLength`` above `limit`;
    /// ``KeyAlgorithmError/decryptionFailed`` if it is too short or does not start with a point of the curve.
    public init(
        _ ciphertext: Data, algorithm: KeyAlgorithm, limit: Int = KeyAlgorithmLimits.ciphertext
    ) throws(KeyAlgorithmError) {
        scheme = try ECIESScheme(algorithm)
        guard ciphertext.count <= limit else {
            throw .invalidParameter(.ciphertextLength)
        }
        guard ciphertext.count >= Self.overhead else { throw .decryptionFailed }
        do {
            ephemeralKey = try ECPublicKey(x963: ciphertext.prefix(ECPublicKey<Curve>.byteCount))
        } catch {
            throw .decryptionFailed
        }
        encrypted = ciphertext.dropFirst(ECPublicKey<Curve>.byteCount).dropLast(ECIES.tagByteCount)
        tag = ciphertext.suffix(ECIES.tagByteCount)
    }

    /// The plaintext, out of the raw shared secret (32 bytes on P-256) of the private key and ``ephemeralKey``.
    ///
    /// Throws ``KeyAlgorithmError/decryptionFailed`` unless the tag is right, ``KeyAlgorithmError/computationFailed`` if
    /// the shared secret has another length.
    public func open(sharedSecret: borrowing SecretBytes) throws(KeyAlgorithmError) -> SecretBytes {
        let keys = try scheme.keys(sharedSecret: sharedSecret, ephemeralKey: ephemeralKey)
        do {
            let box = try AES.GCM.SealedBox(nonce: keys.nonce, ciphertext: encrypted, tag: tag)
            var plaintext = try AES.GCM.open(box, using: keys.key)
            return SecretBytes(taking: &plaintext)
        } catch {
            throw .decryptionFailed
        }
    }
}

/// The parameters in which the ECIES algorithms differ.
struct ECIESScheme<Curve: EllipticCurve>: Sendable {
    /// AES-128 for curves up to 256 bits.
    private static var keyByteCount: Int { Curve.bitCount <= 256 ? 16 : 32 }
    private static var nonceByteCount: Int { 16 }

    private let hash: HashAlgorithm
    private let hasVariableIV: Bool

    init(_ algorithm: KeyAlgorithm) throws(KeyAlgorithmError) {
        guard case .encryption(let hash, let hasVariableIV, _) = algorithm.kind else { throw .unsupportedAlgorithm }
        self.hash = hash
        self.hasVariableIV = hasVariableIV
    }

    /// Key and IV of one message. The plain form's IV is constant; its key serves one message only, because the ephemeral
    /// key that it comes from is fresh.
    func keys(
        sharedSecret: borrowing SecretBytes, ephemeralKey: ECPublicKey<Curve>
    ) throws(KeyAlgorithmError) -> (key: SymmetricKey, nonce: AES.GCM.Nonce) {
        try sharedSecret.requireSharedSecretLength(of: Curve.self)
        let byteCount = Self.keyByteCount + (hasVariableIV ? Self.nonceByteCount : 0)
        let material = X963KDF.derive(
            byteCount, from: sharedSecret, sharedInfo: ephemeralKey.x963, hash: hash)
        let nonceBytes =
            hasVariableIV
            ? unsafe material.withUnsafeBytes { unsafe Data($0.suffix(Self.nonceByteCount)) }
            : Data(count: Self.nonceByteCount)
        let key = SymmetricKey(material.prefix(Self.keyByteCount))
        do {
            return (key, try AES.GCM.Nonce(data: nonceBytes))
        } catch {
            throw .computationFailed
        }
    }
}
