import CanonicalEncoding
import Foundation
import GRDB

/// The lists of a store of version 1 or 2, which had no root. It had a manifest for each owner and table, each with its
/// own counter. Its items had 4,096 leaves, whose generations had to add up to one number.
///
/// The lists are read once, by their own rules, and written in the present format. A list that does not verify stays
/// unreadable, and a row that does not verify or is not the listed one stays refused. So converting makes no refused
/// row usable.
struct Version2Store {
    private let rows: RowStore
    private let lists: StoreLists
    /// 1 for a store from before there were items. It has no sum for the leaves' generations.
    private let version: UInt32

    /// Writes the lists and the root in the present format, and the store's record, in the running transaction.
    static func convert(in database: Database, protector: any RecordProtector) throws {
        let (id, row, record) = try StoreRecord.authentic(in: database, protector: protector)
        guard record.formatVersion < 3 else { throw VaultError.unreadable(.storeRecord) }
        let rows = RowStore(database: database, protector: protector, storeID: id)
        // Rows keep their numbers, so the root's counter begins at the highest of them.
        var root = Root()
        for table in VaultTable.ofStore + VaultTable.ofUsers {
            root.counter = max(root.counter, try rows.newestGeneration(in: table) ?? 0)
        }
        let lists = StoreLists(try CommittedRoot(writing: root, to: rows))
        let store = Version2Store(rows: rows, lists: lists, version: record.formatVersion)
        // Without the list of the users nobody can say which lists must exist.
        let users = try store.manifest(ListID(owner: id, table: .users))
        for table in VaultTable.ofStore { try store.convert(ListID(owner: id, table: table)) }
        for key in users.keys {
            guard let owner = VaultID(bytes: key) else { throw VaultError.unreadable(.storeRecord) }
            for table in VaultTable.ofUsers { try store.convert(ListID(owner: owner, table: table)) }
        }
        _ = try lists.writeChanges(to: rows)
        try rows.put(StoreRecord(created: record.created).row(owner: id, generation: row.generation + 1))
    }

    private func convert(_ list: ListID) throws {
        guard list.table != .items else { return try convertItems(list) }
        do { try lists.replace(list, by: manifest(list), in: rows) } catch VaultError.corrupt { lists.refuse(list) }
    }

    // MARK: rows

    /// The entry of a row that was listed with `generation`.
    private func entry(_ table: VaultTable, _ owner: VaultID, _ key: Data, generation: UInt64, tag: [UInt8]) throws
        -> ListEntry
    {
        var (code, tag) = (RowCode.none, tag)
        do {
            if let row = try rows.fetch(table, owner: owner, key: key), row.generation == generation {
                code = row.code
                if table == .objects { tag = try rows.objectTag(of: row, listedAs: tag) }
            }
        } catch VaultError.corrupt {}  // Refused before, refused after.
        return ListEntry(generation: generation, code: code, tag: tag)
    }

    // MARK: manifests

    /// Throws ``VaultError/corrupt(_:_:)`` when the manifest does not verify.
    private func manifest(_ list: ListID) throws -> Manifest {
        let reference = RowReference(table: .manifests, key: Data([list.table.rawValue]))
        guard let row = try rows.fetch(.manifests, owner: list.owner, key: reference.key) else {
            throw VaultError.corrupt(reference, .removed)
        }
        do {
            let manifest = Manifest(of: list.table)
            for (key, generation, tag) in try Self.manifestEntries(row) {
                guard manifest.entry(key) == nil else { throw MalformedRow() }
                manifest.list(key, try entry(list.table, list.owner, key, generation: generation, tag: tag))
            }
            return manifest
        } catch is MalformedRow { throw VaultError.corrupt(reference, .malformed) }
    }

    /// Version (1 byte: 1), number of entries (4), and for each: key (behind 2 bytes of length), generation (8), tag (behind 1
    /// byte of length).
    private static func manifestEntries(
        _ row: SealedRow
    ) throws(MalformedRow) -> [(key: Data, generation: UInt64, tag: [UInt8])] {
        var columns = ColumnReader(row.columns)
        let bytes = try columns.blob()
        do {
            var reader = CanonicalReader(Array(bytes))
            guard try reader.read(UInt8.self) == 1 else { throw MalformedRow() }
            var entries: [(key: Data, generation: UInt64, tag: [UInt8])] = []
            for _ in 0..<(try reader.read(UInt32.self)) {
                let key = Data(try reader.read(length: UInt16.self))
                entries.append((key, try reader.read(UInt64.self), try reader.read(length: UInt8.self)))
            }
            try reader.finish()
            return entries
        } catch {
            throw MalformedRow()
        }
    }

    // MARK: leaves

    /// Leaves that verify by themselves are kept even if their sum is wrong: a repair takes the names of items from
    /// them.
    private func convertItems(_ list: ListID) throws {
        var (entries, sum, isWhole): ([ItemCatalogue.Entry], UInt64, Bool) = ([], 0, true)
        for stored in try rows.fetchAll(.itemLeaves, owner: list.owner) {
            guard case .readable(let row) = stored, let leaf = try? Self.leafEntries(row) else {
                isWhole = false
                continue
            }
            let (next, overflows) = sum.addingReportingOverflow(row.generation)
            (sum, isWhole) = (next, isWhole && !overflows)
            for var item in leaf {
                let id = VaultID(item.id).bytes
                item.code = try entry(.items, list.owner, id, generation: item.generation, tag: []).code
                entries.append(item)
            }
        }
        let catalogue = ItemCatalogue(entries)
        if try isWhole && sum == leafSum(list.owner) {
            try lists.replace(list, by: catalogue, in: rows)
        } else {
            for bucket in 0..<list.table.bucketCount {
                let listed = catalogue.rows(inBucket: bucket)
                guard !listed.isEmpty else { continue }
                try rows.put(ListBucket.row(bucket, of: list, generation: lists.nextGeneration, listing: listed))
            }
            lists.refuse(list)
        }
    }

    /// The required sum of the generations of all leaves; nil when it cannot be known.
    private func leafSum(_ owner: VaultID) throws -> UInt64? {
        do {
            guard let root = try rows.fetch(.itemRoots, owner: owner, key: Data()) else {
                return version == 1 ? 0 : nil
            }
            return root.generation
        } catch VaultError.corrupt { return nil }
    }

    /// Version (1 byte: 1), number of entries (4), and for each: id (16), generation (8), place (8), class (1), uniqueness
    /// digest (16), number of terms (1), terms (8 each). The first twelve bits of an id are the number of its leaf.
    private static func leafEntries(_ row: SealedRow) throws(MalformedRow) -> [ItemCatalogue.Entry] {
        var columns = ColumnReader(row.columns)
        let bytes = try columns.blob()
        do {
            var reader = CanonicalReader(Array(bytes))
            guard try reader.read(UInt8.self) == 1 else { throw MalformedRow() }
            var entries: [ItemCatalogue.Entry] = []
            for _ in 0..<(try reader.read(UInt32.self)) {
                let key = try reader.read(fixed: VaultID.byteCount)
                let generation = try reader.read(UInt64.self)
                var tag = try reader.read(fixed: 25)
                tag += try reader.read(fixed: 8 * Int(reader.read(UInt8.self)))
                let listed = ListEntry(generation: generation, code: .none, tag: tag)
                let entry = try ItemCatalogue.Entry(ListedRow(key: key, entry: listed))
                guard row.key == Data([UInt8(entry.bucket >> 8), UInt8(entry.bucket & 0xff)]) else {
                    throw MalformedRow()
                }
                entries.append(entry)
            }
            try reader.finish()
            return entries
        } catch {
            throw MalformedRow()
        }
    }
}
