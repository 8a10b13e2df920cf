import Foundation
import GRDB

/// The names of accounts. Their handles are random: authenticators keep them, and they say nothing about the person.
///
/// A name belongs to nobody before a credential was registered for it. Every registration has a handle of its own, so that
/// one that somebody else began for the same name can only end in an account without a name.
final class Accounts: Sendable {
    private let database: any DatabaseWriter
    /// How long a registration may take, in seconds.
    private let lifetime: TimeInterval

    /// - Parameter path: the file; nil for accounts that end with this object.
    init(path: String?, lifetime: TimeInterval) throws {
        self.lifetime = lifetime
        database = try path.map { try DatabaseQueue(path: $0) } ?? DatabaseQueue()
        try database.write { database in
            try database.execute(
                sql: """
                    CREATE TABLE IF NOT EXISTS account
                    (handle BLOB NOT NULL PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT, WITHOUT ROWID;
                    CREATE TABLE IF NOT EXISTS registration
                    (handle BLOB NOT NULL PRIMARY KEY, name TEXT NOT NULL, expiration REAL NOT NULL)
                    STRICT, WITHOUT ROWID;
                    CREATE INDEX IF NOT EXISTS registrationByExpiration ON registration (expiration)
                    """)
        }
    }

    /// Keeps the name of a registration until it ends. Those that expired go.
    func begin(_ handle: Data, name: String, at date: Date) async throws {
        let (now, end) = (date.timeIntervalSince1970, date.timeIntervalSince1970 + lifetime)
        try await database.write { database in
            try database.execute(sql: "DELETE FROM registration WHERE expiration <= ?", arguments: [now])
            try database.execute(sql: "INSERT INTO registration VALUES (?, ?, ?)", arguments: [handle, name, end])
        }
    }

    /// Gives the name of a registration to its account. Returns nil if the name belongs to another account by now.
    func claim(_ handle: Data) async throws -> String? {
        try await database.write { database in
            let taken = try String.fetchOne(
                database, sql: "DELETE FROM registration WHERE handle = ? RETURNING name", arguments: [handle])
            guard let name = taken else { return nil }
            try database.execute(
                sql: "INSERT INTO account VALUES (?, ?) ON CONFLICT DO NOTHING", arguments: [handle, name])
            return database.changesCount == 1 ? name : nil
        }
    }

    func handle(of name: String) async throws -> Data? {
        try await database.read { database in
            try Data.fetchOne(database, sql: "SELECT handle FROM account WHERE name = ?", arguments: [name])
        }
    }

    func name(of handle: Data) async throws -> String? {
        try await database.read { database in
            try String.fetchOne(database, sql: "SELECT name FROM account WHERE handle = ?", arguments: [handle])
        }
    }
}
