package import Foundation
package import KeyAlgorithms
package import RSAKeys
package import SecretMemory

/// One half of an RSA key pair that this process holds.
package final class SoftwareRSAKey: KeyBacking {
    private let key: RSAKey
    private let publicBytes: Data

    package init(_ key: RSAKey) {
        self.key = key
        publicBytes = key.publicKeyDER
    }

    package var keyType: KeyType { .rsa }
    package var keyClass: KeyClass { key.isPrivate ? .privateKey : .publicKey }
    package var sizeInBits: Int { key.bitCount }
    package var summary: String { "RSA \(key.isPrivate ? "private" : "public") key, \(sizeInBits) bits" }

    package var attributes: [String: Any] {
        SoftwareKeyAttributes.all(of: self, publicKey: publicBytes, bytes: bytes)
    }

    package func externalRepresentation() throws -> Data { bytes }

    private var bytes: Data { key.isPrivate ? Data(exposing: key.privateKeyDER) : publicBytes }

    package func publicKey() throws -> any KeyBacking { key.isPrivate ? SoftwareRSAKey(key.publicKey) : self }

    package func supports(_ operation: KeyOperation, _ algorithm: KeyAlgorithm) -> Bool {
        switch algorithm.kind {
        case .rsaSignature(let padding, .digest(let hash)):
            (operation == .sign || operation == .verify) && hasRoom(for: padding, hash)
        case .rsaEncryption(let padding):
            (operation == .encrypt || operation == .decrypt) && hasRoom(for: padding)
        default: false
        }
    }

    /// Whether a signature is long enough: PSS takes two digests and two bytes. PKCS #1 v1.5 has room from 1024 bits on.
    private func hasRoom(for padding: RSASignaturePadding, _ hash: HashAlgorithm?) -> Bool {
        guard padding == .pss, let hash else { return true }
        return 2 * hash.byteCount + 2 <= key.byteCount
    }

    /// Whether a block is long enough: OAEP takes two digests and two bytes, and the form with AES-GCM a key besides.
    private func hasRoom(for padding: RSAEncryptionPadding) -> Bool {
        switch padding {
        case .none, .pkcs1v15: true
        case .oaep(let hash): 2 * hash.byteCount + 2 <= key.byteCount
        case .oaepAESGCM(let hash): 2 * hash.byteCount + 2 + key.hybridKeyByteCount <= key.byteCount
        }
    }

    package func signature(of input: Data, algorithm: KeyAlgorithm) throws -> Data {
        let (padding, hash) = try signatureForm(of: algorithm)
        return try key.signature(of: input, padding: padding, hash: hash)
    }

    package func verify(_ signature: Data, of input: Data, algorithm: KeyAlgorithm) throws {
        let (padding, hash) = try signatureForm(of: algorithm)
        try key.verify(signature, of: input, padding: padding, hash: hash)
    }

    package func encrypt(_ plaintext: Data, algorithm: KeyAlgorithm) throws -> Data {
        try key.encrypt(plaintext, padding: encryptionPadding(of: algorithm))
    }

    package func decrypt(_ ciphertext: Data, algorithm: KeyAlgorithm) throws -> SecretBytes {
        try key.decrypt(ciphertext, padding: encryptionPadding(of: algorithm))
    }

    package func isSame(as other: any KeyBacking) -> Bool {
        guard let other = other as? SoftwareRSAKey else { return false }
        return other.key.isPrivate == key.isPrivate && other.publicBytes == publicBytes
    }

    private func signatureForm(
        of algorithm: KeyAlgorithm
    ) throws(KeyAlgorithmError) -> (RSASignaturePadding, HashAlgorithm?) {
        guard case .rsaSignature(let padding, .digest(let hash)) = algorithm.kind else { throw .unsupportedAlgorithm }
        return (padding, hash)
    }

    private func encryptionPadding(of algorithm: KeyAlgorithm) throws(KeyAlgorithmError) -> RSAEncryptionPadding {
        guard case .rsaEncryption(let padding) = algorithm.kind else { throw .unsupportedAlgorithm }
        return padding
    }
}
