public import Foundation

/// What became of the rows whose list was rebuilt.
public struct Relisting: Equatable, Sendable {
    /// How many are listed and used again.
    public var kept = 0
    /// How many are listed and refused, until somebody removes them.
    public var refused = 0
    /// The keys of rows that are listed no more: rows that nobody can identify, and rows that lost their name to another.
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
    /// Reads the list of the rows that `owner` has in `table` from the database, whatever is in memory, and throws
    /// ``VaultError/corrupt(_:_:)`` unless it is the one that the root stands for. The owner of the store's own tables is
    /// ``storeID``.
    public func verifyList(of table: VaultTable, owner: VaultID) throws {
        try listed.requireOwner(owner)
        _ = try listed.lists.read(ListID(owner: owner, table: table), from: listed.rows)
    }

    /// The lists that do not verify, as they lie in the database now.
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
/// The list is what tells that a row is missing, old or planted. Without it nobody can say: a rebuilt list takes the rows
/// that are there for the rows that ought to be there. That is for the owner to decide. A list that was read before it was
/// damaged is still in memory and is written again as it was. A list that verifies is a ``VaultError/conflict``.
extension VaultWriter {
    func requireDamage(of list: RelistableRows, owner: VaultID) throws {
        guard try damagedLists(owner: owner).contains(list) else { throw VaultError.conflict }
    }

    /// Rebuilds the list of the owner's objects. Call ``Vault/compactAfterSecretsChanged()`` after the transaction.
    ///
    /// - Parameter isCurrent: whether an object that verifies is of the present time, as far as it says itself.
    public func relistObjects(owner: VaultID, _ isCurrent: (ObjectRecord) throws -> Bool) throws -> Relisting {
        try requireDamage(of: .objects, owner: owner)
        let id = ListID(owner: owner, table: .objects)
        if let known = try rewriteFromMemory(id) { return known }
        let (manifest, relisting) = try listObjects(owner: owner, isCurrent)
        try clearAway(relisting.removed, from: .objects, owner: owner)
        try listed.lists.replace(id, by: manifest, in: listed.rows)
        return relisting
    }

    /// Writes a list as it is in memory; nil if it is not there.
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
        let manifest = Manifest()
        var relisting = Relisting()
        for found in try foundObjects(owner: owner, isCurrent) {
            switch found {
            case .named(let row, let digest) where manifest.key(tagged: digest) == nil:
                let entry = ListEntry(generation: row.generation, code: row.code, tag: Array(digest))
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

    /// Removes rows that are listed no more, with the counters of wrong guesses at them.
    func clearAway(_ keys: [Data], from table: VaultTable, owner: VaultID) throws {
        for key in keys {
            _ = try listed.rows.delete(table, owner: owner, key: key)
            if let id = VaultID(bytes: key) { try forgetGuesses(at: id, owner: owner) }
        }
    }

    private enum FoundObject {
        case named(SealedRow, digest: Data)
        case unreadable(VaultID)
        /// Not even its key is an object's.
        case nameless(Data)
    }

    /// What lies in the objects' places, the newest first: of two that have one name the later one replaced the other.
    private func foundObjects(owner: VaultID, _ isCurrent: (ObjectRecord) throws -> Bool) throws -> [FoundObject] {
        var (readable, others): ([(created: UInt64, FoundObject)], [FoundObject]) = ([], [])
        for stored in try listed.rows.fetchAll(.objects, owner: owner) {
            if case .readable(let row) = stored, let record = try object(from: row).record, try isCurrent(record),
                let sealed = try? ObjectRow(row)
            {
                readable.append((record.attributes.created, .named(row, digest: sealed.nameDigest)))
            } else {
                let key = stored.reference.key
                others.append(VaultID(bytes: key).map(FoundObject.unreadable) ?? .nameless(key))
            }
        }
        return readable.sorted { $0.created > $1.created }.map(\.1) + others
    }
}
