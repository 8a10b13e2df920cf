import AccessControl
import AuditLog
import Auditing
import Foundation
import OstiaryMessages
import Owners
import StoreTestSupport
import Testing

@testable import Authenticators
@testable import Broker
@testable import BrokerTestSupport
@testable import ProtectedObjects

/// Finding without a question: locked items are listed, and nothing of them is released.
@Suite("Items that are listed", .timeLimit(.minutes(10)))
struct ItemListTests {
    private let fixture: BrokerFixture
    private let client: TestClient
    /// The items' ids, by their accounts.
    private let ids: [String: Data]

    /// A store that was restarted, so that only the class *always* is open.
    init() throws {
        fixture = try BrokerFixture()
        try fixture.setPasscode()
        let first = try fixture.client()
        var ids: [String: Data] = [:]
        for (account, values, rule) in [
            ("free", [:], nil), ("always", ["pdmn": .text("dk")], nil),
            ("bound", [:], try AccessControl.item(.passcode)),
            ("bound always", [:], try AccessControl.item(.passcode, .always)),
        ] as [(String, ItemValues, AccessControl?)] {
            let values = values.merging(["acct": .text(account)]) { $1 }
            ids[account] = try first.addItem(values, accessControl: rule).itemID
        }
        self.ids = ids
        try fixture.restart()
        fixture.prompter.prepare([])
        client = try fixture.client()
    }

    /// An item of a list, in short.
    private struct Listed: Equatable, CustomStringConvertible {
        let account: String?
        let lock: WireItemLock
        let showsAttributes: Bool
        let strength: String

        var description: String { "\(account ?? "?"): \(lock), \(showsAttributes ? "shown" : "hidden"), \(strength)" }
    }

    private func list(context: UInt64 = 0) throws -> [Listed] {
        try client.listItems(context: context).map { item in
            #expect(item.itemClass == "genp" && item.hasData_p && item.dataByteCount == 0)
            #expect(!item.accessControl.isEmpty, "rules are shown of locked items, too")
            let account = ids.first { $0.value == item.itemID }?.key
            if let shown = item.values["acct"] { #expect(shown == .text(account ?? "")) }
            if item.attributes.isEmpty { #expect(item.shownAccessControl.isEmpty) }
            return Listed(
                account: account, lock: item.lock, showsAttributes: !item.attributes.isEmpty, strength: item.strength)
        }
    }

    // MARK: listed items

    @Test func `a locked store lists every item with its lock, and asks, records and opens nothing`() throws {
        let recorded = fixture.broker.store.log.audit.recordCount
        #expect(
            try list() == [
                Listed(account: "free", lock: .closed, showsAttributes: false, strength: "key-bound"),
                Listed(account: "always", lock: .open, showsAttributes: true, strength: "broker-bound"),
                Listed(account: "bound", lock: .closed, showsAttributes: false, strength: "key-bound"),
                Listed(account: "bound always", lock: .ruled, showsAttributes: false, strength: "key-bound"),
            ])
        #expect(fixture.prompter.asked.isEmpty && fixture.broker.store.log.audit.recordCount == recorded)
        #expect(try !client.status().unlocked)
    }

    @Test func `an open store shows what asks for nothing, and says which rules ask`() throws {
        try fixture.unlock()
        #expect(try list().map(\.lock) == [.open, .open, .ruled, .ruled])
        #expect(try list().map(\.showsAttributes) == [true, true, false, false])
        try client.lock()
        #expect(try list().map(\.lock) == [.closed, .open, .closed, .ruled])
    }

    @Test func `without attributes there are neither rules nor labels`() throws {
        for item in try client.listItems(attributes: false) {
            #expect(item.attributes.isEmpty && item.accessControl.isEmpty && item.strength.isEmpty)
            #expect(item.lock != .unspecified)
        }
    }

    @Test func `a rule that the context's proof satisfies is told, and listing is no use of the proof`() throws {
        try fixture.unlock()
        let limited = try AccessControl(
            availability: .whenUnlocked,
            requirements: [.create: .unrestricted, .read: .passcode, .delete: .unrestricted],
            limits: GrantLimits(uses: 2))
        fixture.prompter.prepare([.text(BrokerFixture.passcode)])
        let query = TestClient.query("genp", ["acct": .text("limited")])
        try client.addItem(["acct": .text("limited")], accessControl: limited)
        let context = try client.openContext(keepingFactors: true)
        #expect(try client.listItems(query, context: context).map(\.lock) == [.ruled])
        #expect(try client.itemData(query, use: TestClient.use(context)) == "data")
        for _ in 1...5 { #expect(try client.listItems(query, context: context).map(\.lock) == [.proved]) }
        #expect(try client.listItems(query).map(\.lock) == [.ruled], "without the context nothing is proved")
        #expect(try client.listItems(query, context: context)[0].attributes.isEmpty)
        #expect(try client.itemData(query, use: TestClient.silentUse(context)) == "data")
        #expect(try client.listItems(query, context: context).map(\.lock) == [.ruled], "both uses are used up")
        #expect(try refusal { _ = try client.itemData(query, use: TestClient.silentUse(context)) } == .notInteractive)
        #expect(fixture.prompter.asked.count == 1)
    }

    @Test func `an item that stands for a key is listed while it is locked`() throws {
        try fixture.unlock()
        let key = try client.createKey(.p256, AccessControl(availability: .whenUnlocked, using: .passcode))
        try client.addItem("keys", ["labl": .text("k"), "pdmn": .text("ak")], data: nil, keyID: key.keyID)
        let open = try client.listItems(TestClient.query("keys"))
        #expect(open.map(\.lock) == [.open] && open[0].keyID == key.keyID && open[0].strength == "key-bound")
        #expect(open[0].values["labl"] == .text("k") && !open[0].hasData_p)
        try client.lock()
        let locked = try client.listItems(TestClient.query("keys"))
        #expect(locked.map(\.lock) == [.closed] && locked[0].keyID == key.keyID && locked[0].attributes.isEmpty)
    }

    @Test func `a list has pages and a limit, and begins where the page before ended`() throws {
        try fixture.unlock()
        for number in 0..<300 { try client.addItem(["acct": .text("\(number)"), "svce": .text("many")]) }
        try client.lock()
        let asked = fixture.prompter.asked.count
        let many = TestClient.query("genp", ["svce": .text("many")])
        #expect(try client.listItems(many).count == 300)
        let first = try client.listPage(many)
        #expect(first.items.count < 300 && first.next != 0 && first.items.allSatisfy { $0.lock == .closed })
        let limited = try client.listPage(many, limit: 3)
        #expect(limited.items == Array(first.items.prefix(3)) && limited.next == 0)
        #expect(fixture.prompter.asked.count == asked)
    }

    @Test func `one item is listed by its id, and another program's is as good as absent`() throws {
        let id = try #require(ids["free"])
        #expect(try client.listItems(.with { $0.itemID = id }).map(\.lock) == [.closed])
        #expect(try refusal { _ = try client.listItems(.with { $0.itemID = Data(count: 16) }) } == .notFound)
        let foreign = TestClient.query("genp", ["agrp": .text("another program")])
        #expect(try refusal { _ = try client.listItems(foreign) } == .missingEntitlement)
    }

    // MARK: contradictory requests

    @Test(arguments: 0..<6) func `a list that would ask, release, or leave out is refused`(number: Int) throws {
        let changes: [(inout WireFindItemsRequest) -> Void] = [
            { $0.returnsData = true }, { $0.use.question = TestClient.question }, { $0.use.skipsProtected = true },
            { $0.use.withholdsQuestion = true }, { $0.use.expectsQuestion = true },
            { ($0.query.itemClass, $0.query.hostOrSubdomainOf) = ("inet", "example.org") },
        ]
        var request = WireFindItemsRequest.with { ($0.query, $0.listsLocked) = (TestClient.query(), true) }
        _ = try client.call(.findItems(request))
        changes[number](&request)
        #expect(try refusal { _ = try client.call(.findItems(request)) } == .invalidParameter)
        #expect(fixture.prompter.asked.isEmpty)
    }

    // MARK: strength

    @Test func `items are as strong as the weakest way to open them`() throws {
        let sensor = ScriptedSensor()
        sensor.enrol("one finger")
        let fixture = try BrokerFixture(sensors: AddedAuthenticators(authenticators: [sensor]))
        let client = try fixture.client()
        let before = try client.addItem(["acct": .text("before")])
        #expect(before.strength == "broker-bound", "without a passcode no class is closed to anybody")
        try fixture.setPasscode()
        let either = try Requirement(anyOf: [.passcode, .biometry])
        for (rule, strength) in [(try Requirement(anyOf: [.passcode]), "key-bound"), (either, "broker-bound")] {
            #expect(try client.addItem(["acct": .text("\(rule)")], accessControl: .item(rule)).strength == strength)
        }
        #expect(
            try client.findItems(TestClient.query("genp", ["acct": .text("before")])).map(\.item.strength)
                == ["key-bound"])
        #expect(try client.listItems().map(\.strength) == ["key-bound", "key-bound", "broker-bound"])
        let unasked = try client.findItems(
            TestClient.query("genp", ["acct": .text("before")]), attributes: false)
        #expect(unasked.map(\.item.strength) == [""])
    }
}
