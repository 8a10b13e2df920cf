/// The schemas of version 1, as stores made them. Databases of that version must stay usable.
enum FormerSchema {
    static let sqlite = """
        CREATE TABLE challenge (
            value BLOB NOT NULL PRIMARY KEY, purpose TEXT NOT NULL, account BLOB, session BLOB,
            allowed BLOB NOT NULL, verification TEXT NOT NULL, expiration REAL NOT NULL
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
            isBackedUp INTEGER NOT NULL, transports TEXT NOT NULL
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX credentialByAccount ON credential (account);
        INSERT INTO challenge VALUES
            (CAST('challenge 1' AS BLOB), 'assertion', x'01', NULL, x'', 'preferred', 1800000300);
        INSERT INTO credential VALUES (CAST('credential 1' AS BLOB), x'01', x'0203', 7, 1, 0, 0, 'internal usb');
        PRAGMA application_id = 1332966521;
        PRAGMA user_version = 1;
        """

    static let postgreSQL = """
        CREATE SCHEMA relying_party;
        CREATE TABLE relying_party.store_version (number bigint NOT NULL);
        INSERT INTO relying_party.store_version VALUES (1);
        CREATE UNLOGGED TABLE relying_party.challenge (
            value bytea PRIMARY KEY, purpose text NOT NULL, account bytea, session bytea, allowed bytea NOT NULL,
            verification text NOT NULL, expiration double precision NOT NULL
        );
        CREATE INDEX challenge_by_expiration ON relying_party.challenge (expiration);
        CREATE UNLOGGED TABLE relying_party.challenge_count (
            single boolean PRIMARY KEY CHECK (single), number bigint NOT NULL
        ) WITH (fillfactor = 10);
        CREATE TABLE relying_party.credential (
            id bytea PRIMARY KEY, account bytea NOT NULL, public_key bytea NOT NULL, counter bigint NOT NULL,
            is_user_verified boolean NOT NULL, is_backup_eligible boolean NOT NULL, is_backed_up boolean NOT NULL,
            transports text NOT NULL
        );
        CREATE INDEX credential_by_account ON relying_party.credential (account);
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
        CREATE FUNCTION relying_party.add_challenge(
            new_value bytea, purpose text, account bytea, session bytea, allowed bytea, verification text,
            expiration double precision, now double precision, maximum bigint
        ) RETURNS bigint LANGUAGE plpgsql AS $body$
        DECLARE open_count bigint;
        BEGIN
            DELETE FROM relying_party.challenge WHERE value IN (
                SELECT c.value FROM relying_party.challenge c WHERE c.expiration <= now
                ORDER BY c.expiration LIMIT 16 FOR UPDATE SKIP LOCKED);
            SELECT number INTO open_count FROM relying_party.challenge_count FOR UPDATE;
            IF open_count >= maximum THEN RETURN open_count; END IF;
            INSERT INTO relying_party.challenge
            VALUES (new_value, purpose, account, session, allowed, verification, expiration);
            RETURN NULL;
        END $body$;
        INSERT INTO relying_party.challenge VALUES
            ('challenge 1', 'assertion', '\\x01', NULL, '', 'preferred', 1800000300);
        INSERT INTO relying_party.credential VALUES
            ('credential 1', '\\x01', '\\x0203', 7, true, false, false, 'internal usb');
        """
}
