// swift-crypto's OAEP takes no label, and a TPM asks for one. BoringSSL, which swift-crypto carries, does it.
@_implementationOnly import CCryptoBoringSSL
package import Foundation

/// Encryption with RSA, OAEP, SHA-256 and a label (RFC 8017, section 7.1).
package enum LabeledOAEP {
    /// - Parameters:
    ///   - label: not empty.
    ///   - modulus: of 2,048 to 4,096 bits, big-endian; the public exponent is 65,537.
    /// - Returns: nil when the modulus is none, or the plaintext is too long for it.
    package static func encrypt(_ plaintext: Data, label: Data, modulus: Data) -> Data? {
        defer { CCryptoBoringSSL_ERR_clear_error() }
        guard let rsa = key(modulus) else { return nil }
        defer { CCryptoBoringSSL_RSA_free(rsa) }
        let key = CCryptoBoringSSL_EVP_PKEY_new()
        defer { CCryptoBoringSSL_EVP_PKEY_free(key) }
        guard CCryptoBoringSSL_EVP_PKEY_set1_RSA(key, rsa) == 1 else { return nil }
        let context = CCryptoBoringSSL_EVP_PKEY_CTX_new(key, nil)
        defer { CCryptoBoringSSL_EVP_PKEY_CTX_free(context) }
        guard CCryptoBoringSSL_EVP_PKEY_encrypt_init(context) == 1, set(label, on: context) else { return nil }
        var output = Data(count: Int(CCryptoBoringSSL_RSA_size(rsa)))
        var count = output.count
        let result = output.withUnsafeMutableBytes { output in
            plaintext.withUnsafeBytes { plaintext in
                CCryptoBoringSSL_EVP_PKEY_encrypt(
                    context, output.bindMemory(to: UInt8.self).baseAddress, &count,
                    plaintext.bindMemory(to: UInt8.self).baseAddress, plaintext.count)
            }
        }
        return result == 1 && count == output.count ? output : nil
    }

    private static func key(_ modulus: Data) -> OpaquePointer? {
        guard (256...512).contains(modulus.count) else { return nil }
        let number = modulus.withUnsafeBytes {
            CCryptoBoringSSL_BN_bin2bn($0.bindMemory(to: UInt8.self).baseAddress, $0.count, nil)
        }
        defer { CCryptoBoringSSL_BN_free(number) }
        let exponent = CCryptoBoringSSL_BN_new()
        defer { CCryptoBoringSSL_BN_free(exponent) }
        guard CCryptoBoringSSL_BN_set_word(exponent, 65537) == 1 else { return nil }
        return CCryptoBoringSSL_RSA_new_public_key(number, exponent)
    }

    private static func set(_ label: Data, on context: OpaquePointer?) -> Bool {
        guard CCryptoBoringSSL_EVP_PKEY_CTX_set_rsa_padding(context, RSA_PKCS1_OAEP_PADDING) == 1,
            CCryptoBoringSSL_EVP_PKEY_CTX_set_rsa_oaep_md(context, CCryptoBoringSSL_EVP_sha256()) == 1,
            CCryptoBoringSSL_EVP_PKEY_CTX_set_rsa_mgf1_md(context, CCryptoBoringSSL_EVP_sha256()) == 1
        else { return false }
        let copy = label.withUnsafeBytes { CCryptoBoringSSL_OPENSSL_memdup($0.baseAddress, $0.count) }
        // The context owns the copy if this succeeds.
        guard
            CCryptoBoringSSL_EVP_PKEY_CTX_set0_rsa_oaep_label(
                context, copy?.assumingMemoryBound(to: UInt8.self), label.count) == 1
        else {
            CCryptoBoringSSL_OPENSSL_free(copy)
            return false
        }
        return true
    }
}
