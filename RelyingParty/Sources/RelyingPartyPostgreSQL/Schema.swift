/// The tables of a store, in a schema of their own.
enum Schema {
    private static let version: Int64 = 2
    /// "Ostiary" in ASCII: servers that start at the same time make the schema one after the other.
    private static let lock: Int64 = 0x4F73_7469_6172_79

    @Sendable static func prepare(_ connection: Connection) throws(PostgreSQLStoreError) {
        try connection.transaction { () throws(PostgreSQLStoreError) in
            try connection.execute("SELECT pg_advisory_xact_lock($1)", [.integer(lock)])
            let exists = "SELECT 1 FROM pg_namespace WHERE nspname = 'relying_party'"
            if try connection.execute(exists).rows.isEmpty { return try create(connection) }
            try check(connection)
        }
    }

    private static func check(_ connection: Connection) throws(PostgreSQLStoreError) {
        let table = "SELECT to_regclass('relying_party.store_version') IS NOT NULL"
        guard try connection.execute(table).rows.first?.boolean(0) == true else { throw .foreignSchema }
        guard let row = try connection.execute("SELECT number FROM relying_party.store_version").rows.first else {
            throw .foreignSchema
        }
        let number = try row.integer(0)
        switch number {
        case version: return
        case 1: try convertVersion1(connection)
        default: throw .newerVersion(Int(clamping: number))
        }
    }

    /// Version 1 had no dates, names and models of credentials, and knew no registration without presence. Servers of that
    /// version that run already go on: they name the columns, and their function `add_challenge` stays.
    private static func convertVersion1(_ connection: Connection) throws(PostgreSQLStoreError) {
        try connection.script(
            """
            ALTER TABLE relying_party.challenge
                ADD COLUMN presence text NOT NULL DEFAULT 'required', ADD COLUMN protection bigint;
            ALTER TABLE relying_party.credential
                ADD COLUMN aaguid bytea, ADD COLUMN creation double precision, ADD COLUMN last_use double precision,
                ADD COLUMN nickname text, ADD COLUMN is_discoverable boolean;
            \(addChallenge)
            UPDATE relying_party.store_version SET number = \(version);
            """)
    }

    /// Challenges are unlogged: they live for minutes, and writing them costs no flush. After a crash the database empties
    /// the tables, both together. So no challenge comes back that was taken before.
    ///
    /// The number of open challenges is kept beside them: counting 100,000 rows takes longer than adding one. It is locked
    /// after rows of challenges everywhere, so nobody waits in a circle.
    private static func create(_ connection: Connection) throws(PostgreSQLStoreError) {
        try connection.script(
            """
            CREATE SCHEMA relying_party;
            CREATE TABLE relying_party.store_version (number bigint NOT NULL);
            INSERT INTO relying_party.store_version VALUES (\(version));
            CREATE UNLOGGED TABLE relying_party.challenge (
                value bytea PRIMARY KEY, purpose text NOT NULL, account bytea, session bytea, allowed bytea NOT NULL,
                verification text NOT NULL, expiration double precision NOT NULL,
                presence text NOT NULL DEFAULT 'required', protection bigint
            );
            CREATE INDEX challenge_by_expiration ON relying_party.challenge (expiration);
            CREATE UNLOGGED TABLE relying_party.challenge_count (
                single boolean PRIMARY KEY CHECK (single), number bigint NOT NULL
            ) WITH (fillfactor = 10);
            CREATE TABLE relying_party.credential (
                id bytea PRIMARY KEY, account bytea NOT NULL, public_key bytea NOT NULL, counter bigint NOT NULL,
                is_user_verified boolean NOT NULL, is_backup_eligible boolean NOT NULL, is_backed_up boolean NOT NULL,
                transports text NOT NULL, aaguid bytea, creation double precision, last_use double precision,
                nickname text, is_discoverable boolean
            );
            CREATE INDEX credential_by_account ON relying_party.credential (account);
            \(counting)
            \(addChallenge)
            """)
    }

    private static let counting = """
        CREATE FUNCTION relying_party.count_challenges() RETURNS trigger LANGUAGE plpgsql AS $body$
        DECLARE change bigint;
        BEGIN
            IF TG_OP = 'INSERT' THEN
                SELECT count(*) INTO change FROM changed;
            ELSE
                SELECT -count(*) INTO change FROM changed;
            END IF;
            IF change <> 0 THEN
                INSERT INTO relying_party.challenge_count VALUES (true, change)
                ON CONFLICT (single) DO UPDATE SET number = relying_party.challenge_count.number + change;
            END IF;
            RETURN NULL;
        END $body$;
        CREATE TRIGGER added AFTER INSERT ON relying_party.challenge REFERENCING NEW TABLE AS changed
            FOR EACH STATEMENT EXECUTE FUNCTION relying_party.count_challenges();
        CREATE TRIGGER removed AFTER DELETE ON relying_party.challenge REFERENCING OLD TABLE AS changed
            FOR EACH STATEMENT EXECUTE FUNCTION relying_party.count_challenges();
        """

    /// `add_challenge` returns null, or the number of open challenges if there are too many. Each call removes a few expired
    /// ones: no call pays for many.
    private static let addChallenge = """
        CREATE FUNCTION relying_party.add_challenge(
            new_value bytea, purpose text, account bytea, session bytea, allowed bytea, verification text,
            expiration double precision, now double precision, maximum bigint,
            presence text, protection bigint
        ) RETURNS bigint LANGUAGE plpgsql AS $body$
        DECLARE open_count bigint;
        BEGIN
            DELETE FROM relying_party.challenge WHERE value IN (
                SELECT c.value FROM relying_party.challenge c WHERE c.expiration <= now
                ORDER BY c.expiration LIMIT 16 FOR UPDATE SKIP LOCKED);
            SELECT number INTO open_count FROM relying_party.challenge_count FOR UPDATE;
            IF open_count >= maximum THEN RETURN open_count; END IF;
            INSERT INTO relying_party.challenge
            VALUES (new_value, purpose, account, session, allowed, verification, expiration, presence,
                protection);
            RETURN NULL;
        END $body$;
        """
}
