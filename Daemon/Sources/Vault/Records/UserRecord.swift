import Foundation

/// A user of this machine, as the store knows them. Systems use user numbers again. So everything belongs to the random
/// ``id``, and a user is the same only if name *and* number fit.
public struct UserRecord: Equatable, Sendable {
    /// The owner id of all that belongs to this user.
    public let id: VaultID
    /// The system's user number.
    public let uid: UInt32
    /// The system's user name.
    public let name: String
    /// Seconds since 1970.
    public let created: UInt64

    public init(id: VaultID = VaultID(), uid: UInt32, name: String, created: UInt64) {
        self.id = id
        self.uid = uid
        self.name = name
        self.created = created
    }
}

extension UserRecord: SealedRecord {
    static var table: VaultTable { .users }
    var rowKey: Data { id.bytes }
    var columns: [ColumnValue] { [.integer(Int64(uid)), .text(name), .integer(Int64(clamping: created))] }

    init(_ row: SealedRow) throws(MalformedRow) {
        var columns = ColumnReader(row.columns)
        guard let id = VaultID(bytes: row.key) else { throw MalformedRow() }
        self.init(id: id, uid: try columns.integer(), name: try columns.text(), created: try columns.integer())
    }
}
