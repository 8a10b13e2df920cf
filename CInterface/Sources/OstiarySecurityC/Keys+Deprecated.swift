import Foundation
public import Security

@c(SecKeyGeneratePair)
public func generatePair(_ parameters: Handle?, _ publicKey: HandlePlace, _ privateKey: HandlePlace) -> OSStatus {
    publicKey?.pointee = nil
    privateKey?.pointee = nil
    guard let parameters = parameters.dictionary else { return errSecParam }
    var (publicHalf, privateHalf): (SecKey?, SecKey?)
    let status = SecKeyGeneratePair(parameters, &publicHalf, &privateHalf)
    publicKey?.pointee = Handle(owning: publicHalf)
    privateKey?.pointee = Handle(owning: privateHalf)
    return status
}

@c(SecKeyRawSign)
public func signDigest(
    _ key: Handle?, _ padding: UInt32, _ dataToSign: UnsafePointer<UInt8>?, _ dataToSignLen: Int,
    _ sig: UnsafeMutablePointer<UInt8>?, _ sigLen: UnsafeMutablePointer<Int>?
) -> OSStatus {
    writing(key, dataToSign, to: sig, sigLen) {
        SecKeyRawSign($0, SecPadding(rawValue: padding), $1, dataToSignLen, $2, $3)
    }
}

@c(SecKeyRawVerify)
public func verifyDigest(
    _ key: Handle?, _ padding: UInt32, _ signedData: UnsafePointer<UInt8>?, _ signedDataLen: Int,
    _ sig: UnsafePointer<UInt8>?, _ sigLen: Int
) -> OSStatus {
    guard let key = key.object(SecKey.self), let signedData, let sig else { return errSecParam }
    return SecKeyRawVerify(key, SecPadding(rawValue: padding), signedData, signedDataLen, sig, sigLen)
}

@c(SecKeyEncrypt)
public func encryptBytes(
    _ key: Handle?, _ padding: UInt32, _ plainText: UnsafePointer<UInt8>?, _ plainTextLen: Int,
    _ cipherText: UnsafeMutablePointer<UInt8>?, _ cipherTextLen: UnsafeMutablePointer<Int>?
) -> OSStatus {
    writing(key, plainText, to: cipherText, cipherTextLen) {
        SecKeyEncrypt($0, SecPadding(rawValue: padding), $1, plainTextLen, $2, $3)
    }
}

@c(SecKeyDecrypt)
public func decryptBytes(
    _ key: Handle?, _ padding: UInt32, _ cipherText: UnsafePointer<UInt8>?, _ cipherTextLen: Int,
    _ plainText: UnsafeMutablePointer<UInt8>?, _ plainTextLen: UnsafeMutablePointer<Int>?
) -> OSStatus {
    writing(key, cipherText, to: plainText, plainTextLen) {
        SecKeyDecrypt($0, SecPadding(rawValue: padding), $1, cipherTextLen, $2, $3)
    }
}

/// Makes a call that writes to a buffer of the caller; `errSecParam` if it lacks something.
private func writing(
    _ key: Handle?, _ input: UnsafePointer<UInt8>?, to output: UnsafeMutablePointer<UInt8>?,
    _ outputLen: UnsafeMutablePointer<Int>?,
    _ call: (SecKey, UnsafePointer<UInt8>, UnsafeMutablePointer<UInt8>, UnsafeMutablePointer<Int>) -> OSStatus
) -> OSStatus {
    guard let key = key.object(SecKey.self), let input, let output, let outputLen else { return errSecParam }
    return call(key, input, output, outputLen)
}
