@_implementationOnly import CCryptoBoringSSL
package import Foundation

/// Certificates as BoringSSL's objects. They never change, so several threads may use them.
// SAFETY: the stack is filled by the initialisers alone, and the certificates in it count their owners atomically.
package final class Certificates: @unchecked Sendable {
    let stack = CCryptoBoringSSL_sk_X509_new_null()

    deinit {
        for index in 0..<CCryptoBoringSSL_sk_X509_num(stack) {
            CCryptoBoringSSL_X509_free(CCryptoBoringSSL_sk_X509_value(stack, index))
        }
        CCryptoBoringSSL_sk_X509_free(stack)
    }

    /// Reads certificates in DER; nil if one of them is none, or has bytes behind it.
    package init?(der certificates: [Data]) {
        guard stack != nil else { return nil }
        for bytes in certificates {
            guard let certificate = Self.read(bytes) else { return nil }
            guard push(certificate) else { return nil }
        }
    }

    /// Reads the certificates of a bundle in PEM, such as `/etc/ssl/certs/ca-certificates.crt`. Nil if a certificate in it
    /// cannot be read: a bundle that is used in part would hide that it is damaged.
    package init?(pem bundle: Data) {
        guard stack != nil else { return nil }
        let isRead = bundle.withUnsafeBytes { bytes -> Bool in
            guard let source = CCryptoBoringSSL_BIO_new_mem_buf(bytes.baseAddress, bytes.count) else { return false }
            defer { CCryptoBoringSSL_BIO_free(source) }
            CCryptoBoringSSL_ERR_clear_error()
            while let certificate = CCryptoBoringSSL_PEM_read_bio_X509(source, nil, nil, nil) {
                guard push(certificate) else { return false }
            }
            // The end of the bundle is reported as one more certificate that does not begin.
            let error = CCryptoBoringSSL_ERR_peek_last_error()
            CCryptoBoringSSL_ERR_clear_error()
            return Int(CCryptoBoringSSL_ERR_GET_LIB(error)) == ERR_LIB_PEM
                && CCryptoBoringSSL_ERR_GET_REASON(error) == PEM_R_NO_START_LINE
        }
        guard isRead else { return nil }
    }

    package var count: Int { CCryptoBoringSSL_sk_X509_num(stack) }

    /// The certificates, DER.
    package var der: [Data] { map(Self.bytes) }

    private func push(_ certificate: OpaquePointer) -> Bool {
        guard CCryptoBoringSSL_sk_X509_push(stack, certificate) > 0 else {
            CCryptoBoringSSL_X509_free(certificate)
            return false
        }
        return true
    }

    private static func read(_ bytes: Data) -> OpaquePointer? {
        bytes.withUnsafeBytes { buffer in
            guard let start = buffer.bindMemory(to: UInt8.self).baseAddress else { return nil }
            var place: UnsafePointer<UInt8>? = start
            guard let certificate = CCryptoBoringSSL_d2i_X509(nil, &place, buffer.count) else { return nil }
            guard place == start + buffer.count else {
                CCryptoBoringSSL_X509_free(certificate)
                return nil
            }
            return certificate
        }
    }

    static func bytes(of certificate: OpaquePointer) -> Data {
        var bytes: UnsafeMutablePointer<UInt8>?
        let count = CCryptoBoringSSL_i2d_X509(certificate, &bytes)
        guard count > 0, let bytes else { return Data() }
        defer { CCryptoBoringSSL_OPENSSL_free(bytes) }
        return Data(bytes: bytes, count: Int(count))
    }
}

extension Certificates: Sequence {
    package func makeIterator() -> AnyIterator<OpaquePointer> {
        var index = 0
        return AnyIterator { [self] in
            guard index < count else { return nil }
            defer { index += 1 }
            return CCryptoBoringSSL_sk_X509_value(stack, index)
        }
    }
}
