import CanonicalEncoding
import Foundation

/// Names a list: the rows of one owner in one table.
struct ListID: Hashable, Sendable {
    let owner: VaultID
    let table: VaultTable
}

/// The entry of one row in a list. A row that differs from its entry is an older version of the row, or another row.
struct ListEntry: Equatable, Sendable {
    /// Stands for a row that does not verify; its owner can only remove it.
    static let refused = ListEntry(generation: 0, code: .none, tag: [])

    /// For an object or item, its own generation; for other rows the generation of the row.
    let generation: UInt64
    /// The code of the present row.
    let code: RowCode
    /// A second way to find the row, besides its key: an object's ``ObjectTag``, an item's place and terms; else
    /// empty.
    let tag: [UInt8]
}

/// One row of a list: its key and its entry.
struct ListedRow: Equatable, Sendable {
    let key: [UInt8]
    let entry: ListEntry
}

/// A part of a list, stored as one row of the database. The lists of keychain items and of objects have 4,096 buckets, so
/// that a change writes few short rows; every other list is one bucket. An empty bucket has no row.
enum ListBucket {
    /// Layout: `Documentation/formats/vault.md`.
    static func row(_ number: Int, of list: ListID, generation: UInt64, listing rows: [ListedRow]) -> SealedRow {
        var writer = CanonicalWriter(capacity: 8 + rows.count * 192)
        writer.write(VaultFormat.listVersion)
        writer.write(UInt32(rows.count))
        for row in rows {
            writer.write(row.key, length: UInt16.self)
            writer.write(row.entry.generation)
            writer.write(row.entry.code.high)
            writer.write(row.entry.code.low)
            writer.write(row.entry.tag, length: UInt16.self)
        }
        return SealedRow(
            table: list.table.listTable, owner: list.owner, key: key(number, of: list.table), generation: generation,
            columns: [.blob(Data(writer.bytes))])
    }

    static func key(_ number: Int, of table: VaultTable) -> Data {
        Data([table.rawValue, UInt8(number >> 8), UInt8(number & 0xff)])
    }

    /// The number of a bucket of the list, from the key of its row.
    static func number(_ key: Data, of table: VaultTable) throws(MalformedRow) -> Int {
        let bytes = Array(key)
        guard bytes.count == 3, bytes[0] == table.rawValue else { throw MalformedRow() }
        let number = Int(bytes[1]) << 8 | Int(bytes[2])
        guard number < table.bucketCount else { throw MalformedRow() }
        return number
    }

    /// The rows that an authentic bucket lists.
    static func rows(_ row: SealedRow) throws(MalformedRow) -> [ListedRow] {
        var columns = ColumnReader(row.columns)
        let bytes = try columns.blob()
        do {
            var reader = CanonicalReader(Array(bytes))
            guard try reader.read(UInt8.self) == VaultFormat.listVersion else { throw MalformedRow() }
            var rows: [ListedRow] = []
            for _ in 0..<(try reader.read(UInt32.self)) {
                let key = try reader.read(length: UInt16.self)
                let generation = try reader.read(UInt64.self)
                let code = RowCode(high: try reader.read(UInt64.self), low: try reader.read(UInt64.self))
                let tag = try reader.read(length: UInt16.self)
                rows.append(ListedRow(key: key, entry: ListEntry(generation: generation, code: code, tag: tag)))
            }
            try reader.finish()
            return rows
        } catch {
            throw MalformedRow()
        }
    }
}
