public import Foundation
import GRDB
public import RelyingParty

extension SQLiteStore: CredentialStore {
    public func add(_ credential: CredentialRecord) async throws -> Bool {
        try await insert(credential, by: Self.insertCredential)
    }

    /// One statement looks and inserts, and the database has one writer at a time.
    public func addFirst(_ credential: CredentialRecord) async throws -> Bool {
        try await insert(credential, by: Self.insertFirstCredential, credential.userHandle)
    }

    private func insert(_ credential: CredentialRecord, by sql: String, _ more: Data...) async throws -> Bool {
        let arguments: StatementArguments = [
            credential.id, credential.userHandle, credential.publicKey, Int64(credential.signatureCounter),
            credential.isUserVerified, credential.isBackupEligible, credential.isBackedUp,
            credential.transports.joined(separator: " "), credential.aaguid,
            credential.creation?.timeIntervalSince1970, credential.lastUse?.timeIntervalSince1970,
            credential.nickname, credential.isDiscoverable,
        ]
        return try await database.write { database in
            try database.cachedStatement(sql: sql).execute(arguments: arguments + StatementArguments(more))
            return database.changesCount == 1
        }
    }

    public func credential(_ id: Data) async throws -> CredentialRecord? {
        try await database.read { database in
            try Row.fetchOne(database.cachedStatement(sql: Self.credentialByID), arguments: [id]).map(Self.record)
        }
    }

    public func credentials(of account: Data) async throws -> [CredentialRecord] {
        try await database.read { database in
            try Row.fetchAll(database.cachedStatement(sql: Self.credentialsByAccount), arguments: [account])
                .map(Self.record)
        }
    }

    /// One statement compares and sets, so nothing can happen in between.
    public func accept(_ use: CredentialUse) async throws -> CredentialUseOutcome {
        try await database.write { database in
            let counter = Int64(use.signatureCounter)
            try database.cachedStatement(sql: Self.acceptUse).execute(arguments: [
                counter, use.isBackedUp, use.date?.timeIntervalSince1970, use.credentialID, counter, counter,
            ])
            if database.changesCount == 1 { return .accepted }
            let statement = try database.cachedStatement(sql: "SELECT counter FROM credential WHERE id = ?")
            guard let stored = try Int64.fetchOne(statement, arguments: [use.credentialID]) else {
                return .unknownCredential
            }
            guard let stored = UInt32(exactly: stored) else { throw SQLiteStoreError.damagedRow }
            return .counterNotIncreased(stored: stored)
        }
    }

    public func rename(_ id: Data, of account: Data, to nickname: String?) async throws -> Bool {
        try await database.write { database in
            try database.cachedStatement(sql: "UPDATE credential SET nickname = ? WHERE id = ? AND account = ?")
                .execute(arguments: [nickname, id, account])
            return database.changesCount == 1
        }
    }

    public func remove(_ id: Data, of account: Data) async throws -> Bool {
        try await database.write { database in
            let statement = try database.cachedStatement(sql: "DELETE FROM credential WHERE id = ? AND account = ?")
            try statement.execute(arguments: [id, account])
            return database.changesCount == 1
        }
    }

    /// One statement looks and removes, and the database has one writer at a time.
    public func removeUnlessLast(_ id: Data, of account: Data) async throws -> CredentialRemovalOutcome {
        try await database.write { database in
            let removal = try database.cachedStatement(sql: Self.removeCredentialUnlessLast)
            try removal.execute(arguments: [id, account, account, id])
            if database.changesCount == 1 { return .removed }
            let statement = try database.cachedStatement(sql: "SELECT 1 FROM credential WHERE id = ? AND account = ?")
            return try Int.fetchOne(statement, arguments: [id, account]) == nil ? .unknownCredential : .isLast
        }
    }

    static let insertCredential = "INSERT OR IGNORE INTO credential VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
    static let insertFirstCredential = """
        INSERT OR IGNORE INTO credential SELECT ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?
        WHERE NOT EXISTS (SELECT 1 FROM credential WHERE account = ?)
        """
    static let credentialByID = "SELECT * FROM credential WHERE id = ?"
    static let credentialsByAccount = "SELECT * FROM credential WHERE account = ? ORDER BY id"
    static let acceptUse = """
        UPDATE credential SET counter = ?, isBackedUp = ?, lastUse = coalesce(?, lastUse)
        WHERE id = ? AND (counter < ? OR (counter = 0 AND ? = 0))
        """
    static let removeCredentialUnlessLast = """
        DELETE FROM credential WHERE id = ? AND account = ?
        AND EXISTS (SELECT 1 FROM credential WHERE account = ? AND id <> ?)
        """

    private static func record(_ row: Row) throws -> CredentialRecord {
        guard let counter = UInt32(exactly: row["counter"] as Int64) else { throw SQLiteStoreError.damagedRow }
        let transports: String = row["transports"]
        return CredentialRecord(
            id: row["id"], userHandle: row["account"], publicKey: row["publicKey"], signatureCounter: counter,
            isUserVerified: row["isUserVerified"], isBackupEligible: row["isBackupEligible"],
            isBackedUp: row["isBackedUp"], transports: transports.split(separator: " ").map { String($0) },
            aaguid: row["aaguid"], creation: date(row["creation"]), lastUse: date(row["lastUse"]),
            nickname: row["nickname"], isDiscoverable: row["isDiscoverable"])
    }

    private static func date(_ seconds: Double?) -> Date? { seconds.map { Date(timeIntervalSince1970: $0) } }
}
