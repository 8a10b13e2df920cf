import GRDB

/// The tables of a store.
enum Schema {
    /// "Osty" in ASCII; tells a store from other databases.
    private static let applicationID = 0x4F73_7479
    private static let version = 2

    static func prepare(_ database: Database) throws {
        let identifier = try Int.fetchOne(database, sql: "PRAGMA application_id") ?? 0
        let version = try Int.fetchOne(database, sql: "PRAGMA user_version") ?? 0
        let tableCount = try Int.fetchOne(database, sql: "SELECT count(*) FROM sqlite_schema") ?? 0
        if tableCount == 0, identifier == 0, version == 0 { return try create(database) }
        guard identifier == applicationID else { throw SQLiteStoreError.foreignFile }
        switch version {
        case Self.version: return
        case 1: try convertVersion1(database)
        default: throw SQLiteStoreError.newerVersion(version)
        }
    }

    /// Version 1 had no dates, names and models of credentials, and knew no registration without presence.
    private static func convertVersion1(_ database: Database) throws {
        try database.execute(
            sql: """
                ALTER TABLE challenge ADD COLUMN presence TEXT NOT NULL DEFAULT 'required';
                ALTER TABLE challenge ADD COLUMN protection INTEGER;
                ALTER TABLE credential ADD COLUMN aaguid BLOB;
                ALTER TABLE credential ADD COLUMN creation REAL;
                ALTER TABLE credential ADD COLUMN lastUse REAL;
                ALTER TABLE credential ADD COLUMN nickname TEXT;
                ALTER TABLE credential ADD COLUMN isDiscoverable INTEGER;
                PRAGMA user_version = \(version);
                """)
    }

    /// The number of open challenges is kept beside them: counting 100,000 rows takes longer than adding one.
    private static func create(_ database: Database) throws {
        try database.execute(
            sql: """
                CREATE TABLE challenge (
                    value BLOB NOT NULL PRIMARY KEY, purpose TEXT NOT NULL, account BLOB, session BLOB,
                    allowed BLOB NOT NULL, verification TEXT NOT NULL, expiration REAL NOT NULL,
                    presence TEXT NOT NULL DEFAULT 'required', protection INTEGER
                ) STRICT, WITHOUT ROWID;
                CREATE INDEX challengeByExpiration ON challenge (expiration);
                CREATE TABLE challengeCount (count INTEGER NOT NULL) STRICT;
                INSERT INTO challengeCount VALUES (0);
                CREATE TRIGGER challengeAdded AFTER INSERT ON challenge
                BEGIN UPDATE challengeCount SET count = count + 1; END;
                CREATE TRIGGER challengeRemoved AFTER DELETE ON challenge
                BEGIN UPDATE challengeCount SET count = count - 1; END;
                CREATE TABLE credential (
                    id BLOB NOT NULL PRIMARY KEY, account BLOB NOT NULL, publicKey BLOB NOT NULL,
                    counter INTEGER NOT NULL, isUserVerified INTEGER NOT NULL, isBackupEligible INTEGER NOT NULL,
                    isBackedUp INTEGER NOT NULL, transports TEXT NOT NULL, aaguid BLOB, creation REAL, lastUse REAL,
                    nickname TEXT, isDiscoverable INTEGER
                ) STRICT, WITHOUT ROWID;
                CREATE INDEX credentialByAccount ON credential (account);
                PRAGMA application_id = \(applicationID);
                PRAGMA user_version = \(version);
                """)
    }
}
