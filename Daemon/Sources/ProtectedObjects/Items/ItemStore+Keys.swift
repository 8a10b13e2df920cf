import Enclave
import ExactNames
package import Foundation
import OstiaryMessages
import Refusals
package import Vault

extension VaultReader {
    /// Whether an item of the owner stands for the key, readable or not.
    func hasItem(forKey id: VaultID, of owner: VaultID, _ digests: ItemDigests) throws -> Bool {
        var query = digests.query(ofKey: id)
        query.limit = 1
        return try !items(matching: query, owner: owner).isEmpty
    }
}

/// Enclave keys and the items that stand for them.
extension ItemStore {
    /// The enclave key that an item is to stand for: it must be the caller's, since deleting the item removes it.
    package func key(_ bytes: Data, groups: AccessGroups) throws -> ObjectRecord? {
        guard !bytes.isEmpty else { return nil }
        guard let id = VaultID(bytes: bytes), let key = try vault.read({ try $0.object(id, owner: owner) }),
            key.kind == .enclaveKey, groups.names.contains(key.attributes.group)
        else { throw Refusal(.notFound, "There is no such key.", cause: "key.not-found") }
        return key
    }

    /// Removes all items that stand for the key; returns which.
    package func removeItems(ofKey id: VaultID, in writer: VaultWriter) throws -> [ItemMatch] {
        let matches = try writer.items(matching: digests.query(ofKey: id), owner: owner)
        for match in matches { try writer.removeItem(match.id, owner: owner) }
        return matches
    }

    /// Items that are looked through for a key's label.
    private static let labelledCount = 16

    /// How programs call a key: the label of the first item that stands for it in the key's own access group, since only who
    /// may use the key is to name it. Nil where no such item has one, and where it cannot be read: it is for the person's
    /// ease, and keeps nobody from using the key.
    package func label(ofKey key: ObjectRecord) -> String? {
        var query = ItemQuery(
            itemClass: .key, allOf: [digests.term(ofKey: key.id)], anyOf: [digests.term(ofGroup: key.attributes.group)])
        // A program may have made any number of them.
        query.limit = Self.labelledCount
        do {
            let records = try vault.readItems { reader in
                try reader.items(matching: query, owner: owner).compactMap { try readable($0.id, in: reader) }
            }
            return try records.lazy.filter { $0.keyID == key.id }.compactMap { try opener($0).attributes().label }.first
        } catch { return nil }
    }
}
