// swift-crypto offers ML-DSA-65 and ML-DSA-87. BoringSSL, which it carries, has ML-DSA-44 too, the set that small
// authenticators use.
@_implementationOnly import CCryptoBoringSSL
package import Foundation

/// A public key of ML-DSA-44 (FIPS 204).
package struct MLDSA44PublicKey: Sendable {
    package static let byteCount = 1312
    package static let signatureByteCount = 2420

    package let rawRepresentation: Data

    /// Nil for bytes that are no key.
    package init?(rawRepresentation: Data) {
        self.rawRepresentation = rawRepresentation
        guard rawRepresentation.count == Self.byteCount, withKey({ _ in true }) else { return nil }
    }

    /// Returns whether `signature` is one over `message`, without a context.
    package func isValidSignature(_ signature: Data, for message: [UInt8]) -> Bool {
        guard signature.count == Self.signatureByteCount else { return false }
        defer { CCryptoBoringSSL_ERR_clear_error() }
        return withKey { key in
            signature.withUnsafeBytes { signature in
                CCryptoBoringSSL_MLDSA44_verify(
                    key, signature.bindMemory(to: UInt8.self).baseAddress, signature.count, message, message.count,
                    nil, 0) == 1
            }
        }
    }

    /// Returns false if the bytes are no key.
    private func withKey(_ body: (UnsafeMutablePointer<MLDSA44_public_key>) -> Bool) -> Bool {
        defer { CCryptoBoringSSL_ERR_clear_error() }
        let key = UnsafeMutablePointer<MLDSA44_public_key>.allocate(capacity: 1)
        key.initialize(to: MLDSA44_public_key())
        defer { key.deallocate() }
        return rawRepresentation.withUnsafeBytes { bytes in
            var reader = CBS(data: bytes.bindMemory(to: UInt8.self).baseAddress, len: bytes.count)
            return CCryptoBoringSSL_MLDSA44_parse_public_key(key, &reader) == 1 && body(key)
        }
    }
}
