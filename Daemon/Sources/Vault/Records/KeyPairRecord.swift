public import Foundation

/// The key that a secret is wrapped under.
public enum WrapKind: UInt8, Sendable, CaseIterable {
    /// Opens without any factor, in this enclave only.
    case enclave = 1
    /// Opens with the private half of the passcode key.
    case passcode = 2
}

/// Bytes that another module wrapped, and the kind of their wrap. The vault never opens them.
public struct WrappedSecret: Equatable, Sendable {
    public let kind: WrapKind
    public let bytes: Data

    public init(kind: WrapKind, bytes: Data) {
        self.kind = kind
        self.bytes = bytes
    }
}

/// The current key pair of one owner in one role (a class key, the passcode key, the biometry key).
public struct KeyPairRecord: Equatable, Sendable {
    public let owner: VaultID
    /// Which key pair; the numbers are the caller's.
    public let role: UInt8
    /// Counts the key pairs that had this role.
    public let epoch: UInt32
    /// Public half; authenticated, so slots may be made with it without further checks.
    public let publicHalf: Data
    /// Wrapped private half; nil if it lies elsewhere, as the passcode key's does.
    public let wrappedPrivateHalf: WrappedSecret?

    public init(owner: VaultID, role: UInt8, epoch: UInt32, publicHalf: Data, wrappedPrivateHalf: WrappedSecret?) {
        self.owner = owner
        self.role = role
        self.epoch = epoch
        self.publicHalf = publicHalf
        self.wrappedPrivateHalf = wrappedPrivateHalf
    }
}

extension KeyPairRecord: SealedRecord {
    static var table: VaultTable { .keyPairs }
    static func rowKey(role: UInt8) -> Data { Data([role]) }
    var rowKey: Data { Self.rowKey(role: role) }
    var columns: [ColumnValue] {
        [.integer(Int64(epoch)), .blob(publicHalf)] + wrappedPrivateHalf.columns
    }

    init(_ row: SealedRow) throws(MalformedRow) {
        guard row.key.count == 1, let role = row.key.first else { throw MalformedRow() }
        var columns = ColumnReader(row.columns)
        self.init(
            owner: row.owner, role: role, epoch: try columns.integer(), publicHalf: try columns.blob(),
            wrappedPrivateHalf: try columns.optionalWrap())
    }
}
