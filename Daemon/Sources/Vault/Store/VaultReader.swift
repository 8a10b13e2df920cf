public import ExactNames
public import Foundation
import GRDB

/// The questions that a closure of ``Vault/read(_:)`` or ``Vault/write(_:_:)`` can ask. A reader must not leave the
/// closure.
///
/// A single look-up returns the record, or nil if it certainly does not exist, or throws ``VaultError/corrupt(_:_:)``.
/// A listing answers for every row that is stored or listed. For an owner who is no user here, both throw
/// ``VaultError/notFound``; they also pass on errors of the ``RecordProtector``.
public class VaultReader {
    let listed: ListedRows
    var protector: any RecordProtector { listed.rows.protector }

    /// The identity of this store.
    public var storeID: VaultID { listed.rows.storeID }

    init(_ rows: RowStore, _ lists: StoreLists) {
        listed = ListedRows(rows: rows, lists: lists)
    }

    /// Reads the store's own record from the database and throws unless it verifies.
    public func verifyStoreRecord() throws {
        _ = try StoreRecord.authentic(in: listed.rows.database, protector: protector)
    }

    // MARK: Users

    /// All users of this store.
    public func users() throws -> [Stored<UserRecord>] { try all(owner: storeID) }

    /// The user with this owner id.
    public func user(_ id: VaultID) throws -> UserRecord? { try one(owner: storeID, key: id.bytes) }

    // MARK: Keys and passcodes

    /// The owner's current key pair in a role.
    public func keyPair(owner: VaultID, role: UInt8) throws -> KeyPairRecord? {
        try one(owner: owner, key: KeyPairRecord.rowKey(role: role))
    }

    /// All current key pairs of the owner.
    public func keyPairs(owner: VaultID) throws -> [Stored<KeyPairRecord>] { try all(owner: owner) }

    /// The owner's records: none, one, or two during a change. An empty answer is authentic: the owner has no passcode.
    public func passcodeRecords(owner: VaultID) throws -> [Stored<PasscodeRecord>] { try all(owner: owner) }

    /// The counter of wrong guesses at `subject`; nil if none was ever counted.
    public func attempts(owner: VaultID, subject: Data) throws -> AttemptRecord? {
        try one(owner: owner, key: subject)
    }

    /// All counters of wrong guesses.
    public func attemptCounters(owner: VaultID) throws -> [Stored<AttemptRecord>] { try all(owner: owner) }

    // MARK: Objects

    /// The object with this id.
    public func object(_ id: VaultID, owner: VaultID) throws -> ObjectRecord? {
        guard let row = try listed.fetch(.objects, owner: owner, key: id.bytes) else { return nil }
        switch try object(from: row) {
        case .readable(let record): return record
        case .unreadable(let reference, let fault): throw VaultError.corrupt(reference, fault)
        }
    }

    /// The object of this name. A nil is authentic too: names are looked up in the list.
    public func object(
        identifier: ExactName, group: ExactName, kind: ObjectKind, owner: VaultID
    ) throws -> ObjectRecord? {
        let name = ObjectName(owner: owner, kind: kind, group: group, identifier: identifier)
        let manifest = try listed.manifest(of: .objects, owner: owner)
        guard let key = manifest.key(named: try name.digest(by: protector)) else { return nil }
        guard let id = VaultID(bytes: key), let record = try object(id, owner: owner) else {
            throw VaultError.corrupt(RowReference(table: .objects, key: key), .removed)
        }
        guard record.kind == kind, record.attributes.group == group, record.attributes.identifier == identifier else {
            throw VaultError.corrupt(RowReference(table: .objects, key: key), .malformed)
        }
        return record
    }

    /// The listed objects whose rows are missing.
    public func missingObjects(owner: VaultID) throws -> [VaultID] {
        try listed.fetchAll(.objects, owner: owner).compactMap { stored in
            guard case .unreadable(let reference, .removed) = stored else { return nil }
            return reference.id
        }
    }

    // MARK: Audit log

    /// The last anchor of the audit log.
    public func logAnchor() throws -> LogAnchorRecord? { try one(owner: storeID, key: LogAnchorRecord.rowKey) }

    /// All epochs of the audit log.
    public func logEpochs() throws -> [Stored<LogEpochRecord>] { try all(owner: storeID) }

    /// One epoch of the audit log.
    public func logEpoch(_ number: UInt32) throws -> LogEpochRecord? {
        try one(owner: storeID, key: LogEpochRecord.rowKey(number: number))
    }

    // MARK: Decoding

    private func one<Record: SealedRecord>(owner: VaultID, key: Data) throws -> Record? {
        guard let row = try listed.fetch(Record.table, owner: owner, key: key) else { return nil }
        do {
            return try Record(row)
        } catch {
            throw VaultError.corrupt(row.reference, .malformed)
        }
    }

    private func all<Record: SealedRecord>(owner: VaultID) throws -> [Stored<Record>] {
        try listed.fetchAll(Record.table, owner: owner).map { stored in
            switch stored {
            case .unreadable(let reference, let fault):
                return .unreadable(reference, fault)
            case .readable(let row):
                do { return .readable(try Record(row)) } catch { return .unreadable(row.reference, .malformed) }
            }
        }
    }

    func object(from row: SealedRow) throws -> Stored<ObjectRecord> {
        do {
            let stored = try ObjectRow(row)
            return .readable(try stored.record(owner: row.owner, generation: row.generation, protector: protector))
        } catch is MalformedRow {
            return .unreadable(row.reference, .malformed)
        }
    }
}
