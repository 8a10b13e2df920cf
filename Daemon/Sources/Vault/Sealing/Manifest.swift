import CanonicalEncoding
import Foundation

/// The authenticated list of the rows that one owner has in one table. A row that is not listed was planted, one of
/// another generation replayed, and a listed one that is not there was removed.
struct Manifest: Equatable, Sendable {
    struct Entry: Equatable, Sendable {
        var generation: UInt64
        /// What the row can be found by besides its key: the keyed digest of an object's name; else empty.
        var tag: Data
    }

    let table: VaultTable
    let owner: VaultID
    /// Grows with each change of any listed row.
    private(set) var counter: UInt64
    private(set) var entries: [Data: Entry]

    init(table: VaultTable, owner: VaultID, counter: UInt64 = 0) {
        self.table = table
        self.owner = owner
        self.counter = counter
        entries = [:]
    }

    /// The generation for a row that is about to change, when the caller does not count its own.
    var nextGeneration: UInt64 { counter + 1 }

    /// The key of the only row with this tag.
    func key(tagged tag: Data) -> Data? {
        entries.first { $0.value.tag == tag }?.key
    }

    mutating func list(_ key: Data, generation: UInt64, tag: Data) {
        entries[key] = Entry(generation: generation, tag: tag)
        counter += 1
    }

    mutating func unlist(_ key: Data) {
        entries[key] = nil
        counter += 1
    }
}

extension Manifest {
    static func key(of table: VaultTable) -> Data { Data([table.rawValue]) }

    var row: SealedRow {
        SealedRow(
            table: .manifests, owner: owner, key: Self.key(of: table), generation: counter,
            columns: [.blob(Data(encodedEntries))])
    }

    private var encodedEntries: [UInt8] {
        var writer = CanonicalWriter(capacity: 16 + entries.count * 64)
        writer.write(VaultFormat.manifestVersion)
        writer.write(UInt32(entries.count))
        for (key, entry) in entries.sorted(by: { $0.key.lexicographicallyPrecedes($1.key) }) {
            writer.write(key, length: UInt16.self)
            writer.write(entry.generation)
            writer.write(entry.tag, length: UInt8.self)
        }
        return writer.bytes
    }

    /// Decodes an authentic manifest row.
    init(_ row: SealedRow, table: VaultTable) throws(MalformedRow) {
        self.table = table
        owner = row.owner
        counter = row.generation
        entries = [:]
        var columns = ColumnReader(row.columns)
        let bytes = try columns.blob()
        do {
            try readEntries(Array(bytes))
        } catch {
            throw MalformedRow()
        }
    }

    private mutating func readEntries(_ bytes: [UInt8]) throws {
        var reader = CanonicalReader(bytes)
        guard try reader.read(UInt8.self) == VaultFormat.manifestVersion else { throw MalformedRow() }
        for _ in 0..<(try reader.read(UInt32.self)) {
            let key = Data(try reader.read(length: UInt16.self))
            let generation = try reader.read(UInt64.self)
            let tag = Data(try reader.read(length: UInt8.self))
            guard entries.updateValue(Entry(generation: generation, tag: tag), forKey: key) == nil else {
                throw MalformedRow()
            }
        }
        try reader.finish()
    }
}
