import Foundation
import Security

@c(SecKeyCreateRandomKey)
public func createRandomKey(_ parameters: Handle?, _ error: HandlePlace) -> Handle? {
    reporting(to: error) { error throws(UnusableArgument) in
        SecKeyCreateRandomKey(try parameters.dictionary.required(), error)
    }
}

@c(SecKeyCreateWithData)
public func createKey(_ keyData: Handle?, _ attributes: Handle?, _ error: HandlePlace) -> Handle? {
    reporting(to: error) { error throws(UnusableArgument) in
        SecKeyCreateWithData(
            try keyData.object(NSData.self).required(), try attributes.dictionary.required(), error)
    }
}

@c(SecKeyCopyPublicKey)
public func copyPublicKey(_ key: Handle?) -> Handle? {
    Handle(owning: key.object(SecKey.self).flatMap(SecKeyCopyPublicKey))
}

@c(SecKeyCopyExternalRepresentation)
public func copyExternalRepresentation(_ key: Handle?, _ error: HandlePlace) -> Handle? {
    reporting(to: error) { error throws(UnusableArgument) in
        SecKeyCopyExternalRepresentation(try key.object(SecKey.self).required(), error)
    }
}

@c(SecKeyCopyAttributes)
public func copyAttributes(_ key: Handle?) -> Handle? {
    Handle(owning: key.object(SecKey.self).flatMap(SecKeyCopyAttributes)?.forC)
}

@c(SecKeyGetBlockSize)
public func blockSize(_ key: Handle?) -> Int { key.object(SecKey.self).map(SecKeyGetBlockSize) ?? 0 }
