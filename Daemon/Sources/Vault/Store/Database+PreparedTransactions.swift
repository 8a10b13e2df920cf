import GRDB

/// A transaction that may change rows, by statements that are prepared once. GRDB's own methods prepare theirs each time, and
/// that takes longer than running them.
extension Database {
    /// As `beginTransaction(.immediate)`.
    func beginPrepared() throws { try run("BEGIN IMMEDIATE TRANSACTION") }

    /// As `beginTransaction(.deferred)`.
    func beginReadingPrepared() throws { try run("BEGIN DEFERRED TRANSACTION") }

    /// As `commit()`.
    func commitPrepared() throws { try run("COMMIT TRANSACTION") }

    /// Runs `body` in a savepoint of the open transaction. If `body` throws, its changes are undone; after some errors, a full
    /// disk for instance, the whole transaction is.
    func inPreparedSavepoint<Result>(_ body: () throws -> Result) throws -> Result {
        try run("SAVEPOINT change")
        do {
            let result = try body()
            try run("RELEASE SAVEPOINT change")
            return result
        } catch {
            if isInsideTransaction { try undoSavepoint() }
            throw error
        }
    }

    private func undoSavepoint() throws {
        do {
            try run("ROLLBACK TRANSACTION TO SAVEPOINT change")
            try run("RELEASE SAVEPOINT change")
        } catch {
            // Nobody can say what is left of the change, so nothing of the transaction may be committed.
            try rollback()
        }
    }

    private func run(_ sql: String) throws { try cachedStatement(sql: sql).execute() }
}
