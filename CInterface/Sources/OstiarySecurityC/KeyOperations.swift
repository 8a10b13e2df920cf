import Foundation
import Security

extension Handle? {
    /// The algorithm of that name, which may be one that nobody knows; nil for an object that is no text.
    fileprivate var algorithm: SecKeyAlgorithm? { object(NSString.self).map(SecKeyAlgorithm.init) }
}

@c(SecKeyIsAlgorithmSupported)
public func isAlgorithmSupported(_ key: Handle?, _ operation: Int, _ algorithm: Handle?) -> UInt8 {
    guard let key = key.object(SecKey.self), let operation = SecKeyOperationType(rawValue: operation),
        let algorithm = algorithm.algorithm
    else { return 0 }
    return SecKeyIsAlgorithmSupported(key, operation, algorithm) ? 1 : 0
}

@c(SecKeyCreateSignature)
public func createSignature(_ key: Handle?, _ algorithm: Handle?, _ dataToSign: Handle?, _ error: HandlePlace)
    -> Handle?
{
    performing(key, algorithm, dataToSign, error, SecKeyCreateSignature)
}

@c(SecKeyVerifySignature)
public func verifySignature(
    _ key: Handle?, _ algorithm: Handle?, _ signedData: Handle?, _ signature: Handle?, _ error: HandlePlace
) -> UInt8 {
    let verified = performing(key, algorithm, signedData, error) {
        key, algorithm, data, error throws(UnusableArgument) in
        let signature = try signature.object(NSData.self).required()
        return SecKeyVerifySignature(key, algorithm, data, signature, error) ? signature : nil
    }
    release(verified)
    return verified == nil ? 0 : 1
}

@c(SecKeyCreateEncryptedData)
public func createEncryptedData(_ key: Handle?, _ algorithm: Handle?, _ plaintext: Handle?, _ error: HandlePlace)
    -> Handle?
{
    performing(key, algorithm, plaintext, error, SecKeyCreateEncryptedData)
}

@c(SecKeyCreateDecryptedData)
public func createDecryptedData(_ key: Handle?, _ algorithm: Handle?, _ ciphertext: Handle?, _ error: HandlePlace)
    -> Handle?
{
    performing(key, algorithm, ciphertext, error, SecKeyCreateDecryptedData)
}

@c(SecKeyCopyKeyExchangeResult)
public func copyKeyExchangeResult(
    _ privateKey: Handle?, _ algorithm: Handle?, _ publicKey: Handle?, _ parameters: Handle?, _ error: HandlePlace
) -> Handle? {
    reporting(to: error) { error throws(UnusableArgument) in
        SecKeyCopyKeyExchangeResult(
            try privateKey.object(SecKey.self).required(), try algorithm.algorithm.required(),
            try publicKey.object(SecKey.self).required(), try parameters.dictionary.required(), error)
    }
}

/// Makes a call that does something to data with a key.
private func performing(
    _ key: Handle?, _ algorithm: Handle?, _ data: Handle?, _ error: HandlePlace,
    _ call: (
        SecKey, SecKeyAlgorithm, CFData, UnsafeMutablePointer<Unmanaged<CFError>?>?
    ) throws(UnusableArgument) -> CFData?
) -> Handle? {
    reporting(to: error) { error throws(UnusableArgument) in
        try call(
            try key.object(SecKey.self).required(), try algorithm.algorithm.required(),
            try data.object(NSData.self).required(), error)
    }
}
