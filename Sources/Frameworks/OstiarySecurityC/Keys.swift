import Foundation
import Security

@c(SecKeyCreateRandomKey)
func createRandomKey(_ parameters: Handle?, _ error: ErrorPlace) -> Handle? {
    reporting(to: error) { error in parameters.dictionary.flatMap { SecKeyCreateRandomKey($0, error) } }
}

@c(SecKeyCreateWithData)
func createKey(_ keyData: Handle?, _ attributes: Handle?, _ error: ErrorPlace) -> Handle? {
    reporting(to: error) { error in
        guard let keyData = keyData.object(NSData.self), let attributes = attributes.dictionary else { return nil }
        return SecKeyCreateWithData(keyData, attributes, error)
    }
}

@c(SecKeyCopyPublicKey)
func copyPublicKey(_ key: Handle?) -> Handle? { Handle(owning: key.object(SecKey.self).flatMap(SecKeyCopyPublicKey)) }

@c(SecKeyCopyExternalRepresentation)
func copyExternalRepresentation(_ key: Handle?, _ error: ErrorPlace) -> Handle? {
    reporting(to: error) { error in
        key.object(SecKey.self).flatMap { SecKeyCopyExternalRepresentation($0, error) }
    }
}

@c(SecKeyCreateSignature)
func createSignature(_ key: Handle?, _ algorithm: Handle?, _ dataToSign: Handle?, _ error: ErrorPlace) -> Handle? {
    reporting(to: error) { error in
        guard let key = key.object(SecKey.self), let algorithm = algorithm.object(NSString.self),
            let data = dataToSign.object(NSData.self)
        else { return nil }
        return SecKeyCreateSignature(key, SecKeyAlgorithm(rawValue: algorithm), data, error)
    }
}

@c(SecKeyVerifySignature)
func verifySignature(
    _ key: Handle?, _ algorithm: Handle?, _ signedData: Handle?, _ signature: Handle?, _ error: ErrorPlace
) -> UInt8 {
    let verified = reporting(to: error) { error in
        guard let key = key.object(SecKey.self), let algorithm = algorithm.object(NSString.self),
            let data = signedData.object(NSData.self), let signature = signature.object(NSData.self),
            SecKeyVerifySignature(key, SecKeyAlgorithm(rawValue: algorithm), data, signature, error)
        else { return nil }
        return key
    }
    release(verified)
    return verified == nil ? 0 : 1
}
