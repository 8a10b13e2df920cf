import Foundation

/// A record that is one row of a table.
protocol SealedRecord: Sendable {
    static var table: VaultTable { get }
    /// Unique among the rows of the same owner and table.
    var rowKey: Data { get }
    /// In the order of ``VaultTable/columns``.
    var columns: [ColumnValue] { get }
    /// Decodes an authentic row.
    init(_ row: SealedRow) throws(MalformedRow)
}

extension SealedRecord {
    func row(owner: VaultID, generation: UInt64) -> SealedRow {
        SealedRow(table: Self.table, owner: owner, key: rowKey, generation: generation, columns: columns)
    }
}
