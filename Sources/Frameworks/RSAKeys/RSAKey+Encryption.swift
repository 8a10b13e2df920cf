@_implementationOnly import CCryptoBoringSSL
import Crypto
package import Foundation
package import KeyAlgorithms
package import SecretMemory

extension RSAKey {
    /// Encrypts for the holder of the private half.
    ///
    /// The longest plaintext is 11 bytes shorter than the modulus for PKCS #1 v1.5, and two digests and two bytes
    /// shorter for OAEP. The form with AES-GCM takes any length. Without padding, the plaintext must be as long as the
    /// modulus and a smaller number. Throws ``KeyAlgorithmError/Parameter/plaintextLength`` otherwise.
    package func encrypt(_ plaintext: Data, padding: RSAEncryptionPadding) throws(KeyAlgorithmError) -> Data {
        guard case .oaepAESGCM(let hash) = padding else {
            guard let output = transform(plaintext, padding, .encryption) else {
                throw .invalidParameter(.plaintextLength)
            }
            return output.block.prefix(output.count)
        }
        let key = SecretBytes(random: hybridKeyByteCount)
        var exposed = Data(exposing: key)
        defer { exposed.wipe() }
        guard let wrapped = transform(exposed, .oaep(hash), .encryption) else {
            throw .unsupportedAlgorithm
        }
        do {
            let box = try AES.GCM.seal(
                plaintext, using: SymmetricKey(key), nonce: Self.hybridNonce(), authenticating: publicKeyDER)
            return wrapped.block + box.ciphertext + box.tag
        } catch {
            throw .computationFailed
        }
    }

    /// Decrypts. Whatever is wrong with the ciphertext is one refusal, ``KeyAlgorithmError/decryptionFailed``.
    ///
    /// PKCS #1 v1.5 tells whether a padding was right, as it does everywhere: use OAEP.
    package func decrypt(_ ciphertext: Data, padding: RSAEncryptionPadding) throws(KeyAlgorithmError) -> SecretBytes {
        guard case .oaepAESGCM(let hash) = padding else {
            return try decryptBlock(ciphertext, padding)
        }
        guard ciphertext.count >= byteCount + Self.tagByteCount else { throw .decryptionFailed }
        let key = try decryptBlock(Data(ciphertext.prefix(byteCount)), .oaep(hash))
        guard key.count == hybridKeyByteCount else { throw .decryptionFailed }
        do {
            let box = try AES.GCM.SealedBox(
                nonce: Self.hybridNonce(), ciphertext: ciphertext.dropFirst(byteCount).dropLast(Self.tagByteCount),
                tag: ciphertext.suffix(Self.tagByteCount))
            var plaintext = try AES.GCM.open(box, using: SymmetricKey(key), authenticating: publicKeyDER)
            return SecretBytes(taking: &plaintext)
        } catch {
            throw .decryptionFailed
        }
    }

    private static var tagByteCount: Int { 16 }

    /// Length of the AES key that is wrapped by OAEP: AES-128 below 4096 bits.
    package var hybridKeyByteCount: Int { bitCount < 4096 ? 16 : 32 }

    /// 16 zero bytes: a key serves one message only.
    private static func hybridNonce() throws -> AES.GCM.Nonce { try AES.GCM.Nonce(data: Data(count: 16)) }

    private func decryptBlock(
        _ ciphertext: Data, _ padding: RSAEncryptionPadding
    ) throws(KeyAlgorithmError) -> SecretBytes {
        guard ciphertext.count == byteCount, var output = transform(ciphertext, padding, .decryption) else {
            throw .decryptionFailed
        }
        var plaintext = SecretBytes(zeroed: output.count)
        plaintext.withUnsafeMutableBytes { target in
            output.block.withUnsafeBytes {
                target.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[..<output.count]))
            }
        }
        output.block.wipe()
        return plaintext
    }

    private enum Direction {
        case encryption, decryption
    }

    /// One block and how many of its bytes are the result.
    private func transform(
        _ input: Data, _ padding: RSAEncryptionPadding, _ direction: Direction
    ) -> (block: Data, count: Int)? {
        defer { CCryptoBoringSSL_ERR_clear_error() }
        let key = CCryptoBoringSSL_EVP_PKEY_new()
        defer { CCryptoBoringSSL_EVP_PKEY_free(key) }
        guard CCryptoBoringSSL_EVP_PKEY_set1_RSA(key, pointer) == 1 else { return nil }
        let context = CCryptoBoringSSL_EVP_PKEY_CTX_new(key, nil)
        defer { CCryptoBoringSSL_EVP_PKEY_CTX_free(context) }
        let start =
            direction == .encryption
            ? CCryptoBoringSSL_EVP_PKEY_encrypt_init : CCryptoBoringSSL_EVP_PKEY_decrypt_init
        let run = direction == .encryption ? CCryptoBoringSSL_EVP_PKEY_encrypt : CCryptoBoringSSL_EVP_PKEY_decrypt
        guard start(context) == 1, set(padding, on: context) else { return nil }
        var output = Data(count: byteCount)
        var count = output.count
        let result = output.withUnsafeMutableBytes { output in
            input.withUnsafeBytes { run(context, output.bytes, &count, $0.bytes, $0.count) }
        }
        guard result == 1, count <= output.count else {
            output.wipe()
            return nil
        }
        return (output, count)
    }

    private func set(_ padding: RSAEncryptionPadding, on context: OpaquePointer?) -> Bool {
        switch padding {
        case .none: CCryptoBoringSSL_EVP_PKEY_CTX_set_rsa_padding(context, RSA_NO_PADDING) == 1
        case .pkcs1v15: CCryptoBoringSSL_EVP_PKEY_CTX_set_rsa_padding(context, RSA_PKCS1_PADDING) == 1
        case .oaep(let hash), .oaepAESGCM(let hash):
            CCryptoBoringSSL_EVP_PKEY_CTX_set_rsa_padding(context, RSA_PKCS1_OAEP_PADDING) == 1
                && CCryptoBoringSSL_EVP_PKEY_CTX_set_rsa_oaep_md(context, hash.function) == 1
                && CCryptoBoringSSL_EVP_PKEY_CTX_set_rsa_mgf1_md(context, hash.function) == 1
        }
    }
}
