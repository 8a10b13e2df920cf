public import Foundation

/// What became of the rows whose list was made anew.
public struct Relisting: Equatable, Sendable {
    /// How many verify; they are listed and used again.
    public var kept = 0
    /// How many do not verify or are gone; they are listed and refused, until somebody removes them.
    public var refused = 0
    /// The keys of those that are no longer there: what cannot be listed, because nobody can say what it was, or because
    /// another row has its name.
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
    /// The lists that do not verify, as they lie in the database now.
    public func damagedLists(owner: VaultID) throws -> [RelistableRows] {
        try RelistableRows.allCases.filter { list in
            do {
                switch list {
                case .objects: _ = try listed.manifest(of: .objects, owner: owner)
                case .items: _ = try ItemCatalogue.read(owner: owner, from: listed.rows)
                }
                return false
            } catch VaultError.corrupt(let reference, _) where reference.table != .users { return true }
        }
    }
}

/// Making a list anew that does not verify, of the rows that do.
///
/// A list is what tells that a row is missing, old or planted. Without it nobody can say: whoever makes it anew takes what is
/// there for what ought to be there. That is for the owner to decide. A list that verifies is a ``VaultError/conflict``.
extension VaultWriter {
    /// Further than anything can have been counted: what bears a smaller number is older than the new list.
    static var leap: UInt64 { 1 << 32 }

    func requireDamage(of list: RelistableRows, owner: VaultID) throws {
        guard try damagedLists(owner: owner).contains(list) else { throw VaultError.conflict }
    }

    /// Lists the owner's objects anew. Call ``Vault/compactAfterSecretsChanged()`` after the transaction.
    public func relistObjects(owner: VaultID) throws -> Relisting {
        try requireDamage(of: .objects, owner: owner)
        var (manifest, relisting) = (Manifest(table: .objects, owner: owner, counter: Self.leap), Relisting())
        for row in try objectRows(owner: owner) {
            switch row {
            case .named(let key, let generation, let digest) where manifest.key(tagged: digest) == nil:
                manifest.list(key, generation: generation, tag: digest)
                relisting.kept += 1
            case .unreadable(let id):
                manifest.list(id.bytes, generation: 0, tag: Data())
                relisting.refused += 1
            case .named(let key, _, _), .nameless(let key):
                _ = try listed.rows.delete(.objects, owner: owner, key: key)
                relisting.removed.append(key)
            }
        }
        try listed.rows.put(manifest.row)
        return relisting
    }

    private enum FoundObject {
        case named(key: Data, generation: UInt64, digest: Data)
        case unreadable(VaultID)
        /// Not even its key is an object's.
        case nameless(Data)
    }

    /// What lies in the objects' places, the newest first: of two that have one name the later one replaced the other.
    private func objectRows(owner: VaultID) throws -> [FoundObject] {
        var (readable, others): ([(created: UInt64, FoundObject)], [FoundObject]) = ([], [])
        for stored in try listed.rows.fetchAll(.objects, owner: owner) {
            if case .readable(let row) = stored, let record = try object(from: row).record, let sealed = try? ObjectRow(row) {
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
