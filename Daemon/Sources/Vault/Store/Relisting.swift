public import Foundation

/// What became of the rows whose list was made anew.
public struct Relisting: Equatable, Sendable {
    /// How many are listed and used again.
    public var kept = 0
    /// How many are listed and refused, until somebody removes them.
    public var refused = 0
    /// The keys of those that are listed no more: what nobody can say what it was, and what lost its name to another.
    public var removed: [Data] = []
}

/// The lists of one owner that can be made anew.
public enum RelistableRows: CaseIterable, Sendable {
    /// Rights, enclave keys and registered programs.
    case objects
    /// Keychain items.
    case items
}

extension VaultReader {
    /// The lists that do not verify, or are provably older than what they list, as they lie in the database now.
    public func damagedLists(owner: VaultID) throws -> [RelistableRows] {
        try listed.requireOwner(owner)
        return try RelistableRows.allCases.filter { list in
            do {
                switch list {
                case .objects: return try isOutdated(listed.manifest(of: .objects, owner: owner))
                case .items:
                    _ = try ItemCatalogue.read(owner: owner, from: listed.rows)
                    return false
                }
            } catch VaultError.corrupt { return true }
        }
    }

    /// What the list of objects says of a row that is refused: no row has this generation, so the entry fits nothing that is or
    /// comes there.
    static var refusedGeneration: UInt64 { 0 }

    /// Whether a row is newer than its list. Generations only grow, so the list was put back, and not the row.
    private func isOutdated(_ manifest: Manifest) throws -> Bool {
        try listed.rows.fetchAll(manifest.table, owner: manifest.owner).contains { stored in
            guard case .readable(let row) = stored, let entry = manifest.entries[row.key],
                entry.generation != Self.refusedGeneration
            else { return false }
            return row.generation > entry.generation
        }
    }
}

/// Making a list anew that does not verify, of the rows that do.
///
/// A list is what tells that a row is missing, old or planted. Without it nobody can say: whoever makes it anew takes what is
/// there for what ought to be there. That is for the owner to decide. A list that verifies is a ``VaultError/conflict``.
extension VaultWriter {
    func requireDamage(of list: RelistableRows, owner: VaultID) throws {
        guard try damagedLists(owner: owner).contains(list) else { throw VaultError.conflict }
    }

    /// Lists the owner's objects anew. Call ``Vault/compactAfterSecretsChanged()`` after the transaction.
    ///
    /// - Parameter isCurrent: whether an object that verifies is of the present time, as far as it says itself.
    public func relistObjects(owner: VaultID, _ isCurrent: (ObjectRecord) throws -> Bool) throws -> Relisting {
        try requireDamage(of: .objects, owner: owner)
        var (manifest, relisting) = (
            Manifest(table: .objects, owner: owner, counter: FirstGeneration.above(0)), Relisting()
        )
        for row in try objectRows(owner: owner, isCurrent) {
            switch row {
            case .named(let key, let generation, let digest) where manifest.key(tagged: digest) == nil:
                manifest.list(key, generation: generation, tag: digest)
                relisting.kept += 1
            case .unreadable(let id):
                manifest.list(id.bytes, generation: Self.refusedGeneration, tag: Data())
                relisting.refused += 1
            case .named(let key, _, _), .nameless(let key):
                relisting.removed.append(key)
            }
        }
        try clearAway(relisting.removed, from: .objects, owner: owner)
        try listed.rows.put(manifest.row)
        return relisting
    }

    /// Removes rows that are listed no more, with the counters of wrong guesses at them.
    func clearAway(_ keys: [Data], from table: VaultTable, owner: VaultID) throws {
        for key in keys {
            _ = try listed.rows.delete(table, owner: owner, key: key)
            if let id = VaultID(bytes: key) { try forgetGuesses(at: id, owner: owner) }
        }
    }

    private enum FoundObject {
        case named(key: Data, generation: UInt64, digest: Data)
        case unreadable(VaultID)
        /// Not even its key is an object's.
        case nameless(Data)
    }

    /// What lies in the objects' places, the newest first: of two that have one name the later one replaced the other.
    private func objectRows(owner: VaultID, _ isCurrent: (ObjectRecord) throws -> Bool) throws -> [FoundObject] {
        var (readable, others): ([(created: UInt64, FoundObject)], [FoundObject]) = ([], [])
        for stored in try listed.rows.fetchAll(.objects, owner: owner) {
            if case .readable(let row) = stored, let record = try object(from: row).record, try isCurrent(record),
                let sealed = try? ObjectRow(row)
            {
                let found = FoundObject.named(key: row.key, generation: row.generation, digest: sealed.nameDigest)
                readable.append((record.attributes.created, found))
            } else {
                let key = stored.reference.key
                others.append(VaultID(bytes: key).map(FoundObject.unreadable) ?? .nameless(key))
            }
        }
        return readable.sorted { $0.created > $1.created }.map(\.1) + others
    }
}

/// Where the numbers of a list begin that is made anew: above all that were ever counted, also where nobody knows them any
/// more, so that nothing of before fits the new list.
enum FirstGeneration {
    /// Numbers count changes, of which there are fewer in a second; so the clock alone tells an earlier list from a later.
    private static let changesPerSecond = Double(1 << 18)
    /// Further than anything can have been counted since a number was known.
    private static let leap: UInt64 = 1 << 32

    /// - Parameters:
    ///   - known: the highest number that is known; a column holds no more than 2^63.
    ///   - seconds: since 1970.
    static func above(_ known: UInt64, seconds: Double = Date().timeIntervalSince1970) -> UInt64 {
        let clock = UInt64(min(max(seconds, 0), 4e9) * changesPerSecond)
        return max(known + leap, clock)
    }
}
