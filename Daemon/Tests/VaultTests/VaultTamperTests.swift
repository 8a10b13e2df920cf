import ExactNames
import Foundation
import GRDB
import StoreTestSupport
import Testing
import Vault

@Suite("A vault whose database somebody else writes")
struct VaultTamperTests {
    let fixture: VaultFixture
    var vault: Vault { fixture.vault }
    var owner: VaultID { fixture.alice.id }

    init() throws { fixture = try VaultFixture() }

    struct Column: CustomTestStringConvertible, Sendable {
        let table: VaultTable
        let name: String
        var testDescription: String { "\(table).\(name)" }
    }

    /// Every column of every table but the store's own, as the database lists them.
    static let columns: [Column] = [
        (.users, "users"), (.keyPairs, "key_pairs"), (.passcodeRecords, "passcode_records"),
        (.attemptCounters, "attempt_counters"), (.objects, "objects"), (.logAnchors, "log_anchors"),
        (.logEpochs, "log_epochs"),
    ].flatMap { table, name in
        columnNames[name]!.map { Column(table: table, name: "\(name).\($0)") }
    }

    static let columnNames: [String: [String]] = {
        do {
            let fixture = try VaultFixture()
            return try DatabaseQueue(path: fixture.folder.path("vault.sqlite")).read { database in
                let tables = try String.fetchAll(database, sql: "SELECT name FROM sqlite_schema WHERE type = 'table'")
                return try Dictionary(
                    uniqueKeysWithValues: tables.map { ($0, try database.columns(in: $0).map(\.name)) })
            }
        } catch {
            return [:]
        }
    }()

    /// All faults that any listing of the store reports.
    private func faults() throws -> [RowFault] {
        func faults<Record>(_ stored: [Stored<Record>]) -> [RowFault] {
            stored.compactMap { if case .unreadable(_, let fault) = $0 { fault } else { nil } }
        }
        return try vault.read { reader throws in
            var all = faults(try reader.users()) + faults(try reader.logEpochs())
            for user in [fixture.alice, fixture.bob] {
                all += faults(try reader.keyPairs(owner: user.id))
                all += faults(try reader.passcodeRecords(owner: user.id))
                all += faults(try reader.objects(owner: user.id, kind: .right))
                do {
                    guard try reader.attempts(owner: user.id, subject: VaultFixture.subject) != nil else {
                        Issue.record("an attempt counter was taken to be absent")
                        continue
                    }
                } catch VaultError.corrupt(_, let fault) {
                    all.append(fault)
                }
            }
            do {
                if try reader.logAnchor() == nil { Issue.record("the log's anchor was taken to be absent") }
            } catch VaultError.corrupt(_, let fault) {
                all.append(fault)
            }
            return all
        }
    }

    @Test func `an untouched store has no faults`() throws {
        #expect(try faults() == [])
    }

    @Test func `all columns are known to these tests`() {
        #expect(Self.columns.count == 7 * 4 + 3 + 4 + 6 + 2 + 10 + 4 + 4)
    }

    @Test(arguments: columns) func `one changed column makes the row unreadable`(column: Column) throws {
        let parts = column.name.split(separator: ".")
        let (table, name) = (parts[0], parts[1])
        // The last byte of a blob or text is changed, a number counted up, a null set: always within the column's type.
        let changes = try fixture.tamper(
            """
            UPDATE \(table) SET \(name) = CASE typeof(\(name))
                WHEN 'integer' THEN \(name) + 1
                WHEN 'text' THEN \(name) || 'x'
                WHEN 'blob' THEN CAST(substr(\(name), 1, length(\(name)) - 1)
                    || CASE hex(substr(\(name), -1)) WHEN '00' THEN x'01' ELSE x'00' END AS BLOB)
                ELSE x'01' END
            WHERE rowid = (SELECT min(rowid) FROM \(table))
            """)
        #expect(changes == 1)
        let faults = try faults()
        #expect(faults.contains(.altered) || faults.contains(.removed))
        #expect(!faults.isEmpty && faults.allSatisfy { [.altered, .removed].contains($0) })
    }

    @Test func `a row that fails does not take others with it`() throws {
        try fixture.tamper("UPDATE objects SET slots = x'00' WHERE row_key = ?", [fixture.right.id.bytes])
        try vault.read { reader throws in
            let reference = RowReference(table: .objects, key: fixture.right.id.bytes)
            #expect(throws: VaultError.corrupt(reference, .altered)) {
                try reader.object(fixture.right.id, owner: owner)
            }
            #expect(try reader.object(fixture.otherRight.id, owner: owner) == fixture.otherRight)
            let all = try reader.objects(owner: owner, kind: .right)
            #expect(all.count == 2 && all.contains(.unreadable(reference, .altered)))
        }
    }

    @Test(
        arguments: [
            "accessControl": "access_control", "publicKey": "public_key", "keyBlob": "key_blob", "slots": "slots",
            "payload": "payload", "attributes": "attribute_record", "name": "name_digest", "mac": "mac",
        ].sorted(by: <).map(\.value))
    func `a column swapped between two rows makes both unreadable`(column: String) throws {
        // Different contents first, so that the swap changes something.
        var changed = fixture.otherRight
        changed.generation = 2
        changed.accessControl = Data([77])
        changed.payload = Data([78])
        changed.slots = Data([79])
        let different = ObjectRecord(
            id: changed.id, owner: owner, kind: .right, suite: 1, generation: 2, attributes: changed.attributes,
            accessControl: changed.accessControl, enclaveKind: 1, publicKey: Data([80]), keyBlob: Data([81]),
            payload: changed.payload, slots: changed.slots)
        try vault.write("update") { try $0.updateObject(different) }
        try fixture.tamper(
            """
            CREATE TEMP TABLE old AS SELECT row_key, \(column) AS value FROM objects;
            UPDATE objects SET name_digest = randomblob(32) WHERE '\(column)' = 'name_digest';
            UPDATE objects SET \(column) = (SELECT value FROM old WHERE old.row_key <> objects.row_key);
            """)
        #expect(try faults() == [.altered, .altered])
    }

    @Test func `an older copy of a row is a replay`() throws {
        let old = try savedRow("objects", key: fixture.right.id.bytes)
        var changed = fixture.right
        changed.generation = 2
        changed.accessControl = Data([55])
        try vault.write("update") { try $0.updateObject(changed) }
        try restore(old, into: "objects")
        #expect(try faults() == [.replayed])
    }

    @Test func `an older counter of wrong guesses is a replay`() throws {
        let old = try savedRow("attempt_counters", key: VaultFixture.subject)
        try vault.write("guess") { try $0.setAttempts(VaultFixture.attempts(fixture.alice, failedCount: 4)) }
        try restore(old, into: "attempt_counters")
        #expect(throws: VaultError.corrupt(RowReference(table: .attemptCounters, key: VaultFixture.subject), .replayed))
        {
            try vault.read { try $0.attempts(owner: owner, subject: VaultFixture.subject) }
        }
    }

    @Test func `a removed row that is put back is planted`() throws {
        let old = try savedRow("objects", key: fixture.right.id.bytes)
        try vault.write("remove") { try $0.removeObject(fixture.right.id, owner: owner) }
        try restore(old, into: "objects")
        #expect(try faults() == [.planted])
        #expect(throws: VaultError.corrupt(RowReference(table: .objects, key: fixture.right.id.bytes), .planted)) {
            try vault.read { try $0.object(fixture.right.id, owner: owner) }
        }
    }

    @Test func `another user's row is not accepted under one's own name`() throws {
        try fixture.tamper("DELETE FROM key_pairs WHERE owner = ?", [fixture.bob.id.bytes])
        try fixture.tamper("UPDATE key_pairs SET owner = ?", [fixture.bob.id.bytes])
        #expect(try faults().sorted { "\($0)" < "\($1)" } == [.altered, .altered, .removed, .removed])
    }

    @Test(arguments: [
        "users", "key_pairs", "passcode_records", "attempt_counters", "objects", "log_anchors", "log_epochs",
    ])
    func `deleted rows are removed, never absent`(table: String) throws {
        try fixture.tamper("DELETE FROM \(table)")
        let faults = try faults()
        #expect(!faults.isEmpty && faults.allSatisfy { $0 == .removed })
    }

    @Test func `a deleted object is missing by its id and by its name`() throws {
        try fixture.tamper("DELETE FROM objects WHERE row_key = ?", [fixture.right.id.bytes])
        let removed = VaultError.corrupt(RowReference(table: .objects, key: fixture.right.id.bytes), .removed)
        try vault.read { reader throws in
            #expect(try reader.missingObjects(owner: owner) == [fixture.right.id])
            #expect(throws: removed) { try reader.object(fixture.right.id, owner: owner) }
            #expect(throws: removed) {
                try reader.object(
                    identifier: ExactName(VaultFixture.marker), group: "group-in-clear-text", kind: .right, owner: owner
                )
            }
        }
    }

    @Test func `changing the stored name does not make an object absent`() throws {
        try fixture.tamper("UPDATE objects SET name_digest = randomblob(32)")
        #expect(throws: VaultError.corrupt(RowReference(table: .objects, key: fixture.right.id.bytes), .altered)) {
            try vault.read {
                try $0.object(
                    identifier: ExactName(VaultFixture.marker), group: "group-in-clear-text", kind: .right, owner: owner
                )
            }
        }
        let namesake = VaultFixture.object(owner: owner, identifier: ExactName(VaultFixture.marker))
        #expect(throws: VaultError.duplicate) { try vault.write("insert") { try $0.insertObject(namesake) } }
    }

    @Test(arguments: ["DELETE FROM lists", "UPDATE lists SET entries = x'0100000000'"])
    func `without an authentic list nothing is taken to be absent`(sql: String) throws {
        func corrupt(_ table: VaultTable) -> VaultError {
            sql.hasPrefix("DELETE")
                ? .corrupt(RowReference(table: .lists, key: Data([table.rawValue])), .removed)
                : .corrupt(RowReference(table: .lists, key: Data([table.rawValue] + firstBucket(table))), .altered)
        }
        /// The list of objects has many buckets; the first one that is there is reported.
        func firstBucket(_ table: VaultTable) -> [UInt8] {
            guard table == .objects else { return [0, 0] }
            let first = [fixture.right, fixture.otherRight].map { Array($0.id.bytes) }
                .min { $0.lexicographicallyPrecedes($1) }!
            return [first[0] >> 4, first[0] << 4 | first[1] >> 4]
        }
        try fixture.tamper("\(sql) WHERE owner = ?", [owner.bytes])
        var vault = try reopened()
        #expect(throws: corrupt(.passcodeRecords)) { try vault.read { try $0.passcodeRecords(owner: owner) } }
        #expect(throws: corrupt(.objects)) { try vault.read { try $0.objects(owner: owner, kind: .right) } }
        #expect(throws: corrupt(.objects)) {
            try vault.write("") { try $0.removeObject(fixture.right.id, owner: owner) }
        }
        #expect(try vault.read { try $0.keyPairs(owner: fixture.bob.id) }.compactMap(\.record).count == 2)
        try fixture.tamper(sql)
        vault = try reopened()
        #expect(throws: corrupt(.users)) { try vault.read { try $0.users() } }
        #expect(throws: corrupt(.users)) { try vault.read { try $0.passcodeRecords(owner: owner) } }
        #expect(throws: corrupt(.logAnchors)) { try vault.read { try $0.logAnchor() } }
    }

    private func reopened() throws -> Vault {
        try Vault(folder: fixture.folder.path, ownedBy: geteuid(), create: false, protector: TestProtector())
    }

    @Test func `a list of another table or owner does not stand in`() throws {
        try fixture.tamper(
            """
            UPDATE lists SET row_key = CAST(x'63' || substr(row_key, 2) AS BLOB)
            WHERE owner = ? AND substr(row_key, 1, 1) = x'07'
            """, [owner.bytes])
        let vault = try reopened()
        #expect(throws: VaultError.corrupt(RowReference(table: .lists, key: Data([7])), .removed)) {
            try vault.read { try $0.objects(owner: owner, kind: .right) }
        }
        // Bob's list of key pairs, which is not empty.
        try fixture.tamper("DELETE FROM lists WHERE owner = ? AND row_key = x'040000'", [owner.bytes])
        try fixture.tamper(
            "UPDATE lists SET owner = ? WHERE owner = ? AND row_key = x'040000'", [owner.bytes, fixture.bob.id.bytes])
        #expect(throws: VaultError.corrupt(RowReference(table: .lists, key: Data([4, 0, 0])), .altered)) {
            try reopened().read { try $0.keyPairs(owner: owner) }
        }
    }

    @Test func `a removed user does not come back with all their rows`() throws {
        let path = fixture.folder.path("vault.sqlite")
        let copy = try DatabaseQueue()
        try DatabaseQueue(path: path).backup(to: copy)
        try vault.write("remove") { try $0.removeUser(owner) }
        for table in ["lists", "item_lists", "key_pairs", "passcode_records", "attempt_counters", "objects", "users"] {
            for row in try copy.read({ try Row.fetchAll($0, sql: "SELECT * FROM \(table)") }) {
                guard [row["owner"], row["row_key"]].contains(owner.bytes) else { continue }
                try restore(row, into: table)
            }
        }
        #expect(throws: VaultError.notFound) { try vault.read { try $0.passcodeRecords(owner: owner) } }
        #expect(throws: VaultError.notFound) { try vault.read { try $0.object(fixture.right.id, owner: owner) } }
        let planted = RowReference(table: .users, key: owner.bytes)
        #expect(try vault.read { try $0.users() }.contains(.unreadable(planted, .planted)))
    }

    @Test func `an unreadable row can be removed or replaced`() throws {
        try fixture.tamper("UPDATE objects SET slots = x'00'")
        try fixture.tamper("UPDATE key_pairs SET public_half = x'00'")
        try vault.write("repair") { writer in
            try writer.removeObject(fixture.right.id, owner: owner)
            try writer.removeObject(fixture.otherRight.id, owner: owner)
            for user in [fixture.alice, fixture.bob] {
                for role in 1...2 as ClosedRange<UInt8> {
                    try writer.setKeyPair(VaultFixture.keyPair(user, role: role, epoch: 2))
                }
            }
        }
        #expect(try faults() == [])
    }

    @Test func `an unreadable object cannot be updated`() throws {
        try fixture.tamper("UPDATE objects SET slots = x'00'")
        var changed = fixture.right
        changed.generation = 2
        #expect(throws: VaultError.corrupt(RowReference(table: .objects, key: changed.id.bytes), .altered)) {
            try vault.write("update") { try $0.updateObject(changed) }
        }
    }

    @Test func `a user with a corrupt list can be removed as a whole`() throws {
        try fixture.tamper("DELETE FROM lists WHERE owner = ?", [owner.bytes])
        let vault = try reopened()
        try vault.write("remove") { try $0.removeUser(owner) }
        #expect(try vault.read { try $0.users() } == [.readable(fixture.bob)])
    }

    private func savedRow(_ table: String, key: Data) throws -> Row {
        let queue = try DatabaseQueue(path: fixture.folder.path("vault.sqlite"))
        let row = try queue.read { database in
            try Row.fetchOne(
                database, sql: "SELECT * FROM \(table) WHERE owner = ? AND row_key = ?", arguments: [owner.bytes, key])
        }
        return try #require(row)
    }

    private func restore(_ row: Row, into table: String) throws {
        let places = row.columnNames.map { _ in "?" }.joined(separator: ", ")
        try fixture.tamper(
            "INSERT OR REPLACE INTO \(table) VALUES (\(places))", StatementArguments(Array(row.databaseValues)))
    }
}
