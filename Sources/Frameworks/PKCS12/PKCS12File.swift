// swift-crypto carries BoringSSL and links it into every program that uses it. BoringSSL reads these files with their
// old and new ciphers; swift-crypto's own API has none of them. This module implements no cipher and no key
// derivation.
@_implementationOnly import CCryptoBoringSSL
package import Foundation
package import SecretMemory

/// The contents of a PKCS #12 file (RFC 7292): certificates, and at most one private key.
package struct PKCS12File: ~Copyable {
    package struct Certificate: Sendable {
        /// X.509, DER.
        package let der: Data
        /// The name that the file gives it.
        package let friendlyName: String?
    }

    /// In the order of the file.
    package let certificates: [Certificate]
    package let privateKey: PKCS12PrivateKey?

    /// The largest file that is read, in bytes. The copies that the reader makes of a file stay small; a chain of
    /// certificates has some ten thousand bytes.
    package static let maximumByteCount = 1 << 20

    /// Opens a file: checks its authentication code, and decrypts it.
    ///
    /// The file names its number of iterations, up to 100 million for each of its parts; the call takes that long.
    ///
    /// - Parameter passphrase: UTF-8 without zero bytes and without characters beyond U+FFFF, which the format cannot
    ///   express.
    package init(_ bytes: Data, passphrase: borrowing SecretBytes) throws(PKCS12Error) {
        guard bytes.count <= Self.maximumByteCount else { throw .tooLarge }
        let terminated = SecretBytes(joining: passphrase, SecretBytes(zeroed: 1))
        let opened = OpenedFile()
        CCryptoBoringSSL_ERR_clear_error()
        guard opened.read(bytes, terminated) else { throw PKCS12Error.last() }
        let certificates = try opened.certificates()
        privateKey = try opened.privateKey()
        self.certificates = certificates
    }
}

/// A private key of a file, in the form of Apple's external representation.
package struct PKCS12PrivateKey: ~Copyable {
    package enum Kind: Sendable {
        /// PKCS #1 RSAPrivateKey, DER.
        case rsa
        /// `04 ‖ X ‖ Y ‖ K`.
        case ellipticCurve
    }

    package let kind: Kind
    package let bytes: SecretBytes
}

/// Why a file was not opened.
package enum PKCS12Error: Error, Equatable, Sendable {
    /// The authentication code does not fit. A changed file cannot be told from a wrong passphrase.
    case wrongPassphrase
    /// The bytes are no such file.
    case damaged
    /// The file has no authentication code under a passphrase; or it has several private keys, or a cipher, a digest,
    /// a key or characters of a name that BoringSSL does not read.
    case unsupported
    /// The file has more bytes than ``PKCS12File/maximumByteCount``.
    case tooLarge

    /// The error that BoringSSL reported first. Those after it follow from it.
    fileprivate static func last() -> PKCS12Error {
        let error = CCryptoBoringSSL_ERR_get_error()
        CCryptoBoringSSL_ERR_clear_error()
        let reason = CCryptoBoringSSL_ERR_GET_REASON(error)
        switch Int(CCryptoBoringSSL_ERR_GET_LIB(error)) {
        case ERR_LIB_PKCS8: return ofFile(reason)
        case ERR_LIB_DIGEST: return reason == DIGEST_R_UNKNOWN_HASH ? .unsupported : .damaged
        case ERR_LIB_EVP: return reason == EVP_R_UNSUPPORTED_ALGORITHM ? .unsupported : .damaged
        case ERR_LIB_EC: return reason == EC_R_UNKNOWN_GROUP ? .unsupported : .damaged
        default: return .damaged
        }
    }

    private static func ofFile(_ reason: CInt) -> PKCS12Error {
        switch reason {
        case PKCS8_R_INCORRECT_PASSWORD: .wrongPassphrase
        case PKCS8_R_BAD_PKCS12_VERSION, PKCS8_R_INVALID_CHARACTERS, PKCS8_R_MISSING_MAC,
            PKCS8_R_MULTIPLE_PRIVATE_KEYS_IN_PKCS12,
            PKCS8_R_PKCS12_PUBLIC_KEY_INTEGRITY_NOT_SUPPORTED, PKCS8_R_UNKNOWN_ALGORITHM, PKCS8_R_UNKNOWN_CIPHER,
            PKCS8_R_UNKNOWN_CIPHER_ALGORITHM, PKCS8_R_UNKNOWN_DIGEST, PKCS8_R_UNKNOWN_HASH,
            PKCS8_R_UNSUPPORTED_CIPHER, PKCS8_R_UNSUPPORTED_KEY_DERIVATION_FUNCTION, PKCS8_R_UNSUPPORTED_KEYLENGTH,
            PKCS8_R_UNSUPPORTED_OPTIONS, PKCS8_R_UNSUPPORTED_PRF, PKCS8_R_UNSUPPORTED_PRIVATE_KEY_ALGORITHM,
            PKCS8_R_UNSUPPORTED_SALT_TYPE:
            .unsupported
        default: .damaged
        }
    }
}

/// BoringSSL's objects for a file. They are freed, and so wiped, with this object.
private final class OpenedFile {
    private var key: OpaquePointer?
    private let stack = CCryptoBoringSSL_sk_X509_new_null()

    deinit {
        CCryptoBoringSSL_EVP_PKEY_free(key)
        for index in 0..<CCryptoBoringSSL_sk_X509_num(stack) {
            CCryptoBoringSSL_X509_free(CCryptoBoringSSL_sk_X509_value(stack, index))
        }
        CCryptoBoringSSL_sk_X509_free(stack)
    }

    func read(_ bytes: Data, _ passphrase: borrowing SecretBytes) -> Bool {
        guard stack != nil else { return false }
        return bytes.withUnsafeBytes { file in
            passphrase.withUnsafeBytes { passphrase in
                var parser = CBS()
                CCryptoBoringSSL_CBS_init(&parser, file.bindMemory(to: UInt8.self).baseAddress, file.count)
                let text = passphrase.bindMemory(to: CChar.self).baseAddress
                // Bytes behind the file are a defect.
                return CCryptoBoringSSL_PKCS12_get_key_and_certs(&key, stack, &parser, text) == 1
                    && CCryptoBoringSSL_CBS_len(&parser) == 0
            }
        }
    }

    func certificates() throws(PKCS12Error) -> [PKCS12File.Certificate] {
        var certificates: [PKCS12File.Certificate] = []
        for index in 0..<CCryptoBoringSSL_sk_X509_num(stack) {
            let certificate = CCryptoBoringSSL_sk_X509_value(stack, index)
            var bytes: UnsafeMutablePointer<UInt8>?
            let count = CCryptoBoringSSL_i2d_X509(certificate, &bytes)
            guard count > 0, let bytes else { throw .damaged }
            defer { CCryptoBoringSSL_OPENSSL_free(bytes) }
            certificates.append(.init(der: Data(bytes: bytes, count: Int(count)), friendlyName: Self.name(certificate)))
        }
        return certificates
    }

    private static func name(_ certificate: OpaquePointer?) -> String? {
        var count: CInt = 0
        guard let text = CCryptoBoringSSL_X509_alias_get0(certificate, &count), count > 0 else { return nil }
        return String(validating: UnsafeBufferPointer(start: text, count: Int(count)), as: UTF8.self)
    }

    func privateKey() throws(PKCS12Error) -> PKCS12PrivateKey? {
        guard let key else { return nil }
        switch CCryptoBoringSSL_EVP_PKEY_id(key) {
        case EVP_PKEY_RSA: return PKCS12PrivateKey(kind: .rsa, bytes: try Self.rsa(key))
        case EVP_PKEY_EC: return PKCS12PrivateKey(kind: .ellipticCurve, bytes: try Self.ellipticCurve(key))
        default: throw .unsupported
        }
    }

    private static func rsa(_ key: OpaquePointer) throws(PKCS12Error) -> SecretBytes {
        var bytes: UnsafeMutablePointer<UInt8>?
        var count = 0
        guard CCryptoBoringSSL_RSA_private_key_to_bytes(&bytes, &count, CCryptoBoringSSL_EVP_PKEY_get0_RSA(key)) == 1,
            let bytes
        else { throw .damaged }
        // BoringSSL wipes what it frees.
        defer { CCryptoBoringSSL_OPENSSL_free(bytes) }
        return SecretBytes(copying: UnsafeRawBufferPointer(start: bytes, count: count))
    }

    private static func ellipticCurve(_ key: OpaquePointer) throws(PKCS12Error) -> SecretBytes {
        guard let pair = CCryptoBoringSSL_EVP_PKEY_get0_EC_KEY(key) else { throw .damaged }
        var (point, scalar): (UnsafeMutablePointer<UInt8>?, UnsafeMutablePointer<UInt8>?)
        let pointCount = CCryptoBoringSSL_EC_KEY_key2buf(pair, POINT_CONVERSION_UNCOMPRESSED, &point, nil)
        defer { CCryptoBoringSSL_OPENSSL_free(point) }
        let scalarCount = CCryptoBoringSSL_EC_KEY_priv2buf(pair, &scalar)
        defer { CCryptoBoringSSL_OPENSSL_free(scalar) }
        guard pointCount > 0, scalarCount > 0 else { throw .damaged }
        return SecretBytes(
            joining: SecretBytes(copying: UnsafeRawBufferPointer(start: point, count: pointCount)),
            SecretBytes(copying: UnsafeRawBufferPointer(start: scalar, count: scalarCount)))
    }
}
