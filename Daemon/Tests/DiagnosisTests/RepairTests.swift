import AccessControl
import Foundation
import GRDB
import OstiaryMessages
import PromptProtocol
import StoreTestSupport
import Testing
import Vault

@testable import Broker
@testable import BrokerTestSupport

@Suite("Lists that are rebuilt")
struct RepairTests {
    /// A closed store with a passcode, three rights, a registered program and four items, of which one asks for the passcode.
    private static let template = Result { try makeTemplate() }
    private static let accounts = ["first", "second", "third", "guarded"]
    private static let program = "/usr/bin/true"

    private static func makeTemplate() throws -> TestFolder {
        let fixture = try BrokerFixture()
        try fixture.setPasscode()
        try fixture.create("bound", Requirement(anyOf: [.passcode]), .whenUnlocked)
        try fixture.create("free", .unrestricted, .always)
        try fixture.create("more", .unrestricted, .always)
        let client = try fixture.client()
        for account in accounts.dropLast() {
            try client.addItem(["acct": .text(account), "pdmn": .text("ak")], data: Data("data of \(account)".utf8))
        }
        try client.addItem(
            ["acct": .text("guarded"), "pdmn": .text("ak")], data: Data("data of guarded".utf8),
            accessControl: .item(Requirement(anyOf: [.passcode]), .whenUnlocked))
        fixture.prompter.prepare([.text(BrokerFixture.passcode)])
        let registration = WireRegisterApplicationRequest.with {
            ($0.path, $0.applicationID, $0.question) = (program, "com.example.tool", TestClient.question)
        }
        try client.call(.registerApplication(registration))
        fixture.close()
        return fixture.folder
    }

    private let store: StoppedStore

    init() throws { store = try StoppedStore(copying: Self.template.get()) }

    private func fixture() throws -> BrokerFixture {
        let fixture = try BrokerFixture(in: store.folder)
        fixture.prompter.prepare([.text(BrokerFixture.passcode)])
        return fixture
    }

    // MARK: what must hold afterwards

    /// Opens the store with the passcode and finds every item in order, each with its data.
    private func expectItems(
        _ fixture: BrokerFixture, _ accounts: [String] = RepairTests.accounts,
        _ location: SourceLocation = #_sourceLocation
    ) throws {
        let client = try fixture.client()
        fixture.prompter.prepare([.text(BrokerFixture.passcode)])
        try client.evaluatePolicy(2, in: client.openContext())
        fixture.prompter.prepare(accounts.contains("guarded") ? [.text(BrokerFixture.passcode)] : [])
        let found = try client.findItems(TestClient.query())
        #expect(found.map(\.item.values["acct"]) == accounts.map { .text($0) }, sourceLocation: location)
        #expect(found.map(\.data) == accounts.map { Data("data of \($0)".utf8) }, sourceLocation: location)
        #expect(fixture.prompter.unusedAnswers.isEmpty, sourceLocation: location)
        for account in accounts {
            let again = try refusal { try client.addItem(["acct": .text(account), "pdmn": .text("ak")]) }
            #expect(again == .duplicate, sourceLocation: location)
        }
    }

    private func expectObjects(_ fixture: BrokerFixture, _ location: SourceLocation = #_sourceLocation) throws {
        let client = try fixture.client()
        #expect(try fixture.opens("bound", answers: [.text(BrokerFixture.passcode)]), sourceLocation: location)
        #expect(try fixture.opens("free"), sourceLocation: location)
        #expect(try client.list().map(\.identifier).sorted() == ["bound", "free", "more"], sourceLocation: location)
        guard case .applications(let list) = try client.call(.listApplications(.init())).body else {
            throw TestClient.UnexpectedAnswer()
        }
        #expect(list.applications.map(\.applicationID) == ["com.example.tool"], sourceLocation: location)
        let again = try refusal {
            try client.create("free", AccessControl(availability: .always, using: .unrestricted))
        }
        #expect(again == .duplicate, sourceLocation: location)
    }

    private func isSound(_ fixture: BrokerFixture) throws -> Bool {
        let checks: Set = ["store", "keys", "items"]
        let findings = try fixture.client().diagnosis().findings.filter { checks.contains($0.check) }
        return findings.count == checks.count && findings.allSatisfy { $0.verdict == .ok }
    }

    private static func relisting(
        _ list: String, kept: UInt32, refused: UInt32 = 0, removed: UInt32 = 0
    ) -> WireRelisting {
        .with { ($0.list, $0.kept, $0.refused, $0.removed) = (list, kept, refused, removed) }
    }

    private static let items = "keychain items"
    private static let objects = "rights, keys and registered programs"

    // MARK: which lists are rebuilt

    @Test func `nobody is asked where every list verifies`() throws {
        let fixture = try fixture()
        let client = try fixture.client()
        #expect(try client.repair() == [])
        #expect(fixture.prompter.asked.isEmpty)
        #expect(try !client.log().contains { $0.event == "repair" })
    }

    enum ItemListDamage: CaseIterable { case altered, moved, removed, allRemoved }

    private func damageItemList(_ damage: ItemListDamage = .altered) throws {
        let one = "rowid = (SELECT min(rowid) FROM item_lists)"
        let changed =
            switch damage {
            case .altered: try store.alter("entries", of: "item_lists", where: one)
            case .moved: try store.alter("row_key", of: "item_lists", where: one)
            case .removed: try store.write("DELETE FROM item_lists WHERE \(one)")
            case .allRemoved: try store.write("DELETE FROM item_lists")
            }
        try #require(changed > 0)
    }

    @Test(arguments: ItemListDamage.allCases) func `items work again in their order`(damage: ItemListDamage) throws {
        try damageItemList(damage)
        let fixture = try fixture()
        let client = try fixture.client()
        #expect(try refusal { _ = try client.findItems(TestClient.query()) } == .itemUnreadable)
        #expect(try !isSound(fixture))
        #expect(try client.repair() == [Self.relisting(Self.items, kept: 4)])
        #expect(fixture.prompter.askedKinds == [.enterPasscode])
        #expect(try isSound(fixture))
        try expectItems(fixture)
        try expectObjects(fixture)
        try fixture.restart()
        try expectItems(fixture)
        #expect(try isSound(fixture))
    }

    @Test(arguments: ["entries", "generation", "mac", "DELETE"])
    func `rights and registered programs work again`(column: String) throws {
        let changed =
            try column == "DELETE"
            ? store.write("DELETE FROM lists WHERE \(Self.isOfObjectList)")
            : store.alter(column, of: "lists", where: Self.isOfObjectList)
        try #require(changed > 0)
        let fixture = try fixture()
        let client = try fixture.client()
        #expect(try refusal { _ = try client.find("free") } == .storeUnreadable)
        #expect(try !isSound(fixture))
        #expect(try client.repair() == [Self.relisting(Self.objects, kept: 4)])
        #expect(try isSound(fixture))
        try expectObjects(fixture)
        try expectItems(fixture)
        try fixture.restart()
        try expectObjects(fixture)
    }

    @Test func `both lists are rebuilt at once, which the log says`() throws {
        try damageItemList()
        #expect(try store.write("DELETE FROM lists WHERE \(Self.isOfObjectList)") > 0)
        let fixture = try fixture()
        #expect(
            try fixture.client().repair() == [
                Self.relisting(Self.objects, kept: 4), Self.relisting(Self.items, kept: 4),
            ])
        let question = try #require(fixture.prompter.asked.first)
        #expect(question.object?.string == "\(Self.objects) and \(Self.items)")
        #expect(question.consequence?.string.contains("nobody can tell whether a row is missing") == true)
        let log = try fixture.client().log().filter { $0.event == "repair" || $0.operation == "repair" }
        #expect(log.map(\.event) == ["authorize", "repair", "repair"])
        #expect(log.map(\.result) == ["granted", "begun", "done"])
        #expect(log.allSatisfy { $0.object == "\(Self.objects) and \(Self.items)" })
    }

    @Test func `damage that is done while the daemon runs is mended, too`() throws {
        let fixture = try fixture()
        try expectItems(fixture)
        try damageItemList(.allRemoved)
        fixture.prompter.prepare([.text(BrokerFixture.passcode)])
        #expect(try fixture.client().repair() == [Self.relisting(Self.items, kept: 4)])
        try expectItems(fixture)
        try fixture.restart()
        try expectItems(fixture)
    }

    // MARK: who may

    @Test(arguments: [
        (
            [ScriptedPrompter.Answer.text("wrong"), .text("wrong"), .text("wrong")],
            WireFailureCode.authenticationFailed
        ),
        ([.cancel], .userCancel),
    ])
    func `without the passcode nothing is changed`(answers: [ScriptedPrompter.Answer], code: WireFailureCode) throws {
        try damageItemList()
        let fixture = try fixture()
        fixture.prompter.prepare(answers)
        let before = try store.allRows()
        #expect(try refusal { _ = try fixture.client().repair() } == code)
        // What counts the wrong tries has changed.
        for table in ["items", "item_lists", "objects"] { #expect(try store.allRows()[table] == before[table]) }
        #expect(try refusal { _ = try fixture.client().findItems(TestClient.query()) } == .itemUnreadable)
        #expect(try fixture.client().log().filter { $0.event == "repair" }.map(\.result) == ["refused"])
    }

    @Test func `without a passcode the owner confirms`() throws {
        let fixture = try BrokerFixture()
        let client = try fixture.client()
        try client.addItem(["acct": .text("one"), "pdmn": .text("ak")])
        fixture.close()
        let store = try StoppedStore(copying: fixture.folder)
        #expect(try store.write("DELETE FROM item_lists") == 1)
        let damaged = try BrokerFixture(in: store.folder)
        damaged.prompter.prepare([.cancel])
        #expect(try refusal { _ = try damaged.client().repair() } == .userCancel)
        #expect(try store.rows("SELECT * FROM item_lists").isEmpty)
        damaged.prompter.prepare([.confirm])
        #expect(try damaged.client().repair() == [Self.relisting(Self.items, kept: 1)])
        #expect(damaged.prompter.askedKinds.count == 1)
        #expect(try damaged.client().itemData(TestClient.query()) == "data")
    }

    // MARK: what cannot be listed

    private func itemID(_ account: String) throws -> Data {
        let fixture = try BrokerFixture(in: store.folder)
        defer { fixture.close() }
        let client = try fixture.client()
        fixture.prompter.prepare(Array(repeating: .text(BrokerFixture.passcode), count: 2))
        try client.evaluatePolicy(2, in: client.openContext())
        let found = try client.findItems(TestClient.query("genp", ["acct": .text(account)]), data: false)
        return try #require(found.first?.item.itemID)
    }

    private static func bucket(of id: Data) -> Data {
        Data([VaultTable.items.rawValue, id[0] >> 4, id[0] << 4 | id[1] >> 4])
    }

    @Test func `an item that does not verify is refused as before, until it is deleted`() throws {
        let (id, other) = (try itemID("second"), try itemID("third"))
        try #require(Self.bucket(of: id) != Self.bucket(of: other))
        #expect(try store.alter("payload", of: "items", where: "row_key = ?", [id]) == 1)
        #expect(try store.alter("entries", of: "item_lists", where: "row_key = ?", [Self.bucket(of: other)]) == 1)
        let fixture = try fixture()
        let client = try fixture.client()
        #expect(try client.repair() == [Self.relisting(Self.items, kept: 3, refused: 1)])
        let second = TestClient.query("genp", ["acct": .text("second")])
        #expect(try refusal { _ = try client.findItems(second) } == .itemUnreadable)
        #expect(try client.deleteItems(second) == 1)
        try expectItems(fixture, ["first", "third", "guarded"])
        #expect(try isSound(fixture))
    }

    @Test func `a row of which nobody knows what it was is removed and named`() throws {
        let id = try itemID("second")
        #expect(try store.alter("payload", of: "items", where: "row_key = ?", [id]) == 1)
        #expect(try store.alter("entries", of: "item_lists", where: "row_key = ?", [Self.bucket(of: id)]) == 1)
        let fixture = try fixture()
        #expect(try fixture.client().repair() == [Self.relisting(Self.items, kept: 3, removed: 1)])
        try expectItems(fixture, ["first", "third", "guarded"])
        #expect(try isSound(fixture))
        let removal = try #require(try fixture.client().log().last { $0.operation == "repair" })
        #expect(removal.event == "remove")
        #expect(removal.object == VaultID(bytes: id)?.description)
    }

    @Test func `of two items that may not both exist the newer one stays`() throws {
        let id = try itemID("second")
        let old = try store.rows("SELECT * FROM items WHERE row_key = ?", [id])
        let fixture = try fixture()
        let client = try fixture.client()
        try client.evaluatePolicy(2, in: client.openContext())
        let second = TestClient.query("genp", ["acct": .text("second")])
        #expect(try client.deleteItems(second) == 1)
        try client.addItem(["acct": .text("second"), "pdmn": .text("ak")], data: Data("data of second".utf8))
        fixture.close()
        try store.restore(old, into: "items")
        try damageItemList(.allRemoved)
        let damaged = try self.fixture()
        #expect(try damaged.client().repair() == [Self.relisting(Self.items, kept: 4, removed: 1)])
        try expectItems(damaged, ["first", "third", "guarded", "second"])
        #expect(try store.rows("SELECT * FROM items WHERE row_key = ?", [id]).isEmpty)
    }

    @Test func `a right that does not verify is listed, refused and can be removed`() throws {
        #expect(try store.alter("payload", of: "objects", where: "rowid = (SELECT min(rowid) FROM objects)") == 1)
        #expect(try store.write("DELETE FROM lists WHERE \(Self.isOfObjectList)") > 0)
        let fixture = try fixture()
        let client = try fixture.client()
        #expect(try client.repair() == [Self.relisting(Self.objects, kept: 3, refused: 1)])
        let refused = try #require(try client.list().first { !$0.unreadableBecause.isEmpty })
        try client.remove(id: refused.rightID)
        #expect(try client.list().allSatisfy(\.unreadableBecause.isEmpty))
        #expect(try isSound(fixture))
    }

    // MARK: what was before

    @Test(arguments: [ItemListDamage.altered, .allRemoved])
    func `a part of the list of before does not fit the new one`(damage: ItemListDamage) throws {
        let old = try store.rows("SELECT * FROM item_lists")
        try damageItemList(damage)
        let fixture = try fixture()
        _ = try fixture.client().repair()
        fixture.close()
        let new = try store.rows("SELECT * FROM item_lists")
        for bucket in old {
            try store.restore([bucket], into: "item_lists")
            let fixture = try BrokerFixture(in: store.folder)
            #expect(try refusal { _ = try fixture.client().findItems(TestClient.query()) } == .itemUnreadable)
            fixture.close()
            try store.restore(new.filter { $0["row_key"] as Data == bucket["row_key"] }, into: "item_lists")
        }
        try expectItems(BrokerFixture(in: store.folder))
    }

    // MARK: rows of before

    private func rows(_ table: String, _ id: Data) throws -> [Row] {
        try store.rows("SELECT * FROM \(table) WHERE row_key = ?", [id])
    }

    /// Runs `body` against a daemon of its own over the store, opened with the passcode.
    private func running<Result>(_ body: (BrokerFixture, TestClient) throws -> Result) throws -> Result {
        let fixture = try fixture()
        defer { fixture.close() }
        let client = try fixture.client()
        try client.evaluatePolicy(2, in: client.openContext())
        return try body(fixture, client)
    }

    /// The buckets of the list of objects: their keys begin with the number of the table.
    private static let isOfObjectList = "substr(row_key, 1, 1) = x'07'"

    @Test func `a right of before is refused, and the passcode can be changed once it is removed`() throws {
        let id = try running { try $1.find("bound").rightID }
        let old = try rows("objects", id)
        try running { fixture, _ in try fixture.changePasscode(to: "another battery 8") }
        try store.restore(old, into: "objects")
        #expect(try store.write("DELETE FROM lists WHERE \(Self.isOfObjectList)") > 0)
        let fixture = try BrokerFixture(in: store.folder)
        fixture.prompter.prepare([.text("another battery 8")])
        #expect(try fixture.client().repair() == [Self.relisting(Self.objects, kept: 3, refused: 1)])
        #expect(try fixture.client().repair() == [])
        #expect(try refusal { _ = try fixture.client().find("bound") } == .notFound)
        try fixture.client().remove(id: id)
        try fixture.changePasscode("another battery 8", to: BrokerFixture.passcode)
        #expect(try isSound(fixture))
    }

    @Test func `an item of before is refused, and the passcode can be changed once it is deleted`() throws {
        let id = try itemID("guarded")
        let old = try rows("items", id)
        try running { fixture, _ in try fixture.changePasscode(to: "another battery 8") }
        try store.restore(old, into: "items")
        let other = "rowid = (SELECT min(rowid) FROM item_lists WHERE row_key <> ?)"
        #expect(try store.alter("mac", of: "item_lists", where: other, [Self.bucket(of: id)]) == 1)
        let fixture = try BrokerFixture(in: store.folder)
        fixture.prompter.prepare([.text("another battery 8")])
        #expect(try fixture.client().repair() == [Self.relisting(Self.items, kept: 3, refused: 1)])
        #expect(try fixture.client().deleteItems(TestClient.query("genp", ["acct": .text("guarded")])) == 1)
        try fixture.changePasscode("another battery 8", to: BrokerFixture.passcode)
        #expect(try isSound(fixture))
    }

    @Test func `a part of the list of before leaves no ghost beside the item that took the name`() throws {
        let id = try itemID("second")
        let bucket = try rows("item_lists", Self.bucket(of: id))
        let second = TestClient.query("genp", ["acct": .text("second")])
        try running { _, client in
            try client.deleteItems(second)
            try client.addItem(["acct": .text("second"), "pdmn": .text("ak")], data: Data("data of second".utf8))
        }
        try store.restore(bucket, into: "item_lists")
        let fixture = try fixture()
        #expect(try fixture.client().repair() == [Self.relisting(Self.items, kept: 4)])
        try expectItems(fixture, ["first", "third", "guarded", "second"])
        #expect(try isSound(fixture))
        #expect(try fixture.client().deleteItems(second) == 1)
    }

    @Test func `a row that does not verify is not listed beside the item that took its name`() throws {
        let id = try itemID("second")
        let (bucket, row) = (try rows("item_lists", Self.bucket(of: id)), try rows("items", id))
        let second = TestClient.query("genp", ["acct": .text("second")])
        try running { _, client in
            try client.deleteItems(second)
            try client.addItem(["acct": .text("second"), "pdmn": .text("ak")], data: Data("data of second".utf8))
        }
        try store.restore(bucket, into: "item_lists")
        try store.restore(row, into: "items")
        #expect(try store.alter("payload", of: "items", where: "row_key = ?", [id]) == 1)
        let fixture = try fixture()
        #expect(try fixture.client().repair() == [Self.relisting(Self.items, kept: 4, removed: 1)])
        try expectItems(fixture, ["first", "third", "guarded", "second"])
        #expect(try isSound(fixture))
    }

    @Test func `a listed item keeps its name against an old row`() throws {
        let (id, other) = (try itemID("first"), try itemID("second"))
        let old = try rows("items", other)
        try running { _, client in
            try client.updateItems(TestClient.query("genp", ["acct": .text("second")]), ["acct": .text("moved")])
            try client.updateItems(TestClient.query("genp", ["acct": .text("first")]), ["acct": .text("second")])
        }
        try store.restore(old, into: "items")
        let kept = [Self.bucket(of: id), Self.bucket(of: other)]
        let third = "rowid = (SELECT min(rowid) FROM item_lists WHERE row_key <> ? AND row_key <> ?)"
        #expect(try store.alter("mac", of: "item_lists", where: third, [kept[0], kept[1]]) == 1)
        let fixture = try fixture()
        let client = try fixture.client()
        let (moved, second) = (
            TestClient.query("genp", ["acct": .text("moved")]), TestClient.query("genp", ["acct": .text("second")])
        )
        #expect(try client.repair() == [Self.relisting(Self.items, kept: 3, refused: 1)])
        #expect(try client.itemData(second) == "data of first")
        #expect(try refusal { _ = try client.findItems(moved) } == .itemUnreadable)
    }

    @Test func `a list of rights of before is rebuilt, and one that is newer than a row is not`() throws {
        let list = try store.rows("SELECT * FROM lists WHERE \(Self.isOfObjectList)")
        let id = try running { try $1.find("bound").rightID }
        let old = try rows("objects", id)
        try running { fixture, _ in try fixture.changePasscode(to: "another battery 8") }
        let new = try rows("objects", id)
        try store.restore(old, into: "objects")
        let fixture = try BrokerFixture(in: store.folder)
        fixture.prompter.prepare([.text("another battery 8")])
        #expect(try fixture.client().repair() == [])
        fixture.close()
        try store.restore(new, into: "objects")
        for row in list { try store.restore([row], into: "lists") }
        let damaged = try BrokerFixture(in: store.folder)
        damaged.prompter.prepare([.text("another battery 8")])
        #expect(try damaged.client().repair() == [Self.relisting(Self.objects, kept: 4)])
        #expect(try damaged.opens("bound", answers: [.text("another battery 8")]))
    }

    @Test(arguments: [ItemListDamage.allRemoved, .altered])
    func `any number of repairs can follow one another`(damage: ItemListDamage) throws {
        var last: Int64 = 0
        for _ in 0..<5 {
            try damageItemList(damage)
            let fixture = try fixture()
            #expect(try fixture.client().repair() == [Self.relisting(Self.items, kept: 4)])
            fixture.close()
            let generation: Int64 = try store.rows("SELECT min(generation) FROM item_lists")[0][0]
            #expect(generation > last)
            last = generation
        }
        try expectItems(BrokerFixture(in: store.folder))
    }

    // MARK: what is asked

    @Test func `nothing more is rebuilt than what the owner was asked about`() throws {
        try damageItemList()
        let fixture = try fixture()
        let store = store
        fixture.prompter.duringNextQuestion {
            _ = try? store.write("DELETE FROM lists WHERE \(Self.isOfObjectList)")
        }
        #expect(try refusal { _ = try fixture.client().repair() } == .systemCancel)
        #expect(try store.rows("SELECT * FROM lists WHERE \(Self.isOfObjectList)").isEmpty)
        #expect(try refusal { _ = try fixture.client().findItems(TestClient.query()) } == .itemUnreadable)
    }

    @Test func `a damaged list of the users is not rebuilt, and the doctor says what follows`() throws {
        let fixture = try fixture()
        let users = Data([VaultTable.users.rawValue, 0, 0])
        #expect(try store.alter("mac", of: "lists", where: "row_key = ?", [users]) == 1)
        #expect(try fixture.client().repair() == [])
        #expect(fixture.prompter.asked.isEmpty)
        let problems = try fixture.client().diagnosis().findings.filter { $0.message.contains("list of the users") }
        #expect(problems.map(\.check) == ["start"])
        #expect(problems.allSatisfy { !$0.advice.contains("--repair") })
    }

    @Test func `a root that somebody else wrote is not rebuilt, and the doctor says what to do`() throws {
        let fixture = try fixture()
        #expect(try store.alter("lists", of: "roots", where: "1") == 1)
        #expect(try refusal { _ = try fixture.client().repair() } == .storeUnreadable)
        #expect(fixture.prompter.asked.isEmpty)
        let problems = try fixture.client().diagnosis().findings.filter { $0.message.contains("changed the store") }
        #expect(
            problems.map(\.check)
                == ["store", "keys", "items", "log epochs", "passcode", "wrong tries", "key pairs", "start"])
        #expect(problems.allSatisfy { $0.advice.contains("as a whole") && !$0.advice.contains("--repair") })
    }

    @Test(arguments: ["users", "store", "log_anchors"])
    func `the doctor says that the daemon will not start again`(table: String) throws {
        let fixture = try fixture()
        #expect(try fixture.client().diagnosis().findings.contains { $0.check == "start" && $0.verdict == .ok })
        #expect(try store.alter("mac", of: table, where: "1") == 1)
        let finding = try fixture.client().diagnosis().findings.first { $0.check == "start" }
        #expect(finding?.verdict == .problem)
        #expect(finding?.advice.contains("Restore the state folder from a backup") == true)
    }
}
