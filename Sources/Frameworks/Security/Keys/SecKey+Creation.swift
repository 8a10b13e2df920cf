public import Foundation
import KeyAlgorithms

/// Makes a key pair and returns its private half (Apple's `SecKeyCreateRandomKey`).
///
/// `parameters` name `kSecAttrKeyType` and `kSecAttrKeySizeInBits`, and `kSecAttrTokenID` for a key of the enclave; what is to
/// hold for one half stands under `kSecPrivateKeyAttrs` or `kSecPublicKeyAttrs`. A half with `kSecAttrIsPermanent` goes
/// into the keychain; of an enclave key the private half does so by default.
///
/// Nil, and in `error` `errSecParam` for a type or size that is not made here, or why the key could not be stored. Making an
/// enclave key speaks to the daemon; a large RSA key takes seconds.
@discardableResult
public func SecKeyCreateRandomKey(
    _ parameters: CFDictionary, _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> SecKey? {
    unsafe reportingErrors(to: error) { try KeyCreation(parameters).privateKey() }
}

/// Reads a key from the bytes of ``SecKeyCopyExternalRepresentation(_:_:)``; an RSA public key also from an X.509
/// SubjectPublicKeyInfo.
///
/// `attributes` name `kSecAttrKeyType` and `kSecAttrKeyClass`. Nil, and in `error` `errSecParam` for bytes that are no such key,
/// `errSecUnimplemented` for a symmetric key and for bytes that are to go into the enclave. With `kSecAttrTokenID` and
/// `kSecAttrTokenOID` it finds the key of that handle, and `keyData` is ignored.
@discardableResult
public func SecKeyCreateWithData(
    _ keyData: CFData, _ attributes: CFDictionary, _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> SecKey? {
    unsafe reportingErrors(to: error) {
        let parameters = try KeyParameters(attributes)
        guard let tokenID = parameters.tokenID else {
            let (type, keyClass) = (try parameters.keyType(), try parameters.keyClass())
            return SecKey(try SoftwareKeys.read(Data(copying: keyData), type, keyClass))
        }
        guard let objectID = parameters.tokenObjectID else {
            throw StatusError(errSecUnimplemented, "Keys are made in the enclave and cannot be brought into it.")
        }
        return try KeyServices.tokens().key(
            tokenID: tokenID, objectID: objectID, attributes: parameters.tokenAttributes())
    }
}

/// The parameters of a new pair, and what is done with it.
private struct KeyCreation {
    private let parameters: KeyParameters

    init(_ dictionary: CFDictionary) throws {
        parameters = try KeyParameters(dictionary)
    }

    func privateKey() throws -> SecKey {
        guard let tokenID = parameters.tokenID else { return try softwareKey() }
        return try tokenKey(tokenID)
    }

    private func softwareKey() throws -> SecKey {
        let publicAttributes = try parameters.attributes(under: kSecPublicKeyAttrs)
        let privateAttributes = try parameters.attributes(under: kSecPrivateKeyAttrs)
        let storesPublicKey = try KeyParameters.isPermanent(publicAttributes, default: false)
        let storesPrivateKey = try KeyParameters.isPermanent(privateAttributes, default: false)
        let (type, size) = (try parameters.keyType(), try parameters.sizeInBits())
        let storing = storesPublicKey || storesPrivateKey ? try KeyServices.storing() : nil
        let key = SecKey(try SoftwareKeys.generate(type, sizeInBits: size))
        if storesPublicKey { try storing?.store(SecKey(key.backing.publicKey()), attributes: publicAttributes) }
        if storesPrivateKey { try storing?.store(key, attributes: privateAttributes) }
        return key
    }

    private func tokenKey(_ tokenID: String) throws -> SecKey {
        let attributes = try parameters.tokenAttributes()
        let publicSection = try parameters.section(kSecPublicKeyAttrs)
        let storesPublicKey = try KeyParameters.isPermanent(publicSection, default: false)
        let isPermanent = try KeyParameters.isPermanent(attributes, default: true)
        let storing = storesPublicKey ? try KeyServices.storing() : nil
        let key = try KeyServices.tokens().create(
            tokenID: tokenID, attributes: attributes, isPermanent: isPermanent)
        if let storing {
            var publicAttributes = try parameters.attributes(under: kSecPublicKeyAttrs)
            publicAttributes[kSecAttrTokenID as String] = nil
            publicAttributes[kSecAttrAccessControl as String] = nil
            try storing.store(SecKey(key.backing.publicKey()), attributes: publicAttributes)
        }
        return key
    }
}
