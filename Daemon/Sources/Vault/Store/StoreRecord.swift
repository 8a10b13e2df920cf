import Foundation
import GRDB

/// The record of the store itself: one row, its owner column is the store's identity.
struct StoreRecord: SealedRecord {
    static var table: VaultTable { .store }
    let created: UInt64
    /// The version whose rows are all there. The schema is brought up to date first, in a transaction of its own.
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

    /// Writes the record of a new store and the empty lists of what belongs to it; returns the store's identity.
    static func create(in database: Database, protector: any RecordProtector, created: UInt64) throws {
        let id = VaultID()
        let rows = RowStore(database: database, protector: protector, storeID: id)
        try rows.put(StoreRecord(created: created).row(owner: id, generation: 1))
        try ListedRows(rows: rows).addManifests(for: VaultTable.ofStore, owner: id)
    }

    /// The identity of the store and what its record says, once the record proves authentic.
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

    /// Adds the rows that a store of an older version lacks. From then on their absence is a fault.
    static func bringUpToDate(in database: Database, protector: any RecordProtector) throws {
        let (id, row, record) = try authentic(in: database, protector: protector)
        guard record.formatVersion < VaultFormat.schemaVersion else { return }
        let rows = RowStore(database: database, protector: protector, storeID: id)
        for user in try ListedRows(rows: rows).manifest(of: .users, owner: id).entries.keys {
            guard let user = VaultID(bytes: user) else { throw VaultError.unreadable(.storeRecord) }
            try rows.put(ItemRoot(sum: 0).row(owner: user))
        }
        let current = StoreRecord(created: record.created)
        try rows.put(current.row(owner: id, generation: row.generation + 1))
    }
}
