@_implementationOnly import CCryptoBoringSSL
package import Foundation
package import KeyAlgorithms

extension RSAKey {
    /// Signs `input`: a digest of `hash`, or without a hash the bytes themselves. For PKCS #1 v1.5 these must be at
    /// least 11 bytes shorter than the modulus. Without padding they must be as long as the modulus and a smaller
    /// number. `pss` needs a hash.
    ///
    /// Throws ``KeyAlgorithmError/Parameter/digestLength`` for another length,
    /// ``KeyAlgorithmError/unsupportedAlgorithm`` when the modulus is too small for the padding.
    package func signature(
        of input: Data, padding: RSASignaturePadding, hash: HashAlgorithm?
    ) throws(KeyAlgorithmError) -> Data {
        try requireLength(of: input, padding: padding, hash: hash)
        var signature = Data(count: byteCount)
        let succeeded = signature.withUnsafeMutableBytes { output in
            input.withUnsafeBytes { input in
                sign(input.bytes, input.count, padding, hash, into: output.bytes, output.count)
            }
        }
        CCryptoBoringSSL_ERR_clear_error()
        guard succeeded else { throw hash == nil ? .invalidParameter(.digestLength) : .unsupportedAlgorithm }
        return signature
    }

    /// Returns if `signature` is one over `input`; the rules for `input` are those of
    /// ``signature(of:padding:hash:)``. Throws ``KeyAlgorithmError/signatureMismatch`` if it is not.
    package func verify(
        _ signature: Data, of input: Data, padding: RSASignaturePadding, hash: HashAlgorithm?
    ) throws(KeyAlgorithmError) {
        try requireLength(of: input, padding: padding, hash: hash)
        guard signature.count == byteCount else { throw .signatureMismatch }
        let fits = signature.withUnsafeBytes { signature in
            input.withUnsafeBytes { input in
                verify(signature.bytes, signature.count, input.bytes, input.count, padding, hash)
            }
        }
        CCryptoBoringSSL_ERR_clear_error()
        guard fits else { throw .signatureMismatch }
    }

    private func requireLength(
        of input: Data, padding: RSASignaturePadding, hash: HashAlgorithm?
    ) throws(KeyAlgorithmError) {
        let fits =
            switch (padding, hash) {
            case (.none, nil): input.count == byteCount
            case (.pkcs1v15, nil): input.count <= byteCount - 11
            case (.pkcs1v15, let hash?), (.pss, let hash?): input.count == hash.byteCount
            case (.none, _?), (.pss, nil): false
            }
        guard fits else { throw .invalidParameter(.digestLength) }
    }

    private func sign(
        _ input: UnsafePointer<UInt8>?, _ inputCount: Int, _ padding: RSASignaturePadding, _ hash: HashAlgorithm?,
        into output: UnsafeMutablePointer<UInt8>?, _ capacity: Int
    ) -> Bool {
        var count = 0
        switch (padding, hash) {
        case (.pss, let hash?):
            let result = CCryptoBoringSSL_RSA_sign_pss_mgf1(
                pointer, &count, output, capacity, input, inputCount, hash.function, hash.function, CInt(hash.byteCount)
            )
            return result == 1 && count == capacity
        case (_, let hash?):
            var count: CUnsignedInt = 0
            let result = CCryptoBoringSSL_RSA_sign(hash.number, input, inputCount, output, &count, pointer)
            return result == 1 && Int(count) == capacity
        case (_, nil):
            let result = CCryptoBoringSSL_RSA_sign_raw(
                pointer, &count, output, capacity, input, inputCount, padding.number)
            return result == 1 && count == capacity
        }
    }

    private func verify(
        _ signature: UnsafePointer<UInt8>?, _ signatureCount: Int, _ input: UnsafePointer<UInt8>?, _ inputCount: Int,
        _ padding: RSASignaturePadding, _ hash: HashAlgorithm?
    ) -> Bool {
        switch (padding, hash) {
        case (.pss, let hash?):
            return CCryptoBoringSSL_RSA_verify_pss_mgf1(
                pointer, input, inputCount, hash.function, hash.function, CInt(hash.byteCount), signature,
                signatureCount) == 1
        case (_, let hash?):
            return CCryptoBoringSSL_RSA_verify(hash.number, input, inputCount, signature, signatureCount, pointer) == 1
        case (_, nil):
            var recovered = Data(count: byteCount)
            var count = 0
            let result = recovered.withUnsafeMutableBytes { output in
                CCryptoBoringSSL_RSA_verify_raw(
                    pointer, &count, output.bytes, output.count, signature, signatureCount, padding.number)
            }
            return result == 1 && recovered.prefix(count) == Data(UnsafeBufferPointer(start: input, count: inputCount))
        }
    }
}

extension RSASignaturePadding {
    /// BoringSSL's number of the paddings without a hash.
    fileprivate var number: CInt { self == .none ? RSA_NO_PADDING : RSA_PKCS1_PADDING }
}

extension HashAlgorithm {
    /// BoringSSL's number.
    fileprivate var number: CInt {
        switch self {
        case .sha1: NID_sha1
        case .sha224: NID_sha224
        case .sha256: NID_sha256
        case .sha384: NID_sha384
        case .sha512: NID_sha512
        }
    }

    /// BoringSSL's function.
    var function: OpaquePointer? {
        switch self {
        case .sha1: CCryptoBoringSSL_EVP_sha1()
        case .sha224: CCryptoBoringSSL_EVP_sha224()
        case .sha256: CCryptoBoringSSL_EVP_sha256()
        case .sha384: CCryptoBoringSSL_EVP_sha384()
        case .sha512: CCryptoBoringSSL_EVP_sha512()
        }
    }
}

extension UnsafeRawBufferPointer {
    var bytes: UnsafePointer<UInt8>? { bindMemory(to: UInt8.self).baseAddress }
}

extension UnsafeMutableRawBufferPointer {
    var bytes: UnsafeMutablePointer<UInt8>? { bindMemory(to: UInt8.self).baseAddress }
}
