@_implementationOnly import CCryptoBoringSSL
public import SecretMemory

/// The key of a session of the algorithm `dh-ietf1024-sha256-aes128-cbc-pkcs7`: AES-128 in the mode CBC with the padding of PKCS #7.
///
/// Nothing authenticates what is encrypted; the bus says who sent a message.
public final class SessionKey: Sendable {
    /// The size of a block, and of the vector in front of the first one.
    public static let blockByteCount = 16

    private let key: SecretBytes

    /// HKDF-SHA256 (RFC 5869) of an exchanged secret, with an empty salt and an empty info.
    public init(sharedSecret: borrowing SecretBytes) {
        key = SecretBytes(sharedSecret.derivedKey(label: "", byteCount: 16))
    }

    /// Encrypts under a vector of its own.
    public func encrypt(_ secret: borrowing SecretBytes) -> (vector: [UInt8], value: [UInt8]) {
        var vector = [UInt8](repeating: 0, count: Self.blockByteCount)
        let isFilled = vector.withUnsafeMutableBytes { SystemRandom.fill($0) }
        precondition(isFilled, "the kernel gave no randomness")
        let value = [UInt8](unsafeUninitializedCapacity: secret.count + Self.blockByteCount) { output, count in
            count = secret.withUnsafeBytes { encrypt($0, vector, to: output) }
        }
        return (vector, value)
    }

    /// Nil for what does not end with a padding, and for a vector or a value of another size than the cipher's.
    public func decrypt(_ value: borrowing SecretBytes, vector: [UInt8]) -> SecretBytes? {
        let blocks = value.count / Self.blockByteCount
        guard vector.count == Self.blockByteCount, blocks > 0, value.count == blocks * Self.blockByteCount else {
            return nil
        }
        // It may write a block more than it keeps.
        var secret = SecretBytes(zeroed: value.count + Self.blockByteCount)
        let count = secret.withUnsafeMutableBytes { output in
            value.withUnsafeBytes { decrypt($0, vector, to: output) }
        }
        guard let count else { return nil }
        return secret.prefix(count)
    }

    private func encrypt(
        _ input: UnsafeRawBufferPointer, _ vector: [UInt8], to output: UnsafeMutableBufferPointer<UInt8>
    ) -> Int {
        let context = CCryptoBoringSSL_EVP_CIPHER_CTX_new()
        defer { CCryptoBoringSSL_EVP_CIPHER_CTX_free(context) }
        key.withUnsafeBytes { key in
            succeed(
                CCryptoBoringSSL_EVP_EncryptInit_ex(
                    context, CCryptoBoringSSL_EVP_aes_128_cbc(), nil, key.bindMemory(to: UInt8.self).baseAddress,
                    vector))
        }
        var (count, rest): (CInt, CInt) = (0, 0)
        succeed(
            CCryptoBoringSSL_EVP_EncryptUpdate(
                context, output.baseAddress, &count, input.bindMemory(to: UInt8.self).baseAddress, CInt(input.count)))
        succeed(CCryptoBoringSSL_EVP_EncryptFinal_ex(context, output.baseAddress! + Int(count), &rest))
        return Int(count + rest)
    }

    private func decrypt(
        _ input: UnsafeRawBufferPointer, _ vector: [UInt8], to output: UnsafeMutableRawBufferPointer
    ) -> Int? {
        defer { CCryptoBoringSSL_ERR_clear_error() }
        let context = CCryptoBoringSSL_EVP_CIPHER_CTX_new()
        defer { CCryptoBoringSSL_EVP_CIPHER_CTX_free(context) }
        key.withUnsafeBytes { key in
            succeed(
                CCryptoBoringSSL_EVP_DecryptInit_ex(
                    context, CCryptoBoringSSL_EVP_aes_128_cbc(), nil, key.bindMemory(to: UInt8.self).baseAddress,
                    vector))
        }
        let start = output.bindMemory(to: UInt8.self).baseAddress!
        var (count, rest): (CInt, CInt) = (0, 0)
        succeed(
            CCryptoBoringSSL_EVP_DecryptUpdate(
                context, start, &count, input.bindMemory(to: UInt8.self).baseAddress, CInt(input.count)))
        guard CCryptoBoringSSL_EVP_DecryptFinal_ex(context, start + Int(count), &rest) == 1 else { return nil }
        return Int(count + rest)
    }
}
