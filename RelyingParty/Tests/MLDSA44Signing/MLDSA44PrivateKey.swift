@_implementationOnly import CCryptoBoringSSL
package import Foundation

/// A private key of ML-DSA-44, which only tests need.
package struct MLDSA44PrivateKey: Sendable {
    private let seed: [UInt8]
    package let publicKey: Data

    package init() {
        var seed = [UInt8](repeating: 0, count: 32)
        var publicKey = [UInt8](repeating: 0, count: Int(MLDSA44_PUBLIC_KEY_BYTES))
        Self.withKey { _ = CCryptoBoringSSL_MLDSA44_generate_key(&publicKey, &seed, $0) }
        (self.seed, self.publicKey) = (seed, Data(publicKey))
    }

    package func signature(for message: [UInt8]) -> Data {
        var signature = [UInt8](repeating: 0, count: Int(MLDSA44_SIGNATURE_BYTES))
        Self.withKey { key in
            _ = CCryptoBoringSSL_MLDSA44_private_key_from_seed(key, seed, seed.count)
            _ = CCryptoBoringSSL_MLDSA44_sign(&signature, key, message, message.count, nil, 0)
        }
        return Data(signature)
    }

    private static func withKey(_ body: (UnsafeMutablePointer<MLDSA44_private_key>) -> Void) {
        let key = UnsafeMutablePointer<MLDSA44_private_key>.allocate(capacity: 1)
        key.initialize(to: MLDSA44_private_key())
        defer { key.deallocate() }
        body(key)
    }
}
