import Foundation
import GRDB

/// The record of the store itself: one row, its owner column is the store's identity.
struct StoreRecord: SealedRecord {
    static var table: VaultTable { .store }
    let created: UInt64

    var rowKey: Data { Data() }
    var columns: [ColumnValue] { [.integer(Int64(clamping: created)), .integer(Int64(VaultFormat.schemaVersion))] }

    init(created: UInt64) { self.created = created }

    init(_ row: SealedRow) throws(MalformedRow) {
        var columns = ColumnReader(row.columns)
        created = try columns.integer()
    }

    /// Writes the record of a new store and the empty lists of what belongs to it; returns the store's identity.
    static func create(in database: Database, protector: any RecordProtector, created: UInt64) throws {
        let id = VaultID()
        let rows = RowStore(database: database, protector: protector, storeID: id)
        try rows.put(StoreRecord(created: created).row(owner: id, generation: 1))
        try ListedRows(rows: rows).addManifests(for: VaultTable.ofStore, owner: id)
    }

    /// The identity of the store, once its record proves authentic.
    static func identity(in database: Database, protector: any RecordProtector) throws -> VaultID {
        let owners = try Data.fetchAll(database, sql: "SELECT owner FROM store")
        guard owners.count == 1, let id = VaultID(bytes: owners[0]) else { throw VaultError.unreadable(.storeRecord) }
        let rows = RowStore(database: database, protector: protector, storeID: id)
        do {
            guard try rows.fetch(.store, owner: id, key: Data()) != nil else {
                throw VaultError.unreadable(.storeRecord)
            }
        } catch VaultError.corrupt {
            throw VaultError.unreadable(.storeRecord)
        }
        return id
    }
}
