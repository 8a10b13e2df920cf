// The key calls that Apple deprecated with iOS 15 and macOS 12. Programs still use them.
public import Foundation
import KeyAlgorithms
import SecretMemory

/// Makes a key pair as ``SecKeyCreateRandomKey(_:_:)`` does, and returns both halves.
@discardableResult
public func SecKeyGeneratePair(
    _ parameters: CFDictionary, _ publicKey: UnsafeMutablePointer<SecKey?>?,
    _ privateKey: UnsafeMutablePointer<SecKey?>?
) -> OSStatus {
    var error: Unmanaged<CFError>?
    guard let key = unsafe SecKeyCreateRandomKey(parameters, &error) else {
        return unsafe error?.takeRetainedValue().status ?? errSecInternalComponent
    }
    if let publicKey = unsafe publicKey { unsafe publicKey.pointee = SecKeyCopyPublicKey(key) }
    if let privateKey = unsafe privateKey { unsafe privateKey.pointee = key }
    return errSecSuccess
}

/// Signs a digest. `sigLen` says how much room there is at `sig`, and afterwards how much was written;
/// `errSecBufferTooSmall` if it is not enough.
@discardableResult
public func SecKeyRawSign(
    _ key: SecKey, _ padding: SecPadding, _ dataToSign: UnsafePointer<UInt8>, _ dataToSignLen: Int,
    _ sig: UnsafeMutablePointer<UInt8>, _ sigLen: UnsafeMutablePointer<Int>
) -> OSStatus {
    unsafe writing(to: sig, sigLen) {
        let digest = try unsafe bytes(dataToSign, dataToSignLen)
        let algorithm = try key.signatureAlgorithm(padding, .sign, digestByteCount: dataToSignLen)
        return try key.signature(of: digest, algorithm: algorithm)
    }
}

/// Checks a signature over a digest; `errSecVerifyFailed` if it does not fit.
@discardableResult
public func SecKeyRawVerify(
    _ key: SecKey, _ padding: SecPadding, _ signedData: UnsafePointer<UInt8>, _ signedDataLen: Int,
    _ sig: UnsafePointer<UInt8>, _ sigLen: Int
) -> OSStatus {
    status {
        let digest = try unsafe bytes(signedData, signedDataLen)
        let algorithm = try key.signatureAlgorithm(padding, .verify, digestByteCount: signedDataLen)
        try key.verify(unsafe bytes(sig, sigLen), of: digest, algorithm: algorithm)
    }
}

/// Encrypts with an RSA public key. `cipherTextLen` says how much room there is, and afterwards how much was written.
@discardableResult
public func SecKeyEncrypt(
    _ key: SecKey, _ padding: SecPadding, _ plainText: UnsafePointer<UInt8>, _ plainTextLen: Int,
    _ cipherText: UnsafeMutablePointer<UInt8>, _ cipherTextLen: UnsafeMutablePointer<Int>
) -> OSStatus {
    unsafe writing(to: cipherText, cipherTextLen) {
        let plaintext = try unsafe bytes(plainText, plainTextLen)
        return try key.encrypt(plaintext, algorithm: key.encryptionAlgorithm(padding))
    }
}

/// Decrypts with an RSA private key. `plainTextLen` says how much room there is, and afterwards how much was written.
@discardableResult
public func SecKeyDecrypt(
    _ key: SecKey, _ padding: SecPadding, _ cipherText: UnsafePointer<UInt8>, _ cipherTextLen: Int,
    _ plainText: UnsafeMutablePointer<UInt8>, _ plainTextLen: UnsafeMutablePointer<Int>
) -> OSStatus {
    unsafe writing(to: plainText, plainTextLen) {
        let ciphertext = try unsafe bytes(cipherText, cipherTextLen)
        return Data(exposing: try key.decrypt(ciphertext, algorithm: key.encryptionAlgorithm(padding)))
    }
}

// MARK: - Steps

extension SecKey {
    /// The first algorithm that the padding may mean and that the key supports.
    fileprivate func signatureAlgorithm(
        _ padding: SecPadding, _ operation: KeyOperation, digestByteCount: Int
    ) throws(KeyAlgorithmError) -> KeyAlgorithm {
        let algorithms = padding.signatureAlgorithms(for: backing.keyType, digestByteCount: digestByteCount)
        let known = algorithms.compactMap(KeyAlgorithm.init(kind:))
        guard let algorithm = known.first(where: { performs(operation, $0) }) else { throw .unsupportedAlgorithm }
        return algorithm
    }

    fileprivate func encryptionAlgorithm(_ padding: SecPadding) throws(KeyAlgorithmError) -> KeyAlgorithm {
        guard let algorithm = padding.encryptionAlgorithm(for: backing.keyType).flatMap(KeyAlgorithm.init(kind:)) else {
            throw .unsupportedAlgorithm
        }
        return algorithm
    }
}

private func status(_ work: () throws -> Void) -> OSStatus {
    do {
        try work()
        return errSecSuccess
    } catch {
        return NSError.reporting(error).status
    }
}

/// The bytes of a caller's buffer. Throws `errSecParam` for a negative length; a C length that is too large becomes
/// negative too.
private func bytes(_ start: UnsafePointer<UInt8>, _ count: Int) throws(StatusError) -> Data {
    guard count >= 0 else { throw .parameter("The length of a buffer is negative.") }
    return unsafe Data(bytes: start, count: count)
}

/// Writes the result of `work` to a caller's buffer.
private func writing(
    to target: UnsafeMutablePointer<UInt8>, _ count: UnsafeMutablePointer<Int>, _ work: () throws -> Data
) -> OSStatus {
    status {
        var result = try work()
        defer { result.wipe() }
        guard unsafe result.count <= count.pointee else {
            throw StatusError(errSecBufferTooSmall, "The buffer is too small for the result.")
        }
        unsafe result.copyBytes(to: target, count: result.count)
        unsafe count.pointee = result.count
    }
}
