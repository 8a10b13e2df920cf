import CanonicalEncoding
import Foundation

/// A column's value as SQLite keeps it. No table has floating-point columns.
enum ColumnValue: Equatable, Sendable {
    case null
    case integer(Int64)
    case blob(Data)
    case text(String)
}

/// A row as it lies in the database: its owner, key, generation and columns.
struct SealedRow: Equatable, Sendable {
    let table: VaultTable
    let owner: VaultID
    let key: Data
    var generation: UInt64
    var columns: [ColumnValue]
    /// The row's authentication code; empty before it is stored.
    var mac = Data()

    /// Tells this writing of the row from every other.
    var code: RowCode { RowCode(prefixOf: mac) }
    var reference: RowReference { RowReference(table: table, key: key) }

    /// The bytes of the columns that ``VaultTable/countedColumns`` names.
    var byteCount: Int {
        zip(table.columns, columns).reduce(0) { count, column in
            guard case .blob(let bytes) = column.1, table.countedColumns.contains(column.0) else { return count }
            return count + bytes.count
        }
    }

    /// The bytes that the row's authentication code covers: the whole row, its store and its table. Layout:
    /// `Documentation/formats/vault.md`.
    func authenticatedBytes(store: VaultID) -> Data {
        var writer = CanonicalWriter(capacity: 256)
        writer.write(VaultFormat.rowEncodingVersion)
        writer.write(Array(table.name.utf8), length: UInt8.self)
        writer.write(fixed: store.bytes)
        writer.write(fixed: owner.bytes)
        writer.write(key, length: UInt32.self)
        writer.write(generation)
        writer.write(UInt16(columns.count))
        for column in columns { column.write(to: &writer) }
        return Data(writer.bytes)
    }
}

extension ColumnValue {
    fileprivate func write(to writer: inout CanonicalWriter) {
        switch self {
        case .null:
            writer.write(UInt8(0))
        case .integer(let value):
            writer.write(UInt8(1))
            writer.write(UInt64(bitPattern: value))
        case .blob(let bytes):
            writer.write(UInt8(2))
            writer.write(bytes, length: UInt32.self)
        case .text(let text):
            writer.write(UInt8(3))
            writer.write(Array(text.utf8), length: UInt32.self)
        }
    }
}

/// The first 16 bytes of a row's authentication code: they tell one writing of a row from every other.
struct RowCode: Hashable, Sendable {
    static let byteCount = 16
    /// Stands for the code of a missing row.
    static let none = RowCode(high: 0, low: 0)

    let high: UInt64
    let low: UInt64

    init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// - Parameter mac: the 32 bytes of a stored row. Fewer give a code that fits no row.
    init(prefixOf mac: Data) {
        guard let digest = ItemDigest(prefixOf: mac) else { self = .none; return }
        self.init(high: digest.high, low: digest.low)
    }
}

/// The versions and marks of the format.
enum VaultFormat {
    /// SQLite's `application_id`: "OVLT".
    static let applicationID: Int32 = 0x4F56_4C54
    /// SQLite's `user_version`: the newest schema this program knows.
    static let schemaVersion: UInt32 = 5
    /// The oldest schema that this program opens: that of the first release.
    static let firstSchemaVersion: UInt32 = 5
    /// First byte of the bytes that each row's authentication code covers.
    static let rowEncodingVersion: UInt8 = 1
    /// First byte of a bucket's entries.
    static let listVersion: UInt8 = 1
    /// First byte of the root's digests.
    static let rootVersion: UInt8 = 2
    /// Likewise, for a root with a ``RollbackMark`` behind the digests.
    static let markedRootVersion: UInt8 = 3
    /// First byte of an attribute record.
    static let attributesVersion: UInt8 = 1
    /// Likewise, for a record with an SSH key's constraints behind the flags.
    static let constrainedAttributesVersion: UInt8 = 2
}
