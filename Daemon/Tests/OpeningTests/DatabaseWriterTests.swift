import AccessControl
import Broker
import Foundation
import GRDB
import KeySlots
import Opening
import OstiaryMessages
import SecretMemory
import StoreTestSupport
import Testing
import Vault

@testable import BrokerTestSupport

@Suite("Somebody who writes the database")
struct DatabaseWriterTests {
    /// A store with a passcode, a right and an item that ask for it, and one of each that ask for nothing; closed.
    struct Template: Sendable {
        let folder: TestFolder
        let victimID: Data
        let victimItemID: Data
        /// A forged list of slots for the victim: sealed to the true public halves, which authenticates nobody.
        let forgedSlots: Data
    }

    static let template = Result { try makeTemplate() }

    private static func makeTemplate() throws -> Template {
        let fixture = try BrokerFixture()
        try fixture.setPasscode()
        try fixture.create("victim", Requirement(anyOf: [.passcode]), .whenUnlocked)
        try fixture.create("other", .unrestricted, .always)
        guard try fixture.opens("victim", answers: [.text("wrong"), .text(BrokerFixture.passcode)]) else {
            throw TestClient.UnexpectedAnswer()
        }
        let id = try fixture.client().find("victim").rightID
        let item = try fixture.client().addItem(
            ["acct": .text("victim"), "pdmn": .text("dk")],
            accessControl: .item(Requirement(anyOf: [.passcode]), .always))
        try fixture.client().addItem(["acct": .text("other"), "pdmn": .text("dk")])
        let forged = try forgedSlots(fixture, objectID: id)
        fixture.close()
        return Template(folder: fixture.folder, victimID: id, victimItemID: item.itemID, forgedSlots: forged)
    }

    let store: StoppedStore
    let victimID: Data
    let victimItemID: Data

    init() throws {
        let template = try Self.template.get()
        store = try StoppedStore(copying: template.folder)
        victimID = template.victimID
        victimItemID = template.victimItemID
    }

    // MARK: what must hold

    private func fixture() throws -> BrokerFixture { try BrokerFixture(in: store.folder) }

    /// The victim is refused wherever it is named, nothing of it is shown, and nobody is asked for anything.
    private func expectVictimRefused(_ fixture: BrokerFixture, _ comment: Comment? = nil) throws {
        fixture.prompter.prepare([.text(BrokerFixture.passcode)])
        let client = try fixture.client()
        let context = try client.openContext()
        let open = AccessControl(availability: .always, using: .unrestricted)
        #expect(try refusal { _ = try client.find("victim") } == .itemUnreadable, comment)
        #expect(try refusal { try client.authorize(rightID: victimID, in: context) } == .itemUnreadable, comment)
        #expect(
            try refusal { try client.authorize(rightID: victimID, in: context, preflight: true) } == .itemUnreadable,
            comment)
        #expect(try refusal { try client.create("victim", open) } == .itemUnreadable, comment)
        #expect(try refusal { try client.create("victim", open, replace: true) } == .itemUnreadable, comment)
        let list = try client.list()
        #expect(list.filter(\.unreadableBecause.isEmpty).map(\.identifier) == ["other"], comment)
        let refused = list.filter { !$0.unreadableBecause.isEmpty }
        #expect(!refused.isEmpty && refused.allSatisfy(Self.showsNothing), comment)
        #expect(try client.status().rights.unreadableCount == UInt32(refused.count), comment)
        #expect(try client.diagnosis().findings.first { $0.check == "store" }?.verdict == .problem, comment)
        #expect(fixture.prompter.asked.isEmpty, comment)
        #expect(try fixture.opens("other"), comment)
    }

    /// An item is refused wherever it is found, nothing of it is shown, and nobody is asked for anything.
    ///
    /// - Parameter isAlone: other items go on working.
    private func expectItemRefused(_ fixture: BrokerFixture, isAlone: Bool) throws {
        fixture.prompter.prepare([.text(BrokerFixture.passcode)])
        let client = try fixture.client()
        let victim = TestClient.query("genp", ["acct": .text("victim")])
        let other = TestClient.query("genp", ["acct": .text("other")])
        for query in [victim, TestClient.query(), .with { $0.itemID = victimItemID }] {
            #expect(try refusal { _ = try client.findItems(query) } == .itemUnreadable)
            #expect(try refusal { _ = try client.findItems(query, data: false, attributes: false) } == .itemUnreadable)
            #expect(try refusal { try client.updateItems(query, data: Data()) } == .itemUnreadable)
        }
        let again = try refusal { try client.addItem(["acct": .text("victim"), "pdmn": .text("dk")]) }
        #expect(again == (isAlone ? .duplicate : .itemUnreadable))
        #expect(try client.diagnosis().findings.first { $0.check == "items" }?.verdict == .problem)
        #expect(try refusal { _ = try client.findItems(other) } == (isAlone ? nil : .itemUnreadable))
        #expect(try refusal { try client.deleteItems(victim) } == (isAlone ? nil : .itemUnreadable))
        #expect(fixture.prompter.asked.isEmpty)
        #expect(try fixture.opens("victim", answers: [.text(BrokerFixture.passcode)]))
    }

    private static func showsNothing(_ right: WireRight) -> Bool {
        right.identifier.isEmpty && right.accessControl.isEmpty && right.publicKey.isEmpty && right.application.isEmpty
    }

    /// The passcode is not asked for and opens nothing; what needs none works.
    private func expectPasscodeUnusable(
        _ fixture: BrokerFixture, _ code: WireFailureCode, _ comment: Comment? = nil
    ) throws {
        fixture.prompter.prepare([.text(BrokerFixture.passcode)])
        let client = try fixture.client()
        #expect(try refusal { try client.authorize("victim") } == code, comment)
        #expect(try refusal { try client.evaluatePolicy(2, in: client.openContext()) } == code, comment)
        #expect(try refusal { try client.passcode(.change) } == code, comment)
        #expect(try refusal { try client.passcode(.remove) } == code, comment)
        #expect(fixture.prompter.asked.isEmpty, comment)
        #expect(try fixture.opens("other"), comment)
    }

    /// What a changed or missing row of this table leads to.
    private func expectFaultRefused(in table: String) throws {
        switch table {
        case "objects": try expectVictimRefused(fixture())
        case "passcode_records": try expectPasscodeUnusable(fixture(), .storeUnreadable)
        case "attempt_counters": try expectPasscodeUnusable(fixture(), .itemUnreadable)
        case "log_epochs": try expectEpochRefused(fixture())
        case "items": try expectItemRefused(fixture(), isAlone: true)
        case "item_lists": try expectItemRefused(fixture(), isAlone: false)
        default: try expectNotOpened()
        }
    }

    private func expectNotOpened(_ comment: Comment? = nil) throws {
        let before = try store.folder.stateBytes()
        #expect(throws: BrokerOpeningError.self, comment) { try fixture() }
        #expect(try store.folder.stateBytes() == before, comment)
    }

    // MARK: every column

    struct Column: CustomTestStringConvertible, Sendable {
        let table: String
        let name: String
        var testDescription: String { "\(table).\(name)" }
    }

    static let columns: [Column] = {
        do {
            let store = try StoppedStore(copying: template.get().folder)
            return try store.rows("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'grdb%'")
                .map { $0["name"] as String }.filter { $0 != "lists" }.flatMap { table in
                    try store.rows("SELECT name FROM pragma_table_info(?)", [table]).map {
                        Column(table: table, name: $0["name"])
                    }
                }
        } catch { return [] }
    }()

    @Test func `every column of eleven tables is tried`() {
        #expect(Set(Self.columns.map(\.table)).count == 11)
        #expect(Self.columns.count == 11 * 4 + 2 + 3 + 4 + 6 + 2 + 10 + 4 + 4 + 8 + 1 + 1)
    }

    @Test(arguments: columns) func `who changes a column gains nothing`(column: Column) throws {
        let victim = ["objects": victimID, "items": victimItemID][column.table]
        let changed = try store.alter(
            column.name, of: column.table,
            where: victim == nil ? "rowid = (SELECT min(rowid) FROM \(column.table))" : "row_key = ?",
            victim.map { [$0] } ?? [])
        try #require(changed == 1)
        try expectFaultRefused(in: column.table)
    }

    /// An epoch's record only matters where the log's seals are: nothing else depends on it.
    private func expectEpochRefused(_ fixture: BrokerFixture) throws {
        let client = try fixture.client()
        #expect(try fixture.opens("victim", answers: [.text(BrokerFixture.passcode)]))
        #expect(try refusal { _ = try client.verifyLog(interactive: false) } == .storeUnreadable)
        fixture.prompter.prepare([
            .text(BrokerFixture.passcode), .text("another battery 8"), .text("another battery 8"),
        ])
        #expect(try refusal { try client.passcode(.change) } == .storeUnreadable)
        #expect(try fixture.opens("victim", answers: [.text(BrokerFixture.passcode)]))
    }

    @Test(arguments: ["altered", "removed", "unlisted"])
    func `the status says that nobody knows the wrong tries, and everything else`(_ fault: String) throws {
        let whole = try BrokerFixture(in: store.folder)
        let expected = try whole.client().status()
        #expect(expected.passcode.failedAttempts != nil && expected.passcode.lockedOutSeconds != nil)
        whole.close()
        switch fault {
        case "altered": #expect(try store.alter("generation", of: "attempt_counters", where: "1") == 1)
        case "removed": try store.write("DELETE FROM attempt_counters")
        default:
            let list = Data([VaultTable.attemptCounters.rawValue, 0, 0])
            #expect(try store.alter("entries", of: "lists", where: "row_key = ?", [list]) == 1)
        }
        let fixture = try fixture()
        let status = try fixture.client().status()
        #expect(status.passcode.failedAttempts == nil && status.passcode.lockedOutSeconds == nil)
        let factor = try #require(status.factors.first { $0.factor == "passcode" })
        #expect(!factor.available && factor.note == "the counter of wrong tries cannot be read")
        var rest = expected
        rest.passcode = .with { $0.isSet = true }
        rest.factors = rest.factors.map { $0.factor == "passcode" ? factor : $0 }
        #expect(status == rest)
        try expectPasscodeUnusable(fixture, .itemUnreadable)
    }

    // MARK: whole rows

    @Test(arguments: Set(columns.map(\.table)).sorted()) func `who deletes rows gains nothing`(table: String) throws {
        if let victim = ["objects": victimID, "items": victimItemID][table] {
            try store.write("DELETE FROM \(table) WHERE row_key = ?", [victim])
        } else {
            try store.write("DELETE FROM \(table)")
        }
        try expectFaultRefused(in: table)
    }

    @Test(arguments: ["entries", "generation", "mac", "DELETE"], VaultTable.allCases)
    func `who changes a list of rows gains nothing`(column: String, table: VaultTable) throws {
        let condition = "row_key = ?"
        // Of the list of objects one bucket: that of the victim's first twelve bits.
        let bucket: [UInt8] =
            table == .objects ? [victimID[0] >> 4, victimID[0] << 4 | victimID[1] >> 4] : [0, 0]
        let changed =
            try column == "DELETE"
            ? store.write("DELETE FROM lists WHERE \(condition)", [Data([table.rawValue] + bucket)])
            : store.alter(column, of: "lists", where: condition, [Data([table.rawValue] + bucket)])
        // Items have a table for their list; the other tables are those of the lists, and the store's own record.
        let unlisted: [VaultTable] = [.store, .items, .lists, .itemLists, .roots]
        try #require((changed == 1) == !unlisted.contains(table))
        guard changed == 1 else { return }
        switch table {
        case .objects: try expectNoRights(fixture())
        case .passcodeRecords, .attemptCounters: try expectPasscodeUnusable(fixture(), .itemUnreadable)
        case .logEpochs:
            let fixture = try fixture()
            #expect(try fixture.opens("victim", answers: [.text(BrokerFixture.passcode)]))
            #expect(try refusal { _ = try fixture.client().verifyLog(interactive: false) } == .itemUnreadable)
        default: try expectNotOpened()
        }
    }

    /// Without an authentic list no right is used, and none is said to be absent.
    private func expectNoRights(_ fixture: BrokerFixture) throws {
        let client = try fixture.client()
        #expect(try refusal { _ = try client.openContext() } == .storeUnreadable)
        #expect(try refusal { _ = try client.find("other") } == .storeUnreadable)
        #expect(try refusal { _ = try client.find("never made") } == .storeUnreadable)
        #expect(try refusal { _ = try client.list() } == .storeUnreadable)
        #expect(try refusal { try client.authorize(rightID: victimID, in: 1) } == .storeUnreadable)
        #expect(try refusal { try fixture.create("new", .unrestricted, .always) } == .storeUnreadable)
        #expect(try refusal { try client.remove(id: victimID) } == .storeUnreadable)
        #expect(try client.diagnosis().findings.first { $0.check == "store" }?.verdict == .problem)
        #expect(fixture.prompter.asked.isEmpty)
    }

    @Test func `a right that cannot be read is listed beside the others, without its name`() throws {
        var fixture = try BrokerFixture(in: store.folder)
        for name in ["b", "zz", "a", "B"] {
            try fixture.client().create(name, AccessControl(availability: .always, using: .unrestricted))
        }
        fixture.close()
        #expect(try store.alter("slots", of: "objects", where: "row_key = ?", [victimID]) == 1)
        fixture = try self.fixture()
        let list = try fixture.client().list()
        #expect(list.map(\.identifier).sorted() == ["", "B", "a", "b", "other", "zz"])
        #expect(list.first { $0.identifier.isEmpty }?.rightID == victimID)
        #expect(list.filter { !$0.unreadableBecause.isEmpty }.map(\.rightID) == [victimID])
    }

    @Test(arguments: ["public_key", "key_blob", "slots", "access_control", "attribute_record", "payload", "mac"])
    func `who swaps a column of two rights makes both unreadable`(column: String) throws {
        try store.write(
            """
            CREATE TEMP TABLE old AS SELECT row_key, \(column) AS value FROM objects;
            UPDATE objects SET \(column) = (SELECT value FROM old WHERE old.row_key <> objects.row_key);
            """)
        let fixture = try fixture()
        let client = try fixture.client()
        #expect(try client.list().allSatisfy { !$0.unreadableBecause.isEmpty && Self.showsNothing($0) })
        for name in ["victim", "other"] { #expect(try refusal { _ = try client.find(name) } == .itemUnreadable) }
    }

    @Test func `an unreadable right can be removed, and its name is free again`() throws {
        _ = try store.alter("slots", of: "objects", where: "row_key = ?", [victimID])
        let fixture = try fixture()
        let client = try fixture.client()
        try client.remove("victim")
        #expect(try client.list().map(\.identifier) == ["other"])
        try fixture.create("victim", .unrestricted, .always)
        #expect(try fixture.opens("victim"))
    }

    @Test(arguments: ["altered", "removed", "planted"])
    func `a row that does not verify can be removed by its id, and nothing else goes with it`(_ fault: String) throws {
        var id = victimID
        switch fault {
        case "altered": _ = try store.alter("name_digest", of: "objects", where: "row_key = ?", [victimID])
        case "removed": try store.write("DELETE FROM objects WHERE row_key = ?", [victimID])
        default:
            id = VaultID().bytes
            try store.write("UPDATE objects SET row_key = ? WHERE row_key = ?", [id, victimID])
        }
        let fixture = try fixture()
        let client = try fixture.client()
        #expect(try client.list().contains { $0.rightID == id && !$0.unreadableBecause.isEmpty })
        let advice = try client.diagnosis().findings.first { $0.check == "store" }?.advice
        #expect(advice?.contains("`ostiary right remove --id ID`") == true)

        try client.remove(id: id)
        #expect(try client.list().allSatisfy { $0.rightID != id })
        #expect(try refusal { try client.remove(id: id) } == .notFound)
        if id != victimID { try client.remove(id: victimID) }
        #expect(try client.list().map(\.identifier) == ["other"])
        #expect(try client.diagnosis().findings.first { $0.check == "store" }?.verdict == .ok)
        #expect(try fixture.opens("other"))
    }

    // MARK: forgery and replay

    /// Slots that open with the true keys, to an access secret of the forger's choice, without any factor.
    private static func forgedSlots(_ fixture: BrokerFixture, objectID: Data) throws -> Data {
        let object = try #require(try fixture.objects().first { $0.id.bytes == objectID })
        let header = try #require(try fixture.slots(of: object).first?.header)
        let halves = Dictionary(uniqueKeysWithValues: fixture.publicHalves().map { ($0.role, $0) })
        let slots = try SlotSealer.seal(
            SecretBytes(random: 32), alternatives: [[]], header: header, publicHalves: { halves[$0] })
        return KeySlot.encode(slots)
    }

    @Test func `forged slots, which would open, are refused with their row`() throws {
        let forged = try Self.template.get().forgedSlots
        #expect(try store.write("UPDATE objects SET slots = ? WHERE row_key = ?", [forged, victimID]) == 1)
        try expectVictimRefused(fixture())
    }

    @Test func `a planted right is refused by its id and not found by its name`() throws {
        let id = VaultID().bytes
        let forged = try Self.template.get().forgedSlots
        let row = try #require(try store.rows("SELECT * FROM objects WHERE row_key = ?", [victimID]).first)
        var values = Dictionary(uniqueKeysWithValues: zip(row.columnNames, row.databaseValues))
        values["row_key"] = id.databaseValue
        values["slots"] = forged.databaseValue
        values["name_digest"] = Data(count: 32).databaseValue
        values["mac"] = Data(count: 32).databaseValue
        let columns = Array(row.columnNames)
        let places = columns.map { _ in "?" }.joined(separator: ", ")
        try store.write(
            "INSERT INTO objects (\(columns.joined(separator: ", "))) VALUES (\(places))",
            StatementArguments(columns.map { values[$0] ?? .null }))
        let fixture = try fixture()
        let client = try fixture.client()
        let context = try client.openContext()
        #expect(try refusal { try client.authorize(rightID: id, in: context) } == .itemUnreadable)
        #expect(try client.list().filter { !$0.unreadableBecause.isEmpty }.map(\.rightID) == [id])
        #expect(try refusal { _ = try client.find("planted") } == .notFound)
        #expect(try fixture.opens("victim", answers: [.text(BrokerFixture.passcode)]))
    }

    /// Rows of the template, put back after a change.
    private func replay(
        _ table: String, where condition: String = "1", _ arguments: StatementArguments = [],
        after change: (BrokerFixture) throws -> Void
    ) throws {
        let old = try store.rows("SELECT * FROM \(table) WHERE \(condition)", arguments)
        let fixture = try fixture()
        try change(fixture)
        fixture.close()
        try store.restore(old, into: table)
    }

    private func changePasscode(_ fixture: BrokerFixture) throws { try fixture.changePasscode(to: "another battery 8") }

    @Test func `an old row of a right is not accepted`() throws {
        try replay("objects", where: "row_key = ?", [victimID], after: changePasscode)
        try expectVictimRefused(fixture())
    }

    @Test func `old key pairs are not accepted`() throws {
        try replay("key_pairs", after: changePasscode)
        try expectNotOpened()
    }

    @Test func `an old passcode record is not accepted`() throws {
        try replay("passcode_records", after: changePasscode)
        try expectPasscodeUnusable(fixture(), .storeUnreadable)
    }

    @Test func `an old counter of wrong passcodes is not accepted`() throws {
        try replay("attempt_counters") { fixture in
            let wrong = ScriptedPrompter.Answer.text("wrong")
            _ = try fixture.refusalOfAuthorizing("victim", answers: [wrong, wrong, wrong])
        }
        try expectPasscodeUnusable(fixture(), .itemUnreadable)
    }

    @Test func `an old anchor of the log is not accepted`() throws {
        try replay("log_anchors") { _ = try $0.opens("other") }
        try expectNotOpened()
    }

    @Test func `a trigger that would keep copies of wraps is found`() throws {
        try store.write("CREATE TRIGGER spy AFTER DELETE ON objects BEGIN SELECT 1; END")
        try expectNotOpened()
    }
}

extension TestFolder {
    /// The database and the log; SQLite's shared memory changes by being looked at.
    fileprivate func stateBytes() throws -> [Data] {
        try ["vault.sqlite", "audit.log"].map {
            try Data(contentsOf: URL(fileURLWithPath: BrokerFixture.stateDirectory(in: self) + "/" + $0))
        }
    }
}
