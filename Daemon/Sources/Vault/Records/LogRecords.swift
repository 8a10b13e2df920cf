import CanonicalEncoding
public import Foundation

/// Where the audit log was at its last anchor. There is at most one.
public struct LogAnchorRecord: Equatable, Sendable {
    /// Number of records.
    public let count: UInt64
    /// Head of the hash chain after them, and where they end: `Documentation/formats/audit-log.md`.
    public let head: Data
    public let epoch: UInt32
    /// Key of the record with index ``count``, sealed.
    public let sealedKey: Data

    public init(count: UInt64, head: Data, epoch: UInt32, sealedKey: Data) {
        self.count = count
        self.head = head
        self.epoch = epoch
        self.sealedKey = sealedKey
    }
}

extension LogAnchorRecord: SealedRecord {
    static var table: VaultTable { .logAnchors }
    static let rowKey = Data([1])
    var rowKey: Data { Self.rowKey }
    var columns: [ColumnValue] {
        [.integer(Int64(clamping: count)), .blob(head), .integer(Int64(epoch)), .blob(sealedKey)]
    }

    init(_ row: SealedRow) throws(MalformedRow) {
        var columns = ColumnReader(row.columns)
        self.init(
            count: try columns.integer(), head: try columns.blob(), epoch: try columns.integer(),
            sealedKey: try columns.blob())
    }
}

/// The seed that an epoch of the audit log started from, wrapped so that the running daemon cannot read it back.
public struct LogEpochRecord: Equatable, Sendable {
    public let number: UInt32
    /// Index of the epoch's first record.
    public let firstIndex: UInt64
    /// The user whose passcode opens the seed; nil while the enclave alone does.
    public let owner: VaultID?
    public let wrappedSeed: WrappedSecret

    public init(number: UInt32, firstIndex: UInt64, owner: VaultID?, wrappedSeed: WrappedSecret) {
        self.number = number
        self.firstIndex = firstIndex
        self.owner = owner
        self.wrappedSeed = wrappedSeed
    }
}

extension LogEpochRecord: SealedRecord {
    static var table: VaultTable { .logEpochs }
    static func rowKey(number: UInt32) -> Data {
        var writer = CanonicalWriter()
        writer.write(number)
        return Data(writer.bytes)
    }
    var rowKey: Data { Self.rowKey(number: number) }
    var columns: [ColumnValue] {
        [.integer(Int64(clamping: firstIndex)), owner.map { .blob($0.bytes) } ?? .null]
            + WrappedSecret?.some(wrappedSeed).columns
    }

    init(_ row: SealedRow) throws(MalformedRow) {
        guard row.key.count == 4 else { throw MalformedRow() }
        let number = row.key.reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        var columns = ColumnReader(row.columns)
        let firstIndex: UInt64 = try columns.integer()
        let ownerBytes = try columns.optionalBlob()
        let owner = ownerBytes.flatMap { VaultID(bytes: $0) }
        // A passcode is somebody's, and the enclave nobody's.
        guard let wrappedSeed = try columns.optionalWrap(), (owner == nil) == (ownerBytes == nil),
            (owner == nil) == (wrappedSeed.kind == .enclave)
        else { throw MalformedRow() }
        self.init(number: number, firstIndex: firstIndex, owner: owner, wrappedSeed: wrappedSeed)
    }
}
