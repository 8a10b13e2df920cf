import Glibc
import GRDB

extension VaultError {
    /// The error for the caller. SQLite's text, which names tables, is dropped.
    init(_ error: DatabaseError) {
        switch error.resultCode {
        case .SQLITE_FULL: self = .diskFull
        case .SQLITE_BUSY, .SQLITE_LOCKED: self = .busy
        case .SQLITE_NOTADB, .SQLITE_CORRUPT: self = .unreadable(.notADatabase)
        default: self.init(extended: error)
        }
    }

    private init(extended error: DatabaseError) {
        switch error.extendedResultCode {
        // SQLite's code when there is no room for the journal's index.
        case .SQLITE_IOERR_SHMSIZE: self = .diskFull
        case .SQLITE_CONSTRAINT_UNIQUE, .SQLITE_CONSTRAINT_PRIMARYKEY: self = .duplicate
        case .SQLITE_CONSTRAINT_FOREIGNKEY: self = .notFound
        default: self = .io(code: error.extendedResultCode.rawValue)
        }
    }

    init(errno code: CInt) {
        self = FileSpace.isFull(code) ? .diskFull : .io(code: code)
    }

    /// Runs `body` and turns the database's errors into the vault's. Other errors pass.
    static func mapping<Result>(_ body: () throws -> Result) throws -> Result {
        do {
            return try body()
        } catch let error as DatabaseError {
            throw VaultError(error)
        }
    }
}
