import Crypto
public import Foundation
public import SecretMemory

/// Apple's ECIES on P-256 (`eciesEncryption…X963SHA…AESGCM`).
///
/// Ciphertext: `E ‖ C ‖ T`, with `E` the ephemeral public key (65 bytes, X9.63 uncompressed), `C` as long as the plaintext
/// and `T` the 16-byte tag. The key material is the X9.63 KDF over the raw ECDH secret with `E` as shared info. The plain
/// form takes 16 bytes of it as AES-128 key and uses 16 zero bytes as IV; the variable-IV form takes 32 bytes, key and then
/// IV. AES-GCM runs with the 16-byte IV and without additional data.
public enum ECIES {
    /// Bytes that a ciphertext is longer than its plaintext.
    public static let overhead = P256PublicKey.byteCount + tagByteCount

    static let tagByteCount = 16

    /// Encrypts to the holder of the private half of `recipient`; asks nobody. Give the bytes of a secret by lending them.
    ///
    /// Throws ``KeyAlgorithmError/unsupportedAlgorithm`` or ``KeyAlgorithmError/Parameter/plaintextLength``.
    public static func encrypt(
        _ plaintext: some DataProtocol, to recipient: P256PublicKey, algorithm: KeyAlgorithm
    ) throws(KeyAlgorithmError) -> Data {
        let scheme = try ECIESScheme(algorithm)
        guard plaintext.count <= KeyAlgorithmLimits.plaintext else { throw .invalidParameter(.plaintextLength) }
        let ephemeral = P256.KeyAgreement.PrivateKey(compactRepresentable: false)
        let ephemeralKey = try P256PublicKey(x963: ephemeral.publicKey.x963Representation)
        let sharedSecret = try ephemeral.sharedSecret(with: recipient)
        do {
            let keys = try scheme.keys(sharedSecret: sharedSecret, ephemeralKey: ephemeralKey)
            let box = try AES.GCM.seal(plaintext, using: keys.key, nonce: keys.nonce)
            return ephemeralKey.x963 + box.ciphertext + box.tag
        } catch {
            throw .computationFailed
        }
    }

    /// Decrypts with a private key that is at hand: `sharedSecret` multiplies it with the ephemeral key, given as the 65
    /// bytes of X9.63, and returns the 32 bytes of raw ECDH. What it throws goes through.
    ///
    /// Where somebody must be asked for the key, make an ``Envelope`` first: it refuses a malformed ciphertext unasked.
    public static func decrypt(
        _ ciphertext: Data, algorithm: KeyAlgorithm, sharedSecret: (Data) throws -> SecretBytes
    ) throws -> SecretBytes {
        let envelope = try Envelope(ciphertext, algorithm: algorithm)
        return try envelope.open(sharedSecret: sharedSecret(envelope.ephemeralKey.x963))
    }

    /// A ciphertext in its parts, with a valid ephemeral key, not yet known to be genuine.
    public struct Envelope: Sendable {
        /// The point to be multiplied with the private key.
        public let ephemeralKey: P256PublicKey
        private let scheme: ECIESScheme
        private let encrypted: Data
        private let tag: Data

        /// Splits a ciphertext.
        ///
        /// Throws ``KeyAlgorithmError/unsupportedAlgorithm``; ``KeyAlgorithmError/Parameter/ciphertextLength`` above the
        /// limit; ``KeyAlgorithmError/decryptionFailed`` if it is too short or does not start with a point of P-256.
        public init(_ ciphertext: Data, algorithm: KeyAlgorithm) throws(KeyAlgorithmError) {
            scheme = try ECIESScheme(algorithm)
            guard ciphertext.count <= KeyAlgorithmLimits.ciphertext else {
                throw .invalidParameter(.ciphertextLength)
            }
            guard ciphertext.count >= ECIES.overhead else { throw .decryptionFailed }
            do {
                ephemeralKey = try P256PublicKey(x963: ciphertext.prefix(P256PublicKey.byteCount))
            } catch {
                throw .decryptionFailed
            }
            encrypted = ciphertext.dropFirst(P256PublicKey.byteCount).dropLast(ECIES.tagByteCount)
            tag = ciphertext.suffix(ECIES.tagByteCount)
        }

        /// The plaintext, out of the raw shared secret (32 bytes) of the private key and ``ephemeralKey``.
        ///
        /// Throws ``KeyAlgorithmError/decryptionFailed`` unless the tag is right, ``KeyAlgorithmError/computationFailed`` if
        /// the shared secret is not 32 bytes.
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
}

/// What the ECIES algorithms differ in.
struct ECIESScheme: Sendable {
    /// AES-128 for curves up to 256 bits.
    private static let keyByteCount = 16
    private static let nonceByteCount = 16

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
        sharedSecret: borrowing SecretBytes, ephemeralKey: P256PublicKey
    ) throws(KeyAlgorithmError) -> (key: SymmetricKey, nonce: AES.GCM.Nonce) {
        try sharedSecret.requireSharedSecretLength()
        let byteCount = Self.keyByteCount + (hasVariableIV ? Self.nonceByteCount : 0)
        let material = X963KDF.derive(
            byteCount, from: sharedSecret, sharedInfo: ephemeralKey.x963, hash: hash)
        let nonceBytes = hasVariableIV
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
