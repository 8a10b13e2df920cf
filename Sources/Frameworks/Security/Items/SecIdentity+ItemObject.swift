import Foundation

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
