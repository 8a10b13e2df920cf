import Foundation
import GRDB
import StoreTestSupport

@testable import Vault

/// A store as the programs before version 4 of the format wrote it, made from one of the present format: all objects of an
/// owner in one bucket, with their names alone as tags, and a root of the earlier version.
enum Version3Fixture {
    static func make(of path: String) throws {
        var configuration = Configuration()
        configuration.foreignKeysEnabled = false
        let queue = try DatabaseQueue(path: path, configuration: configuration)
        defer { try? queue.close() }
        try queue.write { database in
            let protector = TestProtector()
            let (id, record, store) = try StoreRecord.authentic(in: database, protector: protector)
            let rows = RowStore(database: database, protector: protector, storeID: id)
            var root = try CommittedRoot(readingFrom: rows).root
            for list in root.lists.keys where list.table == .objects {
                root.lists[list] = try rewrite(list, root, rows)
            }
            try rows.put(row(of: root, store: id))
            let former = StoreRecord(created: store.created, formatVersion: 3)
            try rows.put(former.row(owner: id, generation: record.generation))
            try database.execute(sql: "DELETE FROM grdb_migrations WHERE identifier = '4'; PRAGMA user_version = 3")
        }
    }

    /// Puts all rows of a list into one bucket; returns the list's digest.
    private static func rewrite(_ list: ListID, _ root: Root, _ rows: RowStore) throws -> Data {
        let listed = try StoredList.listedRows(
            list, in: list.table.bucketCount, expected: root.lists[list] ?? Data(), from: rows
        ).0.map { row in
            let entry = row.entry
            return ListedRow(
                key: row.key,
                entry: ListEntry(generation: entry.generation, code: entry.code, tag: Array(entry.tag.prefix(32))))
        }
        try rows.deleteBuckets(of: list)
        var digest = ListDigest(bucketCount: 1)
        if !listed.isEmpty {
            let sorted = listed.sorted { $0.key.lexicographicallyPrecedes($1.key) }
            let bucket = ListBucket.row(0, of: list, generation: root.counter, listing: sorted)
            digest[0] = RowCode(prefixOf: try rows.put(bucket))
        }
        return try digest.value(by: rows.protector)
    }

    private static func row(of root: Root, store: VaultID) -> SealedRow {
        var row = root.row(store: store)
        guard case .blob(var bytes)? = row.columns.first else { return row }
        bytes[bytes.startIndex] = 1
        row.columns = [.blob(bytes)]
        return row
    }
}
