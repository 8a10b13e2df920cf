@_implementationOnly import CCryptoBoringSSL
package import Foundation
package import SecretMemory

extension RSAKey {
    /// Makes a key pair of its numbers, big-endian each, as OpenSSH's key files hold them. Nil unless they belong together.
    ///
    /// The exponents for each prime, which PKCS #1 has besides, are computed here. That takes a time which depends on the numbers, once.
    ///
    /// - Parameters:
    ///   - first: the prime p.
    ///   - second: the prime q.
    ///   - coefficient: the inverse of q modulo p.
    package convenience init?(
        modulus: Data, publicExponent: Data, privateExponent: borrowing SecretBytes,
        primes first: borrowing SecretBytes, _ second: borrowing SecretBytes, coefficient: borrowing SecretBytes
    ) {
        defer { CCryptoBoringSSL_ERR_clear_error() }
        let n = Number(modulus)
        let e = Number(publicExponent)
        let d = Number(privateExponent)
        let p = Number(first)
        let q = Number(second)
        let inverse = Number(coefficient)
        guard let dp = d.remainder(ofPredecessor: p), let dq = d.remainder(ofPredecessor: q) else { return nil }
        self.init(
            owning: CCryptoBoringSSL_RSA_new_private_key(
                n.pointer, e.pointer, d.pointer, p.pointer, q.pointer, dp.pointer, dq.pointer, inverse.pointer),
            isPrivate: true)
    }

    /// Reads a PKCS #1 RSAPrivateKey (DER) that is consistent in itself; nil for anything else.
    package convenience init?(privateKey der: borrowing SecretBytes) {
        defer { CCryptoBoringSSL_ERR_clear_error() }
        self.init(
            owning: der.withUnsafeBytes { CCryptoBoringSSL_RSA_private_key_from_bytes($0.bytes, $0.count) },
            isPrivate: true)
    }

    /// A number of BoringSSL, wiped when it goes away.
    private final class Number {
        let pointer: UnsafeMutablePointer<BIGNUM>?

        init(_ pointer: UnsafeMutablePointer<BIGNUM>?) { self.pointer = pointer }

        convenience init(_ bytes: Data) {
            self.init(bytes.withUnsafeBytes { CCryptoBoringSSL_BN_bin2bn($0.bytes, $0.count, nil) })
        }

        convenience init(_ secret: borrowing SecretBytes) {
            self.init(secret.withUnsafeBytes { CCryptoBoringSSL_BN_bin2bn($0.bytes, $0.count, nil) })
        }

        deinit { CCryptoBoringSSL_BN_clear_free(pointer) }

        /// This number modulo `prime - 1`; nil for a prime below 2 and without memory.
        func remainder(ofPredecessor prime: Number) -> Number? {
            let predecessor = Number(CCryptoBoringSSL_BN_dup(prime.pointer))
            let remainder = Number(CCryptoBoringSSL_BN_new())
            let context = CCryptoBoringSSL_BN_CTX_new()
            defer { CCryptoBoringSSL_BN_CTX_free(context) }
            guard predecessor.pointer != nil, CCryptoBoringSSL_BN_sub_word(predecessor.pointer, 1) == 1,
                CCryptoBoringSSL_BN_is_zero(predecessor.pointer) == 0,
                CCryptoBoringSSL_BN_is_negative(predecessor.pointer) == 0,
                CCryptoBoringSSL_BN_div(nil, remainder.pointer, pointer, predecessor.pointer, context) == 1
            else { return nil }
            return remainder
        }
    }
}
