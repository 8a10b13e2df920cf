import Crypto
import Foundation
import KeyAlgorithms
import RSAKeys
import SSHKeyFiles
import SecretMemory

/// Uses of an imported private key, in this process's memory.
extension SSHPrivateKey {
    /// - Returns: for the curves of NIST `r ‖ s`.
    func tokenSignature(of input: SignedInput) throws -> Data {
        let (bytes, hash) = try input.digest()
        switch (kind, input.mechanism) {
        case (.ed25519, .ed25519):
            return try unsafe secret.withUnsafeBytes { secret in
                try unsafe Curve25519.Signing.PrivateKey(rawRepresentation: secret).signature(for: bytes)
            }
        case (.p256, .ecdsa), (.p384, .ecdsa), (.p521, .ecdsa):
            return try signOnCurve(CheckedDigest(digest: bytes, hash: hash))
        case (.rsa, .pkcs1): return try rsaKey().signature(of: bytes, padding: .pkcs1v15, hash: hash)
        case (.rsa, .pss): return try rsaKey().signature(of: bytes, padding: .pss, hash: hash)
        default: throw TokenRefusal.mechanismInvalid
        }
    }

    /// - Throws: ``TokenRefusal/encryptedDataLength``, ``KeyAlgorithmError/decryptionFailed``.
    func tokenPlaintext(of ciphertext: Data, _ padding: RSAEncryptionPadding) throws -> SecretBytes {
        guard kind == .rsa else { throw TokenRefusal.mechanismInvalid }
        let key = try rsaKey()
        guard ciphertext.count == key.byteCount else { throw TokenRefusal.encryptedDataLength }
        return try key.decrypt(ciphertext, padding: padding)
    }

    private func rsaKey() throws(TokenRefusal) -> RSAKey {
        guard let key = RSAKey(privateKey: secret) else { throw .failed }
        return key
    }

    private func signOnCurve(_ digest: CheckedDigest) throws -> Data {
        try unsafe secret.withUnsafeBytes { secret in
            switch kind {
            case .p384:
                try unsafe P384.Signing.PrivateKey(rawRepresentation: secret).signature(for: digest).rawRepresentation
            case .p521:
                try unsafe P521.Signing.PrivateKey(rawRepresentation: secret).signature(for: digest).rawRepresentation
            default:
                try unsafe P256.Signing.PrivateKey(rawRepresentation: secret).signature(for: digest).rawRepresentation
            }
        }
    }
}
