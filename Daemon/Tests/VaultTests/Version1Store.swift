import GRDB

/// A store as version 1 of the format left it, dumped from a database that version 1's program wrote: one user, one key
/// pair, one counter, one object ("right 1"), made by `vault-writer`, with the test protector's key.
enum Version1Store {
    /// A database with the store in it.
    ///
    /// - Parameter path: nil for one in memory.
    static func make(at path: String? = nil) throws -> DatabaseQueue {
        var configuration = Configuration()
        configuration.foreignKeysEnabled = false  // The dump is in the order of the tables' names.
        let queue =
            try path.map { try DatabaseQueue(path: $0, configuration: configuration) }
            ?? DatabaseQueue(configuration: configuration)
        try queue.writeWithoutTransaction { try $0.execute(sql: sql) }
        return queue
    }

    static let ownerHexadecimal = "98d791c7a7fbec44007b52777ae0e24e"

    private static let sql = """
        CREATE TABLE attempt_counters (
            owner BLOB NOT NULL, row_key BLOB NOT NULL, generation INTEGER NOT NULL, mac BLOB NOT NULL, failed_count INTEGER NOT NULL, delay_state BLOB NOT NULL, PRIMARY KEY (owner, row_key), FOREIGN KEY (owner) REFERENCES users (row_key)
        ) STRICT;
        INSERT INTO "attempt_counters" VALUES(X'98D791C7A7FBEC44007B52777AE0E24E',X'70617373636F6465',1,X'316035FF02ABB2A1F328B48A96B4BDF3EF848B32487EE337DE6BEB1D8415D481',1,X'');
        CREATE TABLE grdb_migrations (identifier TEXT NOT NULL PRIMARY KEY);
        INSERT INTO "grdb_migrations" VALUES('1');
        CREATE TABLE key_pairs (
            owner BLOB NOT NULL, row_key BLOB NOT NULL, generation INTEGER NOT NULL, mac BLOB NOT NULL, epoch INTEGER NOT NULL, public_half BLOB NOT NULL, wrap_kind INTEGER,
            wrapped_private_half BLOB, PRIMARY KEY (owner, row_key), FOREIGN KEY (owner) REFERENCES users (row_key)
        ) STRICT;
        INSERT INTO "key_pairs" VALUES(X'98D791C7A7FBEC44007B52777AE0E24E',X'01',1,X'6EA04D829D882589244424AEA9AC1DD11A14B547958F70BB44B93CC2CF4E4C82',1,\(filler),NULL,NULL);
        CREATE TABLE log_anchors (
            owner BLOB NOT NULL, row_key BLOB NOT NULL, generation INTEGER NOT NULL, mac BLOB NOT NULL, count INTEGER NOT NULL, head BLOB NOT NULL, epoch INTEGER NOT NULL, sealed_key BLOB NOT NULL,
            PRIMARY KEY (owner, row_key)
        ) STRICT;
        CREATE TABLE log_epochs (
            owner BLOB NOT NULL, row_key BLOB NOT NULL, generation INTEGER NOT NULL, mac BLOB NOT NULL, first_index INTEGER NOT NULL, wrap_kind INTEGER NOT NULL, wrapped_seed BLOB NOT NULL, PRIMARY KEY (owner, row_key)
        ) STRICT;
        CREATE TABLE manifests (
            owner BLOB NOT NULL, row_key BLOB NOT NULL, generation INTEGER NOT NULL, mac BLOB NOT NULL, entries BLOB NOT NULL, PRIMARY KEY (owner, row_key)
        ) STRICT;
        INSERT INTO "manifests" VALUES(X'E1064C284948B5ABC184CB129BAF0EC4',X'03',1,X'99117DD85A65F5D1C2A308622DACBE10C9C42EC3BC39F979859E086B21E6179D',X'0100000001001098D791C7A7FBEC44007B52777AE0E24E000000000000000100');
        INSERT INTO "manifests" VALUES(X'E1064C284948B5ABC184CB129BAF0EC4',X'08',0,X'A35FB87A23D76DECFA68038E2B831B923057DEDD85B07B27D9E4C307E0B255BB',X'0100000000');
        INSERT INTO "manifests" VALUES(X'E1064C284948B5ABC184CB129BAF0EC4',X'09',0,X'9D414082A47B7903262BC532C5EB7293CE9E67E2C903BC60B5B1FBBEACB96064',X'0100000000');
        INSERT INTO "manifests" VALUES(X'98D791C7A7FBEC44007B52777AE0E24E',X'04',1,X'44F963AB525D326CDF531697E2DD52F1A81837B73CADADDB65AC42F66A18C44D',X'0100000001000101000000000000000100');
        INSERT INTO "manifests" VALUES(X'98D791C7A7FBEC44007B52777AE0E24E',X'05',0,X'D2A921F7AD2AC62F2B1895000F1EA69E8F81F50BF95E6E6C4BD810039D8F516E',X'0100000000');
        INSERT INTO "manifests" VALUES(X'98D791C7A7FBEC44007B52777AE0E24E',X'06',1,X'AA8A7DA040A2D43FBEC02718B082DEC29C3C206FEB7A559FCA70E0F18ABA2DB8',X'0100000001000870617373636F6465000000000000000100');
        INSERT INTO "manifests" VALUES(X'98D791C7A7FBEC44007B52777AE0E24E',X'07',1,X'4BE4FDD2C627DB2D92B1E628C4ADDD99F606995F7B11F339387D1EC14A06AC83',X'0100000001001000000001000000000000000000000000000000000000000120B9512CD6C21936E3F490B06115B4A32C10840415A8BA9A0EC1F855DEBD613328');
        CREATE TABLE objects (
            owner BLOB NOT NULL, row_key BLOB NOT NULL, generation INTEGER NOT NULL, mac BLOB NOT NULL, kind INTEGER NOT NULL, suite INTEGER NOT NULL, name_digest BLOB NOT NULL,
            attribute_record BLOB NOT NULL, access_control BLOB NOT NULL, enclave_kind INTEGER NOT NULL,
            public_key BLOB NOT NULL, key_blob BLOB NOT NULL, payload BLOB, slots BLOB NOT NULL,
            UNIQUE (owner, kind, name_digest), PRIMARY KEY (owner, row_key), FOREIGN KEY (owner) REFERENCES users (row_key)
        ) STRICT;
        INSERT INTO "objects" VALUES(X'98D791C7A7FBEC44007B52777AE0E24E',X'00000001000000000000000000000000',1,X'97F9F19EEDAAB4C1585652AB2B168EB19AD651EE2E807F5258A8C5131265F446',1,1,X'B9512CD6C21936E3F490B06115B4A32C10840415A8BA9A0EC1F855DEBD613328',X'4BD1A0FB640D4E2DEC34DCD9B1110D8B69AF03D8A5FAC27AA16AA62CE63B61A80531CB12CDC6DFA63FC10A76B107CB6E438E3A5DB08BE296A09D239FD16A5F11BD',X'01',1,X'02',X'03',\(filler),X'04');
        CREATE TABLE passcode_records (
            owner BLOB NOT NULL, row_key BLOB NOT NULL, generation INTEGER NOT NULL, mac BLOB NOT NULL, stretch BLOB NOT NULL, salt BLOB NOT NULL, sealed_private_half BLOB NOT NULL,
            epoch INTEGER NOT NULL, state INTEGER NOT NULL, created INTEGER NOT NULL, PRIMARY KEY (owner, row_key), FOREIGN KEY (owner) REFERENCES users (row_key)
        ) STRICT;
        CREATE TABLE store (
            owner BLOB NOT NULL, row_key BLOB NOT NULL, generation INTEGER NOT NULL, mac BLOB NOT NULL, created INTEGER NOT NULL, format_version INTEGER NOT NULL, PRIMARY KEY (owner, row_key)
        ) STRICT;
        INSERT INTO "store" VALUES(X'E1064C284948B5ABC184CB129BAF0EC4',X'',1,X'5D8EA736C268CE268AF64B1708590308A6EBB3947FCAB3CE523D329C6EB81EFC',1795265805,1);
        CREATE TABLE users (
            owner BLOB NOT NULL, row_key BLOB NOT NULL, generation INTEGER NOT NULL, mac BLOB NOT NULL, uid INTEGER NOT NULL, name TEXT NOT NULL, created INTEGER NOT NULL, UNIQUE (row_key), PRIMARY KEY (owner, row_key)
        ) STRICT;
        INSERT INTO "users" VALUES(X'E1064C284948B5ABC184CB129BAF0EC4',X'98D791C7A7FBEC44007B52777AE0E24E',1,X'28B3DA55336C1AC27599083A4A7A95749D88290D5EB2013CBA0E7B4D5BAD97AF',1000,'user',0);
        PRAGMA application_id = 1331055700;
        PRAGMA user_version = 1;
        """

    /// 3,000 bytes 01: what the program fills its rows with.
    private static let filler = "CAST(replace(hex(zeroblob(3000)), '00', x'01') AS BLOB)"
}
