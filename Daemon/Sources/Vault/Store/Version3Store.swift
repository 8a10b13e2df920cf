import Foundation
import GRDB

/// The lists of a store of version 3. All objects of an owner were in one bucket, and their tags said no more than the
/// name. Everything else is as it is now.
///
/// The lists are read by the rules of their version, below the root of their version. One that does not verify stays
/// refused, and so does a row that is not the listed one.
struct Version3Store {
    private static let rootVersion: UInt8 = 1
    private static let formatVersion: UInt32 = 3

    private let rows: RowStore
    private let lists: StoreLists

    /// The root of such a store, which is to be compared with its rows before anything is converted. Nil for a store of
    /// another version.
    static func open(
        _ database: Database, _ queue: DatabaseQueue, _ protector: any RecordProtector
    ) throws -> Vault.Opened? {
        guard try UInt32.fetchOne(database, sql: "PRAGMA user_version") == formatVersion else { return nil }
        let (id, _, record) = try StoreRecord.authentic(in: database, protector: protector)
        guard record.formatVersion == formatVersion else { return nil }
        let rows = RowStore(database: database, protector: protector, storeID: id)
        return Vault.Opened(
            queue: queue, storeID: id, root: try CommittedRoot(readingFrom: rows, version: rootVersion))
    }

    /// Writes the lists of objects and the root in the present format, and the store's record, in the running transaction.
    /// Does nothing to a store that was converted from an older version just before, and is in the present format already.
    static func convert(in database: Database, protector: any RecordProtector) throws {
        let (id, row, record) = try StoreRecord.authentic(in: database, protector: protector)
        guard record.formatVersion != VaultFormat.schemaVersion else { return }
        guard record.formatVersion == formatVersion else { throw VaultError.unreadable(.storeRecord) }
        let rows = RowStore(database: database, protector: protector, storeID: id)
        let lists = StoreLists(try CommittedRoot(readingFrom: rows, version: rootVersion))
        let store = Version3Store(rows: rows, lists: lists)
        for list in lists.ids where list.table == .objects { try store.convert(list) }
        // Even without any list the root must get the present version.
        lists.noteOtherChange()
        _ = try lists.writeChanges(to: rows)
        try rows.put(StoreRecord(created: record.created).row(owner: id, generation: row.generation + 1))
    }

    private func convert(_ list: ListID) throws {
        do { try lists.replace(list, by: manifest(list), in: rows) } catch VaultError.corrupt { lists.refuse(list) }
    }

    /// Throws ``VaultError/corrupt(_:_:)`` when the list does not verify, or lies on a damaged page.
    private func manifest(_ list: ListID) throws -> Manifest {
        let damaged = VaultError.corrupt(list.reference, .altered)
        guard let digest = lists.digest(of: list) else { throw damaged }
        let manifest = Manifest(of: list.table)
        do {
            for listed in try StoredList.listedRows(list, in: 1, expected: digest, from: rows).0 {
                guard manifest.entry(Data(listed.key)) == nil else { throw damaged }
                manifest.list(Data(listed.key), try entry(listed, owner: list.owner))
            }
        } catch let error as DatabaseError where error.resultCode == .SQLITE_CORRUPT { throw damaged }
        return manifest
    }

    /// The entry with its new tag. It keeps the old one if its row is not the listed one, or cannot be read.
    private func entry(_ listed: ListedRow, owner: VaultID) throws -> ListEntry {
        let former = listed.entry
        var tag = former.tag
        do {
            if let row = try rows.fetch(.objects, owner: owner, key: Data(listed.key)), row.code == former.code {
                tag = try rows.objectTag(of: row, listedAs: tag)
            }
        } catch VaultError.corrupt {
            // Refused before, refused after.
        } catch let error as DatabaseError where error.resultCode == .SQLITE_CORRUPT {}
        return ListEntry(generation: former.generation, code: former.code, tag: tag)
    }
}
