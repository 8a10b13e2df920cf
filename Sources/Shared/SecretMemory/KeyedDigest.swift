// swift-crypto copies several objects on the heap for each short message. BoringSSL, which swift-crypto carries and links into
// every program that uses it, has the same functions without them (decision 0110).
@_implementationOnly import CCryptoBoringSSL
public import Crypto
public import Foundation
public import SecretBuffers

/// HMAC-SHA256 (RFC 2104) under one key, made ready once: taking the key costs more than a short message.
public final class KeyedDigest: @unchecked Sendable {
    // SAFETY: (@unchecked) what `keyed` points to is written by `init` and `deinit` alone. It is an HMAC_CTX that this object owns.
    private let keyed: UnsafeMutableRawPointer

    /// The size of a code in bytes.
    public static let byteCount = 32

    public init(key: SymmetricKey) {
        keyed = .allocate(byteCount: MemoryLayout<HMAC_CTX>.size, alignment: MemoryLayout<HMAC_CTX>.alignment)
        let context = keyed.bindMemory(to: HMAC_CTX.self, capacity: 1)
        CCryptoBoringSSL_HMAC_CTX_init(context)
        key.withUnsafeBytes { key in
            succeed(
                CCryptoBoringSSL_HMAC_Init_ex(
                    context, key.baseAddress, key.count, CCryptoBoringSSL_EVP_sha256(), nil))
        }
        wipeStack()
    }

    deinit {
        CCryptoBoringSSL_HMAC_CTX_cleanse(keyed.assumingMemoryBound(to: HMAC_CTX.self))
        keyed.deallocate()
    }

    /// The 32 bytes of the code over `message`. They are not wiped: for codes that are no secrets.
    public func code(over message: [UInt8]) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: Self.byteCount) { code, count in
            message.withUnsafeBytes { writeCode(over: [], $0, to: UnsafeMutableRawBufferPointer(code)) }
            count = Self.byteCount
        }
    }

    /// Writes the 32 bytes of the code over `head || message` to the start of `code`, and leaves no other copy of them.
    public func writeCode(
        over head: [UInt8], _ message: UnsafeRawBufferPointer, to code: UnsafeMutableRawBufferPointer
    ) {
        precondition(code.count >= Self.byteCount, "a code has 32 bytes")
        var context = HMAC_CTX()
        defer { CCryptoBoringSSL_HMAC_CTX_cleanse(&context) }
        succeed(CCryptoBoringSSL_HMAC_CTX_copy(&context, keyed.assumingMemoryBound(to: HMAC_CTX.self)))
        succeed(CCryptoBoringSSL_HMAC_Update(&context, head, head.count))
        succeed(CCryptoBoringSSL_HMAC_Update(&context, message.baseAddress, message.count))
        succeed(CCryptoBoringSSL_HMAC_Final(&context, code.baseAddress, nil))
    }

    /// Whether `code` is the code over `head || message`; takes the same time whichever byte differs.
    public func isValid(_ code: UnsafeRawBufferPointer, over head: [UInt8], _ message: UnsafeRawBufferPointer) -> Bool {
        var own = InlineArray<32, UInt8>(repeating: 0)
        return withUnsafeMutableBytes(of: &own) { own in
            writeCode(over: head, message, to: own)
            guard code.count == own.count else { return false }
            return CCryptoBoringSSL_CRYPTO_memcmp(code.baseAddress, own.baseAddress, own.count) == 0
        }
    }
}

extension SecretBytes {
    /// HKDF-SHA256 (RFC 5869) of this secret: a key for one use, named by `label`. Secrets are never used raw.
    public borrowing func derivedKey(label: String, salt: Data = Data(), byteCount: Int = 32) -> SymmetricKey {
        let pseudorandom = extracted(with: Array(salt))
        let label = Array(label.utf8)
        var key = SecretBytes(zeroed: byteCount)
        key.withUnsafeMutableBytes { key in
            pseudorandom.withUnsafeBytes { pseudorandom in
                succeed(
                    CCryptoBoringSSL_HKDF_expand(
                        key.baseAddress, key.count, CCryptoBoringSSL_EVP_sha256(), pseudorandom.baseAddress,
                        pseudorandom.count, label, label.count))
            }
        }
        wipeStack()
        return SymmetricKey(key)
    }

    private borrowing func extracted(with salt: [UInt8]) -> SecretBytes {
        var pseudorandom = SecretBytes(zeroed: KeyedDigest.byteCount)
        pseudorandom.withUnsafeMutableBytes { pseudorandom in
            var count = 0
            withUnsafeBytes { secret in
                succeed(
                    CCryptoBoringSSL_HKDF_extract(
                        pseudorandom.baseAddress, &count, CCryptoBoringSSL_EVP_sha256(), secret.baseAddress,
                        secret.count, salt, salt.count))
            }
        }
        return pseudorandom
    }
}

/// Overwrites the stack below the caller, where BoringSSL leaves a key that it padded or derived.
@inline(never) private func wipeStack() {
    // More than its functions and the closures around them take.
    var below = InlineArray<8192, UInt8>(repeating: 0)
    withUnsafeMutableBytes(of: &below) { explicit_bzero($0.baseAddress!, $0.count) }
}

/// These functions fail only when the library is out of memory, or when this file asks for what does not exist.
private func succeed(_ result: CInt) {
    precondition(result == 1, "BoringSSL computes HMAC-SHA256")
}
