import CanonicalEncoding
import Crypto
package import ExactNames
import Foundation
import SecretMemory
package import StoreKeys
package import Vault

/// Makes what items are found by: digests under a key that comes from the store's keys alone, so that the store shows nobody else
/// which accounts and services it holds. They need no class to be open: what is locked can be found and deleted.
package struct ItemDigests: Sendable {
    private let keyed: KeyedDigest

    package init(_ keys: StoreKeys, storeID: VaultID, owner: VaultID) {
        let key = SymmetricKey(data: keys.digest(storeID.bytes + owner.bytes, label: "ostiary.items.search.v1"))
        keyed = KeyedDigest(key: key)
    }

    private enum Use: UInt8 {
        case term = 1
        case uniqueness = 2
    }

    /// The first eight bytes of the digest of class, attribute and value. A group's has no class, so that an item of unknown
    /// class can be seen to belong to it.
    func term(_ name: String, _ value: AttributeValue, of itemClass: ItemClass) -> UInt64 {
        var writer = CanonicalWriter(capacity: 64)
        writer.write(Use.term.rawValue)
        writer.write(name == Self.group ? 0 : itemClass.rawValue)
        write(name, value, itemClass.attributes[name] ?? .blob, to: &writer)
        return keyed.code(over: writer.bytes).prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
    }

    package func term(ofGroup group: ExactName) -> UInt64 { term(Self.group, .text(group.text), of: .genericPassword) }

    /// The term that finds the items which stand for this key.
    func term(ofKey key: VaultID) -> UInt64 { term(Self.key, .data(key.bytes), of: .key) }

    /// Finds the items that stand for a key.
    func query(ofKey id: VaultID) -> ItemQuery { ItemQuery(itemClass: .key, allOf: [term(ofKey: id)], anyOf: []) }

    private static let group = "agrp"
    /// No attribute's name, as those have four letters.
    private static let key = "key_id"

    package func index(of attributes: ItemAttributes, itemClass: ItemClass, keyID: VaultID?) -> ItemIndex {
        var writer = CanonicalWriter(capacity: 256)
        writer.write(Use.uniqueness.rawValue)
        writer.write(itemClass.rawValue)
        for name in itemClass.uniqueAttributes {
            let kind = itemClass.attributes[name] ?? .blob
            write(name, attributes[name] ?? kind.absent, kind, to: &writer)
        }
        guard let uniqueness = ItemDigest(prefixOf: keyed.code(over: writer.bytes)) else {
            preconditionFailure("a digest has 32 bytes")
        }
        return ItemIndex(
            uniqueness: uniqueness,
            terms: attributes.values.map { term($0, $1, of: itemClass) } + (keyID.map { [term(ofKey: $0)] } ?? []))
    }

    private func write(_ name: String, _ value: AttributeValue, _ kind: AttributeKind, to writer: inout CanonicalWriter)
    {
        writer.write(fixed: name.utf8)
        // The number 80 and the text "80" are two ports, but the same blob.
        var isText = false
        if kind == .number, case .text = value { isText = true }
        writer.write(UInt8(isText ? 1 : 0))
        writer.write(value.comparedBytes, length: UInt32.self)
    }
}

extension AttributeKind {
    /// The value of a missing attribute in the comparison that tells items apart.
    fileprivate var absent: AttributeValue {
        switch self {
        case .blob, .data, .string: .data(Data())
        case .number: .number(0)
        case .date: .date(0)
        }
    }
}
