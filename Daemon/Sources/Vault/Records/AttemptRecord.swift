public import Foundation

/// Wrong guesses at one secret. It is committed *before* a guess is checked, so that killing the daemon gains no free guess.
public struct AttemptRecord: Equatable, Sendable {
    public let owner: VaultID
    /// Names the guessed secret: the passcode, or the application password of one object. At most 65,535 bytes, chosen
    /// by the caller.
    public let subject: Data
    public let failedCount: UInt32
    /// How long to wait, encoded by the module that computes delays.
    public let delayState: Data

    public init(owner: VaultID, subject: Data, failedCount: UInt32, delayState: Data) {
        self.owner = owner
        self.subject = subject
        self.failedCount = failedCount
        self.delayState = delayState
    }
}

extension AttemptRecord: SealedRecord {
    static var table: VaultTable { .attemptCounters }
    var rowKey: Data { subject }
    var columns: [ColumnValue] { [.integer(Int64(failedCount)), .blob(delayState)] }

    init(_ row: SealedRow) throws(MalformedRow) {
        var columns = ColumnReader(row.columns)
        self.init(
            owner: row.owner, subject: row.key, failedCount: try columns.integer(), delayState: try columns.blob())
    }
}
