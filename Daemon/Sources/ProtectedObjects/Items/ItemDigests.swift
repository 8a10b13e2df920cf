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
    /// Finds the items that are for certain programs alone.
    let termForPrograms: UInt64

    package init(_ keys: StoreKeys, storeID: VaultID, owner: VaultID) {
        let key = SymmetricKey(data: keys.digest(storeID.bytes + owner.bytes, label: "ostiary.items.search.v1"))
        keyed = KeyedDigest(key: key)
        // No program's name is empty.
        termForPrograms = Self.term(ofProgram: "", keyed)
    }

    private enum Use: UInt8 {
        case term = 1
        case uniqueness = 2
        case freeTerm = 3
        case programTerm = 4
    }

    /// The first eight bytes of the digest of class, attribute and value. A group's has no class, so that an item of unknown
    /// class can be seen to belong to it.
    func term(_ name: String, _ value: AttributeValue, of itemClass: ItemClass) -> UInt64 {
        guard !FreeAttribute.isKey(name) else { return freeTerm(name, value, of: itemClass) }
        var writer = CanonicalWriter(capacity: 64)
        writer.write(Use.term.rawValue)
        writer.write(name == Self.group ? 0 : itemClass.rawValue)
        write(name, value, itemClass.attributes[name] ?? .blob, to: &writer)
        return Self.term(writer, keyed)
    }

    /// The same of a free attribute, whose name has its length before it.
    private func freeTerm(_ key: String, _ value: AttributeValue, of itemClass: ItemClass) -> UInt64 {
        var writer = CanonicalWriter(capacity: 128)
        writer.write(Use.freeTerm.rawValue)
        writer.write(itemClass.rawValue)
        writer.write(key.utf8, length: UInt32.self)
        writer.write(value.comparedBytes, length: UInt32.self)
        return Self.term(writer, keyed)
    }

    /// Finds the items that are for this program among others.
    func term(ofProgram name: ExactName) -> UInt64 { Self.term(ofProgram: name, keyed) }

    private static func term(ofProgram name: ExactName, _ keyed: KeyedDigest) -> UInt64 {
        var writer = CanonicalWriter(capacity: 64)
        writer.write(Use.programTerm.rawValue)
        writer.write(name.utf8, length: UInt32.self)
        return term(writer, keyed)
    }

    private static func term(_ writer: CanonicalWriter, _ keyed: KeyedDigest) -> UInt64 {
        keyed.code(over: writer.bytes).prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
    }

    package func term(ofGroup group: ExactName) -> UInt64 { term(Self.group, .text(group.text), of: .genericPassword) }

    /// The term that finds the items which stand for this key.
    func term(ofKey key: VaultID) -> UInt64 { term(Self.key, .data(key.bytes), of: .key) }

    /// Finds the items that stand for a key.
    func query(ofKey id: VaultID) -> ItemQuery { ItemQuery(itemClass: .key, allOf: [term(ofKey: id)], anyOf: []) }

    private static let group = "agrp"
    /// No attribute's name, as those have four letters.
    private static let key = "key_id"

    /// - Parameter id: the item's own.
    package func index(
        of attributes: ItemAttributes, itemClass: ItemClass, id: VaultID, keyID: VaultID?
    ) -> ItemIndex {
        var terms = attributes.values.map { term($0, $1, of: itemClass) }
        if let keyID { terms.append(term(ofKey: keyID)) }
        if let programs = attributes.programs {
            terms.append(termForPrograms)
            terms += programs.names.map(term(ofProgram:))
        }
        return ItemIndex(uniqueness: uniqueness(of: attributes, itemClass, id), terms: terms)
    }

    private func uniqueness(of attributes: ItemAttributes, _ itemClass: ItemClass, _ id: VaultID) -> ItemDigest {
        var writer = CanonicalWriter(capacity: 256)
        writer.write(Use.uniqueness.rawValue)
        writer.write(itemClass.rawValue)
        if let names = itemClass.uniqueAttributes {
            for name in names {
                let kind = itemClass.attributes[name] ?? .blob
                write(name, attributes[name] ?? kind.absent, kind, to: &writer)
            }
        } else {
            writer.write(fixed: id.bytes)
        }
        guard let uniqueness = ItemDigest(prefixOf: keyed.code(over: writer.bytes)) else {
            preconditionFailure("a digest has 32 bytes")
        }
        return uniqueness
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
