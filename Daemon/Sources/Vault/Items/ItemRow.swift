import Foundation

/// An ``ItemRecord`` as its row holds it: everything but its index, which lies in the list.
struct ItemRow: SealedRecord {
    static var table: VaultTable { .items }

    let rowKey: Data
    let columns: [ColumnValue]

    init(_ record: ItemRecord) {
        rowKey = record.id.bytes
        columns =
            [
                .integer(Int64(record.itemClass.rawValue)), .integer(Int64(record.suite)), .blob(record.attributes),
                .blob(record.accessControl),
            ] + record.wrap.columns + [
                record.payload.map(ColumnValue.blob) ?? .null, record.keyID.map { .blob($0.bytes) } ?? .null,
            ]
    }

    init(_ row: SealedRow) throws(MalformedRow) {
        rowKey = row.key
        columns = row.columns
    }

    func record(owner: VaultID, generation: UInt64, index: ItemIndex) throws(MalformedRow) -> ItemRecord {
        guard let id = VaultID(bytes: rowKey) else { throw MalformedRow() }
        var columns = ColumnReader(columns)
        return ItemRecord(
            id: id, owner: owner, itemClass: try columns.code(), generation: generation, suite: try columns.integer(),
            attributes: try columns.blob(), accessControl: try columns.blob(), wrap: try columns.itemWrap(),
            payload: try columns.optionalBlob(), keyID: try columns.optionalID(), index: index)
    }
}

extension ItemWrap? {
    fileprivate var columns: [ColumnValue] {
        switch self {
        case nil: [.null, .null]
        case .classKey(let bytes)?: [.integer(1), .blob(bytes)]
        case .slots(let bytes)?: [.integer(2), .blob(bytes)]
        }
    }
}

extension ColumnReader {
    fileprivate mutating func itemWrap() throws(MalformedRow) -> ItemWrap? {
        if skipNulls(2) { return nil }
        switch try integer(UInt8.self) {
        case 1: return .classKey(try blob())
        case 2: return .slots(try blob())
        default: throw MalformedRow()
        }
    }

    fileprivate mutating func optionalID() throws(MalformedRow) -> VaultID? {
        guard let bytes = try optionalBlob() else { return nil }
        guard let id = VaultID(bytes: bytes) else { throw MalformedRow() }
        return id
    }
}
