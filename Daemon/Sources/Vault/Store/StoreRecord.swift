import Foundation
import GRDB

/// The record of the store itself: a single row, whose owner column is the store's identity.
struct StoreRecord: SealedRecord {
    static var table: VaultTable { .store }
    let created: UInt64
    /// The version of the format that the store's rows have.
    let formatVersion: UInt32

    var rowKey: Data { Data() }
    var columns: [ColumnValue] { [.integer(Int64(clamping: created)), .integer(Int64(formatVersion))] }

    init(created: UInt64, formatVersion: UInt32 = VaultFormat.schemaVersion) {
        self.created = created
        self.formatVersion = formatVersion
    }

    init(_ row: SealedRow) throws(MalformedRow) {
        var columns = ColumnReader(row.columns)
        self.init(created: try columns.integer(), formatVersion: try columns.integer())
    }

    /// Writes the record of a new store, its own empty lists, and the root over them.
    static func create(
        in database: Database, protector: any RecordProtector, id: VaultID, created: UInt64, mark: RollbackMark?
    ) throws {
        let rows = RowStore(database: database, protector: protector, storeID: id)
        try rows.put(StoreRecord(created: created).row(owner: id, generation: 1))
        let lists = StoreLists(try CommittedRoot(writing: Root(), to: rows))
        try ListedRows(rows: rows, lists: lists).addLists(of: VaultTable.ofStore, owner: id)
        if let mark { lists.setMark(mark) }
        _ = try lists.writeChanges(to: rows)
    }

    /// The identity of the store and its record, after the record was verified.
    static func authentic(
        in database: Database, protector: any RecordProtector
    ) throws -> (id: VaultID, row: SealedRow, record: StoreRecord) {
        let owners = try Data.fetchAll(database, sql: "SELECT owner FROM store")
        guard owners.count == 1, let id = VaultID(bytes: owners[0]) else { throw VaultError.unreadable(.storeRecord) }
        let rows = RowStore(database: database, protector: protector, storeID: id)
        do {
            guard let row = try rows.fetch(.store, owner: id, key: Data()) else {
                throw VaultError.unreadable(.storeRecord)
            }
            return (id, row, try StoreRecord(row))
        } catch VaultError.corrupt {
            throw VaultError.unreadable(.storeRecord)
        } catch is MalformedRow {
            throw VaultError.unreadable(.storeRecord)
        }
    }
}
