import AccessControl
import Auditing
import ExactNames
import Foundation
import OstiaryMessages
import OwnerKeys
import Refusals
package import Vault

/// Deleting items, and with them the enclave keys that they stand for.
extension ItemStore {
    package struct Deletion {
        package let count: Int
        /// What the log calls the items.
        package let name: String
        package let items: [VaultID]
        /// The keys that were destroyed.
        package let keys: [VaultID]
    }

    /// An item that is to be deleted stands for a key, and no key may be destroyed at this moment. Nothing was deleted.
    package struct KeysGoAlong: Error {}

    /// A proof comes before the deletion of one of the items, and it was not given. Nothing was deleted.
    package struct ProofNeeded: Error {}

    /// Deletes every item of all selections in one step, locked and unreadable ones too; nothing when one of the selections
    /// is empty. With the last item that stands for a key goes the key, if it belongs to `groups`: a program that sees an
    /// item of another's key deletes the item alone. Works on a full disk.
    ///
    /// - Parameters:
    ///   - client: the client that a door deletes for; nil for a program that deletes for itself. Items that are for other programs than the
    ///     client stay.
    ///   - proved: the items that were proved before.
    ///   - mayDestroyKeys: whether nothing else that concerns keys goes on.
    /// - Throws: ``KeysGoAlong`` if an item stands for a key and keys must stay; ``ProofNeeded``, where nothing else speaks against it.
    package func delete(
        _ selections: [VisibleItems], groups: AccessGroups, for client: LeaseQuery.Program?, proved: ProvedItems,
        withKeys mayDestroyKeys: Bool
    ) throws -> Deletion {
        var keys: [VaultID] = []
        let matches = try vault.write("item.delete", usingReserve: true) { writer in
            keys = []
            let matches = try self.matches(of: selections, in: writer)
            if let client, !matches.allSatisfy({ digests.isFor(client, $0.itemClass, $0.index) }) {
                throw Self.ofOtherProgram
            }
            let keysOfItems = try requireDeletable(matches, proved, withKeys: mayDestroyKeys, in: writer)
            for match in matches { try writer.removeItem(match.id, owner: owner) }
            for key in keysOfItems where try removeKey(key, groups, in: writer) { keys.append(key) }
            return matches
        }
        eraser.erase()
        return Deletion(count: matches.count, name: matches.logName, items: matches.map(\.id), keys: keys)
    }

    /// Throws unless all of the items may be deleted; returns the keys that they stand for.
    private func requireDeletable(
        _ matches: [ItemMatch], _ proved: ProvedItems, withKeys mayDestroyKeys: Bool, in reader: VaultReader
    ) throws -> [VaultID] {
        var (keys, isProved): ([VaultID], Bool) = ([], true)
        for match in matches {
            let record = try readable(match.id, in: reader)
            if let record { try Self.requireDeletable(record) }
            if let key = record?.keyID {
                guard mayDestroyKeys else { throw KeysGoAlong() }
                keys.append(key)
            }
            if try !proved.covers(match, record) { isProved = false }
        }
        guard isProved else { throw ProofNeeded() }
        return keys
    }

    /// What the selections hold, each item once.
    private func matches(of selections: [VisibleItems], in reader: VaultReader) throws -> [ItemMatch] {
        var seen: Set<VaultID> = []
        return try selections.flatMap { selection in
            let matches = try reader.items(matching: selection.query, owner: owner)
            guard !matches.isEmpty else { throw Self.notFound }
            return matches.filter { seen.insert($0.id).inserted }
        }
    }

    private static func requireDeletable(_ record: ItemRecord) throws {
        guard try StoredAccessControl.decode(record.accessControl)[.delete] != nil else {
            throw Refusal(
                .operationNotPermitted, "The item's access control does not permit deleting it.",
                cause: "item.operation-not-permitted")
        }
    }

    /// Removes the enclave key behind a deleted item. Returns false when another item of any group stands for the key,
    /// when the key is gone already, or when it belongs to another program. If the key's own access control permits
    /// nobody to delete it, the item stays too.
    private func removeKey(_ id: VaultID, _ groups: AccessGroups, in writer: VaultWriter) throws -> Bool {
        guard try !writer.hasItem(forKey: id, of: owner, digests) else { return false }
        if let key = try RightStore.readable(id, owner: owner, in: writer) {
            guard groups.names.contains(key.attributes.group) else { return false }
            try RightStore.requireRemovable(key)
        }
        do { try writer.removeObject(id, owner: owner) } catch VaultError.notFound { return false }
        return true
    }
}
