import CanonicalEncoding
import Foundation

/// The one row over the whole store: the number of changes, and the digest of every list. Each transaction that changes
/// something writes it. So rows, lists and roots of different times do not fit together.
struct Root: Equatable, Sendable {
    /// Counts the transactions that changed something.
    var counter: UInt64 = 0
    /// The digest of every list of every owner.
    var lists: [ListID: Data] = [:]
    /// The store's mark of a counter outside of it; nil for a store without one.
    var rollback: RollbackMark?

    static let key = Data()
    private static let digestByteCount = 32

    /// Stands for the digest of a list until the list is written.
    static let unwritten = Data(count: digestByteCount)

    init() {}

    /// The root's row. Layout: `Documentation/formats/vault.md`.
    func row(store: VaultID) -> SealedRow {
        var writer = CanonicalWriter(capacity: 8 + lists.count * 49)
        writer.write(rollback == nil ? VaultFormat.rootVersion : VaultFormat.markedRootVersion)
        writer.write(UInt32(lists.count))
        for (list, digest) in lists.sorted(by: { $0.key < $1.key }) {
            writer.write(fixed: list.owner.bytes)
            writer.write(list.table.rawValue)
            writer.write(fixed: digest)
        }
        if let rollback {
            writer.write(UInt8(rollback.counter.count))
            writer.write(fixed: rollback.counter)
            writer.write(rollback.value)
            writer.write(rollback.generation)
        }
        return SealedRow(
            table: .roots, owner: store, key: Self.key, generation: counter, columns: [.blob(Data(writer.bytes))])
    }

    /// Decodes an authentic row.
    init(_ row: SealedRow) throws(MalformedRow) {
        counter = row.generation
        var columns = ColumnReader(row.columns)
        let bytes = try columns.blob()
        do {
            var reader = CanonicalReader(Array(bytes))
            let found = try reader.read(UInt8.self)
            let isMarked = found == VaultFormat.markedRootVersion
            guard found == VaultFormat.rootVersion || isMarked else { throw MalformedRow() }
            for _ in 0..<(try reader.read(UInt32.self)) {
                guard let owner = VaultID(bytes: Data(try reader.read(fixed: VaultID.byteCount))),
                    let table = VaultTable(rawValue: try reader.read(UInt8.self))
                else { throw MalformedRow() }
                let digest = Data(try reader.read(fixed: Self.digestByteCount))
                guard lists.updateValue(digest, forKey: ListID(owner: owner, table: table)) == nil else {
                    throw MalformedRow()
                }
            }
            if isMarked { rollback = try Self.mark(from: &reader) }
            try reader.finish()
        } catch {
            throw MalformedRow()
        }
    }

    private static func mark(from reader: inout CanonicalReader) throws -> RollbackMark {
        let byteCount = Int(try reader.read(UInt8.self))
        guard RollbackMark.byteCounts.contains(byteCount) else { throw MalformedRow() }
        let counter = Data(try reader.read(fixed: byteCount))
        let value = try reader.read(UInt64.self)
        return RollbackMark(counter: counter, value: value, generation: try reader.read(UInt64.self))
    }
}

extension ListID: Comparable {
    static func < (left: ListID, right: ListID) -> Bool {
        guard left.owner == right.owner else { return left.owner < right.owner }
        return left.table.rawValue < right.table.rawValue
    }
}
