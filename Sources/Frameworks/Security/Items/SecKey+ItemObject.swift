import Foundation

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

    /// What is said of the object and not of its item.
    private static let ofObject: Set<AttributeName> = [.isPermanent, .accessControl, .tokenObjectID]
}
