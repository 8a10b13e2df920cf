public import Foundation

/// The result of rebuilding a list.
public struct Relisting: Equatable, Sendable {
    /// How many rows are listed and used again.
    public var kept = 0
    /// How many rows are listed but refused, until somebody removes them.
    public var refused = 0
    /// The keys of removed rows: rows that nobody can identify, and rows that lost their name to another one.
    public var removed: [Data] = []
}

/// The lists of one owner that can be rebuilt.
public enum RelistableRows: CaseIterable, Sendable {
    /// Rights, enclave keys and registered programs.
    case objects
    /// Keychain items.
    case items

    fileprivate var table: VaultTable {
        switch self {
        case .objects: .objects
        case .items: .items
        }
    }
}

extension VaultReader {
    /// Reads the list of the rows that `owner` has in `table` from the database, even if it is in memory. Throws
    /// ``VaultError/corrupt(_:_:)`` unless the list fits the root. The owner of the store's own tables is ``storeID``.
    public func verifyList(of table: VaultTable, owner: VaultID) throws {
        try listed.requireOwner(owner)
        _ = try listed.lists.read(ListID(owner: owner, table: table), from: listed.rows)
    }

    /// As ``verifyList(of:owner:)``, for a part of the list, so that others use the store meanwhile.
    ///
    /// - Parameter place: where the part begins: 0, then what the call before returned.
    /// - Returns: where the next part begins; nil behind the last one.
    public func verifyPart(ofList table: VaultTable, owner: VaultID, from place: Int) throws -> Int? {
        try listed.requireOwner(owner)
        let end = min(place + Self.verifiedBucketCount, table.bucketCount)
        try listed.lists.verify(ListID(owner: owner, table: table), place..<end, in: listed.rows)
        return end < table.bucketCount ? end : nil
    }

    private static let verifiedBucketCount = 64

    /// The lists in the database that do not verify now.
    public func damagedLists(owner: VaultID) throws -> [RelistableRows] {
        try listed.requireOwner(owner)
        return try RelistableRows.allCases.filter { list in
            do {
                try verifyList(of: list.table, owner: owner)
                return false
            } catch VaultError.corrupt { return true }
        }
    }
}

/// Rebuilding a list that does not verify, from the rows that do.
///
/// Only the list can tell that a row is missing, old or planted. A rebuilt list trusts the stored rows, so the owner
/// must decide to rebuild it. If the list was read before it was damaged, it is still in memory and is written again
/// unchanged. For a list that verifies, the calls throw ``VaultError/conflict``.
extension VaultWriter {
    func requireDamage(of list: RelistableRows, owner: VaultID) throws {
        guard try damagedLists(owner: owner).contains(list) else { throw VaultError.conflict }
    }

    /// Rebuilds the list of the owner's objects. Call ``Vault/compactAfterSecretsChanged()`` after the transaction.
    ///
    /// - Parameter isCurrent: whether an object that verifies is of the present time, by its own content.
    public func relistObjects(owner: VaultID, _ isCurrent: (ObjectRecord) throws -> Bool) throws -> Relisting {
        try requireDamage(of: .objects, owner: owner)
        let id = ListID(owner: owner, table: .objects)
        if let known = try rewriteFromMemory(id) { return known }
        let (manifest, relisting) = try listObjects(owner: owner, isCurrent)
        try clearAway(relisting.removed, from: .objects, owner: owner)
        try listed.lists.replace(id, by: manifest, in: listed.rows)
        return relisting
    }

    /// Writes the list from memory; nil if it is not in memory.
    func rewriteFromMemory(_ id: ListID) throws -> Relisting? {
        guard let content = listed.lists.known(id)?.content else { return nil }
        let listedRows = (0..<id.table.bucketCount).flatMap(content.rows(inBucket:))
        try listed.lists.replace(id, by: content, in: listed.rows)
        var relisting = Relisting()
        relisting.refused = listedRows.count { $0.entry.code == .none }
        relisting.kept = listedRows.count - relisting.refused
        return relisting
    }

    private func listObjects(
        owner: VaultID, _ isCurrent: (ObjectRecord) throws -> Bool
    ) throws -> (Manifest, Relisting) {
        let manifest = Manifest(of: .objects)
        var relisting = Relisting()
        for found in try foundObjects(owner: owner, isCurrent) {
            switch found {
            case .named(let row, let tag) where manifest.key(named: Data(tag.name)) == nil:
                let entry = ListEntry(generation: row.generation, code: row.code, tag: tag.bytes)
                manifest.list(row.key, entry)
                relisting.kept += 1
            case .unreadable(let id):
                manifest.list(id.bytes, .refused)
                relisting.refused += 1
            case .named(let row, _):
                relisting.removed.append(row.key)
            case .nameless(let key):
                relisting.removed.append(key)
            }
        }
        return (manifest, relisting)
    }

    /// Removes rows that are no longer listed, with the counters of wrong guesses at them.
    func clearAway(_ keys: [Data], from table: VaultTable, owner: VaultID) throws {
        for key in keys {
            _ = try listed.deleteCounted(table, owner: owner, key: key)
            if let id = VaultID(bytes: key) { try forgetGuesses(at: id, owner: owner) }
        }
    }

    private enum FoundObject {
        case named(SealedRow, ObjectTag)
        case unreadable(VaultID)
        /// The row's key cannot be an object's.
        case nameless(Data)
    }

    /// The stored objects, the newest first: if two have the same name, the later one replaced the other.
    private func foundObjects(owner: VaultID, _ isCurrent: (ObjectRecord) throws -> Bool) throws -> [FoundObject] {
        var (readable, others): ([(created: UInt64, FoundObject)], [FoundObject]) = ([], [])
        for stored in try listed.rows.fetchAll(.objects, owner: owner) {
            if case .readable(let row) = stored, let record = try object(from: row).record, try isCurrent(record),
                let tag = try listed.rows.objectTag(of: row)
            {
                readable.append((record.attributes.created, .named(row, tag)))
            } else {
                let key = stored.reference.key
                others.append(VaultID(bytes: key).map(FoundObject.unreadable) ?? .nameless(key))
            }
        }
        return readable.sorted { $0.created > $1.created }.map(\.1) + others
    }
}
