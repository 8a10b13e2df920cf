public import Foundation
import KeyAlgorithms

/// Makes a key pair and returns its private half (Apple's `SecKeyCreateRandomKey`).
///
/// `parameters` name `kSecAttrKeyType` and `kSecAttrKeySizeInBits`, and `kSecAttrTokenID` for a key of the enclave;
/// attributes of one half stand under `kSecPrivateKeyAttrs` or `kSecPublicKeyAttrs`. A half with `kSecAttrIsPermanent`
/// goes into the keychain; the private half of an enclave key does so by default. If a permanent half cannot be stored,
/// no half is stored, and no key is made.
///
/// On failure returns nil and sets `error`: `errSecParam` for a type or size that is not made here, or the reason why
/// the key could not be stored. Making an enclave key calls the daemon; a large RSA key takes seconds.
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

/// The parameters of a new pair, and the steps that make it.
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
        let (type, size) = (try parameters.keyType(), try parameters.sizeInBits())
        let publicStore = try store(ofPermanent: publicAttributes)
        let privateStore = try store(ofPermanent: privateAttributes)
        let key = SecKey(try SoftwareKeys.generate(type, sizeInBits: size))
        let publicItem = try publicStore?.store(SecKey(key.backing.publicKey()), attributes: publicAttributes)
        do { _ = try privateStore?.store(key, attributes: privateAttributes) } catch {
            takeBack(publicItem, from: publicStore)
            throw error
        }
        return key
    }

    private func tokenKey(_ tokenID: String) throws -> SecKey {
        let attributes = try parameters.tokenAttributes()
        let isPermanent = try KeyParameters.isPermanent(attributes, default: true)
        let (publicStore, publicAttributes) = try publicHalfOfTokenKey()
        var publicItem: Data?
        do {
            return try KeyServices.tokens().create(
                tokenID: tokenID, attributes: attributes, isPermanent: isPermanent
            ) { key in
                publicItem = try publicStore?.store(SecKey(key.backing.publicKey()), attributes: publicAttributes)
            }
        } catch {
            takeBack(publicItem, from: publicStore)
            throw error
        }
    }

    /// The public half of a key of a token is an ordinary item. It is not permanent because the private one is.
    private func publicHalfOfTokenKey() throws -> ((any KeyStoring)?, [String: Any]) {
        let section = try parameters.section(kSecPublicKeyAttrs)
        guard try KeyParameters.isPermanent(section, default: false) else { return (nil, [:]) }
        var attributes = try parameters.attributes(under: kSecPublicKeyAttrs)
        attributes[kSecAttrTokenID as String] = nil
        attributes[kSecAttrAccessControl as String] = nil
        return (try store(ofPermanent: attributes), attributes)
    }

    /// Where a half with these attributes goes, nil if it is not permanent; refuses attributes that no item can have.
    private func store(ofPermanent attributes: [String: Any]) throws -> (any KeyStoring)? {
        guard try KeyParameters.isPermanent(attributes, default: false) else { return nil }
        let storing = try KeyServices.storing()
        try storing.check(attributes)
        return storing
    }

    private func takeBack(_ item: Data?, from storing: (any KeyStoring)?) {
        guard let item else { return }
        // The caller gets the error of the other half.
        try? storing?.remove(item)
    }
}
