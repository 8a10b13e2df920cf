// swift-crypto's RSA leaves out what Apple's algorithm names include: SHA-224, OAEP beyond SHA-256, DigestInfo and plain
// numbers. BoringSSL, which swift-crypto carries and links into every program that uses it, has them (decision 0110).
@_implementationOnly import CCryptoBoringSSL
package import Foundation
package import SecretMemory

/// An RSA key, or its public half, that this process holds. The key material is wiped when the key goes away.
package final class RSAKey: @unchecked Sendable {
    // SAFETY: (@unchecked) the key is never changed after `init`, and BoringSSL locks its inner caches.
    let pointer: OpaquePointer

    /// Whether the private half is here too.
    package let isPrivate: Bool

    /// The sizes that are made and read. Keys below 1024 bits can be broken, and BoringSSL takes at most 8192.
    package static let bitCounts = 1024...8192

    init?(owning pointer: OpaquePointer?, isPrivate: Bool) {
        guard let pointer else { return nil }
        self.pointer = pointer
        self.isPrivate = isPrivate
        // The object owns the pointer from here on and frees it if the size is refused.
        guard Self.bitCounts.contains(bitCount) else { return nil }
    }

    deinit {
        CCryptoBoringSSL_RSA_free(pointer)
    }

    /// Makes a key pair with the public exponent 65537; takes up to seconds for large sizes. Nil for a size outside of
    /// ``bitCounts`` and for one that is no multiple of 128, which BoringSSL would round down.
    package convenience init?(generating bitCount: Int) {
        guard Self.bitCounts.contains(bitCount), bitCount.isMultiple(of: 128) else { return nil }
        guard let key = CCryptoBoringSSL_RSA_new() else { return nil }
        let exponent = CCryptoBoringSSL_BN_new()
        defer { CCryptoBoringSSL_BN_free(exponent) }
        guard
            CCryptoBoringSSL_BN_set_word(exponent, 65537) == 1,
            CCryptoBoringSSL_RSA_generate_key_ex(key, CInt(bitCount), exponent, nil) == 1
        else {
            CCryptoBoringSSL_RSA_free(key)
            return nil
        }
        self.init(owning: key, isPrivate: true)
    }

    /// Reads a PKCS #1 RSAPrivateKey (DER) that is consistent in itself; nil for anything else.
    package convenience init?(privateKey der: Data) {
        let key = der.withUnsafeBytes {
            CCryptoBoringSSL_RSA_private_key_from_bytes($0.bindMemory(to: UInt8.self).baseAddress, $0.count)
        }
        self.init(owning: key, isPrivate: true)
    }

    /// Reads a PKCS #1 RSAPublicKey or an X.509 SubjectPublicKeyInfo (DER); nil for anything else.
    package convenience init?(publicKey der: Data) {
        let key = der.withUnsafeBytes { bytes in
            let start = bytes.bindMemory(to: UInt8.self).baseAddress
            return CCryptoBoringSSL_RSA_public_key_from_bytes(start, bytes.count)
                ?? Self.subjectPublicKey(start, bytes.count)
        }
        self.init(owning: key, isPrivate: false)
    }

    private static func subjectPublicKey(_ start: UnsafePointer<UInt8>?, _ count: Int) -> OpaquePointer? {
        var parser = CBS()
        CCryptoBoringSSL_CBS_init(&parser, start, count)
        guard let key = CCryptoBoringSSL_EVP_parse_public_key(&parser) else { return nil }
        defer { CCryptoBoringSSL_EVP_PKEY_free(key) }
        guard CCryptoBoringSSL_CBS_len(&parser) == 0 else { return nil }
        return CCryptoBoringSSL_EVP_PKEY_get1_RSA(key)
    }

    /// Size of the modulus.
    package var bitCount: Int { Int(CCryptoBoringSSL_RSA_bits(pointer)) }

    /// Length of the modulus, a signature and a ciphertext.
    package var byteCount: Int { Int(CCryptoBoringSSL_RSA_size(pointer)) }

    /// The public half as PKCS #1 RSAPublicKey (DER).
    package var publicKeyDER: Data {
        marshalled(CCryptoBoringSSL_RSA_public_key_to_bytes) { Data($0) }
    }

    /// The pair as PKCS #1 RSAPrivateKey (DER); only of a private key.
    package var privateKeyDER: SecretBytes {
        precondition(isPrivate, "a public key has no private half to write")
        let box = marshalled(CCryptoBoringSSL_RSA_private_key_to_bytes) { SecretBox(SecretBytes(copying: $0)) }
        return box.take()
    }

    /// The public half as a key of its own.
    package var publicKey: RSAKey {
        guard let key = RSAKey(publicKey: publicKeyDER) else { preconditionFailure("a key's public half can be read") }
        return key
    }

    private func marshalled<Result>(
        _ marshal: (UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>?, UnsafeMutablePointer<Int>?, OpaquePointer?) ->
            CInt,
        _ body: (UnsafeRawBufferPointer) -> Result
    ) -> Result {
        var bytes: UnsafeMutablePointer<UInt8>?
        var count = 0
        guard marshal(&bytes, &count, pointer) == 1, let bytes else {
            preconditionFailure("writing a valid key fails only without memory")
        }
        // BoringSSL wipes memory that it frees.
        defer { CCryptoBoringSSL_OPENSSL_free(bytes) }
        return body(UnsafeRawBufferPointer(start: bytes, count: count))
    }
}

/// Carries a secret out of a closure whose result must be copyable.
private final class SecretBox {
    private var secret: SecretBytes?

    init(_ secret: consuming SecretBytes) { self.secret = consume secret }

    func take() -> SecretBytes { secret.take()! }
}
