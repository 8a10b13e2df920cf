public import Foundation
public import RelyingParty

extension PostgreSQLStore: CredentialStore {
    public func add(_ credential: CredentialRecord) async throws -> Bool {
        try await pool.run { connection throws(PostgreSQLStoreError) in
            try connection.execute(Self.insertCredential, Self.values(of: credential)).changedCount == 1
        }
    }

    /// A lock for the account comes first: two statements at the same time would both see an account without credentials.
    public func addFirst(_ credential: CredentialRecord) async throws -> Bool {
        try await pool.run { connection throws(PostgreSQLStoreError) in
            try connection.transaction { () throws(PostgreSQLStoreError) in
                try connection.execute(Self.lockAccount, [.bytes(credential.userHandle)])
                return try connection.execute(Self.insertFirstCredential, Self.values(of: credential)).changedCount == 1
            }
        }
    }

    private static func values(of credential: CredentialRecord) -> [PostgreSQLValue] {
        [
            .bytes(credential.id), .bytes(credential.userHandle), .bytes(credential.publicKey),
            .integer(Int64(credential.signatureCounter)), .boolean(credential.isUserVerified),
            .boolean(credential.isBackupEligible), .boolean(credential.isBackedUp),
            .text(credential.transports.joined(separator: " ")), .bytes(credential.aaguid),
            .number(credential.creation?.timeIntervalSince1970),
            .number(credential.lastUse?.timeIntervalSince1970), .text(credential.nickname),
            .boolean(credential.isDiscoverable),
        ]
    }

    public func credential(_ id: Data) async throws -> CredentialRecord? {
        try await records(Self.credentialByID, id).first
    }

    public func credentials(of account: Data) async throws -> [CredentialRecord] {
        try await records(Self.credentialsByAccount, account)
    }

    /// One statement compares and sets. If another statement changes the row meanwhile, it waits and compares with the new
    /// content ("read committed").
    public func accept(_ use: CredentialUse) async throws -> CredentialUseOutcome {
        try await pool.run { connection throws(PostgreSQLStoreError) in
            let values: [PostgreSQLValue] = [
                .bytes(use.credentialID), .integer(Int64(use.signatureCounter)), .boolean(use.isBackedUp),
                .number(use.date?.timeIntervalSince1970),
            ]
            if try connection.execute(Self.acceptUse, values).changedCount == 1 { return .accepted }
            let rows = try connection.execute(Self.counter, [.bytes(use.credentialID)]).rows
            guard let row = rows.first else { return .unknownCredential }
            guard let stored = UInt32(exactly: try row.integer(0)) else { throw .damagedRow }
            return .counterNotIncreased(stored: stored)
        }
    }

    public func rename(_ id: Data, of account: Data, to nickname: String?) async throws -> Bool {
        try await pool.run { connection throws(PostgreSQLStoreError) in
            try connection.execute(Self.renameCredential, [.bytes(id), .bytes(account), .text(nickname)])
                .changedCount == 1
        }
    }

    public func remove(_ id: Data, of account: Data) async throws -> Bool {
        try await pool.run { connection throws(PostgreSQLStoreError) in
            try connection.execute(Self.removeCredential, [.bytes(id), .bytes(account)]).changedCount == 1
        }
    }

    /// A lock for the account comes first: two statements at the same time would each see the other one's credential.
    public func removeUnlessLast(_ id: Data, of account: Data) async throws -> CredentialRemovalOutcome {
        try await pool.run { connection throws(PostgreSQLStoreError) in
            try connection.transaction { () throws(PostgreSQLStoreError) -> CredentialRemovalOutcome in
                try connection.execute(Self.lockAccount, [.bytes(account)])
                let values: [PostgreSQLValue] = [.bytes(id), .bytes(account)]
                if try connection.execute(Self.removeCredentialUnlessLast, values).changedCount == 1 { return .removed }
                let isThere = try !connection.execute(Self.credentialOfAccount, values).rows.isEmpty
                return isThere ? .isLast : .unknownCredential
            }
        }
    }

    private func records(_ sql: String, _ value: Data) async throws -> [CredentialRecord] {
        try await pool.run { connection throws(PostgreSQLStoreError) in
            var records: [CredentialRecord] = []
            for row in try connection.execute(sql, [.bytes(value)]).rows { records.append(try Self.record(row)) }
            return records
        }
    }

    private static func record(_ row: QueryResult.Row) throws(PostgreSQLStoreError) -> CredentialRecord {
        guard let counter = UInt32(exactly: try row.integer(3)) else { throw .damagedRow }
        return CredentialRecord(
            id: try row.bytes(0), userHandle: try row.bytes(1), publicKey: try row.bytes(2), signatureCounter: counter,
            isUserVerified: try row.boolean(4), isBackupEligible: try row.boolean(5), isBackedUp: try row.boolean(6),
            transports: try row.text(7).split(separator: " ").map { String($0) }, aaguid: try row.optionalBytes(8),
            creation: try date(row, 9), lastUse: try date(row, 10),
            nickname: try row.optional(11, QueryResult.Row.text),
            isDiscoverable: try row.optional(12, QueryResult.Row.boolean))
    }

    private static func date(_ row: QueryResult.Row, _ index: Int) throws(PostgreSQLStoreError) -> Date? {
        try row.optional(index, QueryResult.Row.number).map { Date(timeIntervalSince1970: $0) }
    }

    private static let columns = """
        id, account, public_key, counter, is_user_verified, is_backup_eligible, is_backed_up, transports, aaguid,
        creation, last_use, nickname, is_discoverable
        """
    static let insertCredential = """
        INSERT INTO relying_party.credential (\(columns))
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)
        ON CONFLICT (id) DO NOTHING
        """
    static let lockAccount = "SELECT pg_advisory_xact_lock(hashtextextended(encode($1, 'hex'), 0))"
    static let insertFirstCredential = """
        INSERT INTO relying_party.credential (\(columns))
        SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13
        WHERE NOT EXISTS (SELECT 1 FROM relying_party.credential WHERE account = $2)
        ON CONFLICT (id) DO NOTHING
        """
    static let credentialByID = "SELECT \(columns) FROM relying_party.credential WHERE id = $1"
    static let credentialsByAccount = "SELECT \(columns) FROM relying_party.credential WHERE account = $1 ORDER BY id"
    static let counter = "SELECT counter FROM relying_party.credential WHERE id = $1"
    static let acceptUse = """
        UPDATE relying_party.credential SET counter = $2, is_backed_up = $3, last_use = coalesce($4, last_use)
        WHERE id = $1 AND (counter < $2 OR (counter = 0 AND $2 = 0))
        """
    static let renameCredential =
        "UPDATE relying_party.credential SET nickname = $3 WHERE id = $1 AND account = $2"
    static let removeCredential = "DELETE FROM relying_party.credential WHERE id = $1 AND account = $2"
    static let removeCredentialUnlessLast = """
        DELETE FROM relying_party.credential WHERE id = $1 AND account = $2
        AND EXISTS (SELECT 1 FROM relying_party.credential WHERE account = $2 AND id <> $1)
        """
    static let credentialOfAccount = "SELECT id FROM relying_party.credential WHERE id = $1 AND account = $2"
}
