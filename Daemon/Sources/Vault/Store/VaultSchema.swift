import GRDB

/// The tables, and the check that a database has exactly these.
enum VaultSchema {
    /// The migrations that make the tables of a new store. A later version adds one for stores of the version before.
    static func migrator() -> DatabaseMigrator {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("5") { database in
            try database.execute(sql: tables)
            try database.execute(sql: "PRAGMA application_id = \(VaultFormat.applicationID)")
            try database.execute(sql: "PRAGMA user_version = \(VaultFormat.schemaVersion)")
        }
        return migrator
    }

    /// An added trigger or view would run with the daemon's rights, for instance to keep copies of old wraps.
    static func isUnaltered(in database: Database) throws -> Bool {
        let migrator = migrator()
        guard try migrator.hasCompletedMigrations(database) else { return false }
        let pristine = try DatabaseQueue()
        try migrator.migrate(pristine)
        let expected = try pristine.read { try definitions(in: $0) }
        try ClosedConnections.close(pristine)
        return try expected == definitions(in: database)
    }

    private static func definitions(in database: Database) throws -> [[DatabaseValue]] {
        try Row.fetchAll(database, sql: "SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name")
            .map { Array($0.databaseValues) }
    }

    private static let tables = """
        CREATE TABLE store (
            \(sealed), created INTEGER NOT NULL, format_version INTEGER NOT NULL, \(key)
        ) STRICT;
        CREATE TABLE users (
            \(sealed), uid INTEGER NOT NULL, name TEXT NOT NULL, created INTEGER NOT NULL, UNIQUE (row_key), \(key)
        ) STRICT;
        CREATE TABLE key_pairs (
            \(sealed), epoch INTEGER NOT NULL, public_half BLOB NOT NULL, wrap_kind INTEGER,
            wrapped_private_half BLOB, \(key), \(ofUser)
        ) STRICT;
        CREATE TABLE passcode_records (
            \(sealed), stretch BLOB NOT NULL, salt BLOB NOT NULL, sealed_private_half BLOB NOT NULL,
            epoch INTEGER NOT NULL, state INTEGER NOT NULL, created INTEGER NOT NULL, \(key), \(ofUser)
        ) STRICT;
        CREATE TABLE attempt_counters (
            \(sealed), failed_count INTEGER NOT NULL, delay_state BLOB NOT NULL, \(key), \(ofUser)
        ) STRICT;
        CREATE TABLE objects (
            \(sealed), kind INTEGER NOT NULL, suite INTEGER NOT NULL, name_digest BLOB NOT NULL,
            attribute_record BLOB NOT NULL, access_control BLOB NOT NULL, enclave_kind INTEGER NOT NULL,
            public_key BLOB NOT NULL, key_blob BLOB NOT NULL, payload BLOB, slots BLOB NOT NULL,
            UNIQUE (owner, kind, name_digest), \(key), \(ofUser)
        ) STRICT;
        CREATE TABLE log_anchors (
            \(sealed), count INTEGER NOT NULL, head BLOB NOT NULL, epoch INTEGER NOT NULL, sealed_key BLOB NOT NULL,
            \(key)
        ) STRICT;
        CREATE TABLE log_epochs (
            \(sealed), first_index INTEGER NOT NULL, seed_owner BLOB, wrap_kind INTEGER NOT NULL,
            wrapped_seed BLOB NOT NULL, \(key)
        ) STRICT;
        CREATE TABLE items (
            \(sealed), class INTEGER NOT NULL, suite INTEGER NOT NULL, attribute_record BLOB NOT NULL,
            access_control BLOB NOT NULL, wrap_kind INTEGER, wrapped_secret BLOB, payload BLOB, key_id BLOB,
            \(key), \(ofUser)
        ) STRICT;
        CREATE TABLE lists (
            \(sealed), entries BLOB NOT NULL, \(key)
        ) STRICT;
        CREATE TABLE item_lists (
            \(sealed), entries BLOB NOT NULL, \(key), \(ofUser)
        ) STRICT;
        CREATE TABLE roots (
            \(sealed), lists BLOB NOT NULL, \(key)
        ) STRICT;
        """

    private static let sealed = """
        owner BLOB NOT NULL, row_key BLOB NOT NULL, generation INTEGER NOT NULL, mac BLOB NOT NULL
        """
    private static let key = "PRIMARY KEY (owner, row_key)"
    private static let ofUser = "FOREIGN KEY (owner) REFERENCES users (row_key)"
}
