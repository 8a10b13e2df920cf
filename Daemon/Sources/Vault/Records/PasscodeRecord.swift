public import Foundation

/// How a passcode opens the private half of the passcode key. During a change an owner has two records, the current and
/// the incoming one, until the new passcode succeeds for the first time. So no crash loses both.
public struct PasscodeRecord: Equatable, Sendable {
    public enum State: UInt8, Sendable, CaseIterable {
        case current = 1
        case incoming = 2
    }

    public let id: VaultID
    public let owner: VaultID
    /// Parameters of the stretching function, encoded by its module.
    public let stretch: Data
    public let salt: Data
    /// Private half of the passcode key, sealed by the enclave under the stretched passcode.
    public let sealedPrivateHalf: Data
    /// Epoch of the passcode key pair.
    public let epoch: UInt32
    public var state: State
    /// Seconds since 1970.
    public let created: UInt64

    public init(
        id: VaultID = VaultID(), owner: VaultID, stretch: Data, salt: Data, sealedPrivateHalf: Data, epoch: UInt32,
        state: State, created: UInt64
    ) {
        self.id = id
        self.owner = owner
        self.stretch = stretch
        self.salt = salt
        self.sealedPrivateHalf = sealedPrivateHalf
        self.epoch = epoch
        self.state = state
        self.created = created
    }
}

extension PasscodeRecord: SealedRecord {
    static var table: VaultTable { .passcodeRecords }
    var rowKey: Data { id.bytes }
    var columns: [ColumnValue] {
        [
            .blob(stretch), .blob(salt), .blob(sealedPrivateHalf), .integer(Int64(epoch)),
            .integer(Int64(state.rawValue)), .integer(Int64(clamping: created)),
        ]
    }

    init(_ row: SealedRow) throws(MalformedRow) {
        guard let id = VaultID(bytes: row.key) else { throw MalformedRow() }
        var columns = ColumnReader(row.columns)
        self.init(
            id: id, owner: row.owner, stretch: try columns.blob(), salt: try columns.blob(),
            sealedPrivateHalf: try columns.blob(), epoch: try columns.integer(), state: try columns.code(),
            created: try columns.integer())
    }
}
