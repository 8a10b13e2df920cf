import Foundation

extension SecKey: ItemObject {
    var itemClass: KeychainClass { .key }

    /// The key's attributes, without its uses and its place.
    func itemAttributes() throws(StatusError) -> [AttributeName: QueryValue] {
        let schema = ItemSchema.of(.key).attributes
        var attributes: [AttributeName: QueryValue] = [:]
        for (key, value) in backing.attributes {
            guard let name = AttributeName(rawValue: key), schema[name] != nil, !Self.uses.contains(name) else {
                continue
            }
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
        .isPermanent, .accessControl, .tokenObjectID,
    ]
}
