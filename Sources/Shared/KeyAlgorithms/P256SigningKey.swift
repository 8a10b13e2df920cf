// A signature of swift-crypto goes through two big numbers and a list of bytes on its way from BoringSSL, which takes a twentieth of
// its instructions. BoringSSL, which swift-crypto carries and links into every program that uses it, writes the 64 bytes itself
// (decision 0110).
@_implementationOnly import CCryptoBoringSSL
public import Foundation
public import SecretMemory

/// A private key on P-256 that signs digests (ECDSA, FIPS 186-5).
///
/// The library wipes the key when it is freed. Signatures may be made on several threads at once.
@safe
public final class P256SigningKey: @unchecked Sendable {
    // SAFETY: (@unchecked) the key that this points to is written by `init` alone, and signing only reads it.
    private let key: OpaquePointer

    /// The size of a digest in bytes.
    public static let digestByteCount = 32
    private static let signatureByteCount = 64

    /// - Parameter scalar: 32 bytes, the most significant first.
    /// - Returns: nil if the curve has no such private key.
    public init?(scalar: borrowing SecretBytes) {
        guard let key = unsafe CCryptoBoringSSL_EC_KEY_new_by_curve_name(NID_X9_62_prime256v1) else { return nil }
        let isKey = unsafe scalar.withUnsafeBytes {
            unsafe CCryptoBoringSSL_EC_KEY_oct2priv(key, $0.bindMemory(to: UInt8.self).baseAddress, $0.count) == 1
        }
        guard isKey else {
            unsafe CCryptoBoringSSL_EC_KEY_free(key)
            return nil
        }
        unsafe self.key = key
    }

    deinit { unsafe CCryptoBoringSSL_EC_KEY_free(key) }

    /// The 64 bytes `r || s` of a signature of `digest`, which has 32 bytes; nil for a digest of another size, or if the library has no
    /// memory or randomness left.
    public func signature(forDigest digest: Data) -> Data? {
        guard digest.count == Self.digestByteCount else { return nil }
        var signature = Data(count: Self.signatureByteCount)
        var count = 0
        let isSigned = unsafe signature.withUnsafeMutableBytes { signature in
            unsafe digest.withUnsafeBytes { digest in
                unsafe CCryptoBoringSSL_ECDSA_sign_p1363(
                    digest.bindMemory(to: UInt8.self).baseAddress, digest.count,
                    signature.bindMemory(to: UInt8.self).baseAddress, &count, signature.count, key) == 1
            }
        }
        return isSigned && count == Self.signatureByteCount ? signature : nil
    }
}
