import CertificateReading
import Foundation

/// An object that stands for an item in a query (`kSecValueRef`): a key, a certificate, or an identity of both.
protocol ItemObject: AnyObject {
    var itemClass: KeychainClass { get }

    /// The attributes by which its item is stored and found, without those about the uses of a key.
    func itemAttributes() throws(StatusError) -> [AttributeName: QueryValue]

    /// What a key can be used for. A new item gets them; they do not find one.
    func keyUses() -> [AttributeName: QueryValue]

    /// The data of the object's item; nil for a key of the enclave.
    func itemData() throws(StatusError) -> Data?

    /// The enclave key that its item stands for.
    var enclaveKey: EnclaveKeyBacking? { get }
}

extension ItemObject {
    func keyUses() -> [AttributeName: QueryValue] { [:] }
}

extension SecIdentity: ItemObject {
    var itemClass: KeychainClass { .identity }

    /// The attributes that name the certificate, and the key that belongs to it.
    func itemAttributes() throws(StatusError) -> [AttributeName: QueryValue] {
        var attributes = try certificate.itemAttributes()
        attributes[.applicationLabel] = .data(certificate.fields.publicKeyHash)
        attributes[.keyClass] = QueryValue(1)
        return attributes
    }

    /// Nothing is stored of an identity but its parts.
    func itemData() throws(StatusError) -> Data? { nil }

    var enclaveKey: EnclaveKeyBacking? { nil }
}

extension SecCertificate: ItemObject {
    var itemClass: KeychainClass { .certificate }

    func itemAttributes() throws(StatusError) -> [AttributeName: QueryValue] {
        var attributes: [AttributeName: QueryValue] = [
            .certificateType: QueryValue(1), .certificateEncoding: QueryValue(3),
            .subject: .data(fields.subjectDER), .issuer: .data(fields.issuer),
            .serialNumber: .data(fields.serialNumber), .publicKeyHash: .data(fields.publicKeyHash),
        ]
        if let id = fields.subjectKeyID { attributes[.subjectKeyID] = .data(id) }
        return attributes
    }

    func itemData() throws(StatusError) -> Data? { bytes }

    var enclaveKey: EnclaveKeyBacking? { nil }
}

extension SecKey: ItemObject {
    var itemClass: KeychainClass { .key }

    /// The key's attributes, without its uses and its place.
    func itemAttributes() throws(StatusError) -> [AttributeName: QueryValue] {
        backingAttributes { !Self.uses.contains($0) && !Self.ofObject.contains($0) }
    }

    func keyUses() -> [AttributeName: QueryValue] { backingAttributes(Self.uses.contains) }

    private func backingAttributes(_ isWanted: (AttributeName) -> Bool) -> [AttributeName: QueryValue] {
        let schema = ItemSchema.of(.key).attributes
        var attributes: [AttributeName: QueryValue] = [:]
        for (key, value) in backing.attributes {
            guard let name = AttributeName(rawValue: key), schema[name] != nil, isWanted(name) else { continue }
            attributes[name] = QueryValue(value)
        }
        return attributes
    }

    func itemData() throws(StatusError) -> Data? {
        guard enclaveKey == nil else { return nil }
        do { return try backing.externalRepresentation() } catch {
            throw .parameter("The key cannot be stored, because it cannot be exported.")
        }
    }

    var enclaveKey: EnclaveKeyBacking? { backing as? EnclaveKeyBacking }

    private static let uses: Set<AttributeName> = [
        .canEncrypt, .canDecrypt, .canDerive, .canSign, .canVerify, .canSignRecover, .canVerifyRecover, .canWrap,
        .canUnwrap,
    ]

    /// Attributes of the object and not of its item.
    private static let ofObject: Set<AttributeName> = [.isPermanent, .accessControl, .tokenObjectID]
}
