import AccessControl
import AuditLog
import ExactNames
import Foundation
import OstiaryMessages
import Owners
import PromptProtocol
import SecretMemory
import StoreTestSupport
import Testing
import Vault

@testable import Auditing
@testable import Broker
@testable import BrokerTestSupport
@testable import ProtectedObjects

/// One answer of the person opens several items: the question says which, and so does the log.
@Suite("A question for several items")
struct SeveralItemsTests {
    private static let passcode = ScriptedPrompter.Answer.text(BrokerFixture.passcode)
    private static let word = ScriptedPrompter.Answer.text(BrokerFixture.applicationPassword)
    private let fixture: BrokerFixture
    private let client: TestClient

    init() throws {
        fixture = try BrokerFixture()
        try fixture.setPasscode()
        client = try fixture.client()
    }

    @discardableResult
    private func add(_ account: String, _ rule: FactorSet = .passcode) throws -> String {
        let item = try client.addItem(["acct": .text(account)], accessControl: .item(Requirement(anyOf: [rule])))
        return "genp " + item.itemID.map { String(format: "%02x", $0) }.joined()
    }

    private var question: PromptQuestion { get throws { try #require(fixture.prompter.asked.first) } }

    private func names() throws -> [String] { try #require(question.objects).names.map(\.string) }

    /// What was released since `count` records.
    private func released(since count: UInt64) throws -> [String] {
        try client.log().dropFirst(Int(count)).filter { $0.event == "item-read" && $0.result == "granted" }
            .map { "\($0.object) \($0.factors)" }
    }

    @Test func `names all items that it releases, and the log has one record for each`() throws {
        let logNames = try ["a", "b", "c"].map { try add($0) }
        let recorded = fixture.broker.store.log.audit.recordCount
        fixture.prompter.prepare([Self.passcode])
        #expect(try client.findItems(TestClient.query()).count == 3)
        #expect(fixture.prompter.asked.count == 1)
        #expect(try names() == ["a", "b", "c"] && question.objects?.count == 3 && question.objects?.noun == .item)
        #expect(try question.operation.string == "read keychain items")
        #expect(try released(since: recorded) == logNames.map { "\($0) [\"passcode\"]" })
        let asked = try client.log().dropFirst(Int(recorded)).filter { $0.event == "authorize" }
        #expect(asked.map(\.object) == ["3 items"])
    }

    @Test func `items whose attributes alone are shown are in the log, too`() throws {
        let logNames = try ["a", "b"].map { try add($0) }
        let recorded = fixture.broker.store.log.audit.recordCount
        fixture.prompter.prepare([Self.passcode])
        #expect(try client.findItems(TestClient.query(), data: false).count == 2)
        #expect(try released(since: recorded) == logNames.map { "\($0) [\"passcode\"]" })
    }

    @Test func `counts those whose names do not fit`() throws {
        for number in 1...15 { try add("item \(number)") }
        fixture.prompter.prepare([Self.passcode])
        let recorded = fixture.broker.store.log.audit.recordCount
        #expect(try client.findItems(TestClient.query()).count == 15)
        #expect(try names() == (1...PromptObjects.maximumNameCount).map { "item \($0)" })
        #expect(try question.objects?.count == 15)
        #expect(try released(since: recorded).count == 15)
    }

    @Test func `counts the items of later pages`() throws {
        for number in 1...3 { try add("item \(number)") }
        try client.addItem(["acct": .text("large")], data: Data(count: ItemRequestLimitsOfTest.dataByteCount))
        try client.addItem(
            ["acct": .text("larger")], data: Data(count: ItemRequestLimitsOfTest.dataByteCount),
            accessControl: .item(.passcode))
        let context = try client.openContext(keepingFactors: true)
        fixture.prompter.prepare([Self.passcode])
        #expect(try client.findItems(TestClient.query(), use: TestClient.use(context)).count == 5)
        #expect(fixture.prompter.asked.count == 1)
        #expect(try names() == ["item 1", "item 2", "item 3", "larger"])
    }

    @Test func `names no more than the search asks for, and nothing that it does not release`() throws {
        for name in ["a", "b", "c"] { try add(name) }
        try client.addItem(["acct": .text("free")])
        fixture.prompter.prepare([Self.passcode])
        #expect(try client.page(TestClient.query(), limit: 2).items.count == 2)
        #expect(try names() == ["a", "b"])
        fixture.prompter.prepare([Self.passcode])
        #expect(try client.itemData(TestClient.query("genp", ["acct": .text("b")])) == "data")
        #expect(try names() == ["b"] && question.operation.string == "read a keychain item")
    }

    @Test func `an item that it did not name is asked for by itself`() throws {
        fixture.prompter.prepare([Self.word, Self.word])
        try add("word", .applicationPassword)
        for name in ["a", "b"] { try add(name) }
        fixture.prompter.prepare([Self.word, Self.passcode])
        #expect(try client.findItems(TestClient.query()).count == 3)
        #expect(fixture.prompter.askedKinds == [.applicationPassword, .enterPasscode])
        #expect(fixture.prompter.asked.map { $0.objects?.names.map(\.string) } == [["word"], ["a", "b"]])
    }

    @Test func `an item that appears while the person is asked is not opened by the answer`() throws {
        try add("a")
        let items = fixture.account.items
        let selection = try VisibleItems(
            TestClient.query(), groups: [ExactName(client.status().caller.program)], digests: items.digests)
        nonisolated(unsafe) let target = ItemStore.Target(
            opener: try #require(items.all(selection, waitingAs: nil).first), proof: nil)
        let path = fixture.socketPath
        fixture.prompter.prepare([Self.passcode, .cancel])
        fixture.prompter.duringNextQuestion {
            do {
                // The search begins again, because the first item has other data, and then it finds the second one.
                let change = ItemChange(
                    attributes: try ItemAttributes([], of: .genericPassword), accessControl: nil,
                    data: SecretBytes(text: "fresh"), applicationPassword: nil)
                try items.update([target], change, now: 0)
                try TestClient(socketPath: path)
                    .addItem(["acct": .text("planted")], accessControl: .item(.passcode))
            } catch { Issue.record(error) }
        }
        #expect(try refusal { _ = try client.findItems(TestClient.query()) } == .userCancel)
        #expect(fixture.prompter.asked.map { $0.objects?.names.map(\.string) } == [["a"], ["a", "planted"]])
    }

    private func add(_ label: String, of account: String?) throws -> String {
        var values: ItemValues = ["labl": .text(label), "svce": .text("\(label) of \(account ?? "none")")]
        values["acct"] = account.map { .text($0) }
        let item = try client.addItem(values, accessControl: .item(Requirement(anyOf: [.passcode])))
        return String(item.itemID.map { String(format: "%02x", $0) }.joined().prefix(8))
    }

    @Test func `tells items of one name apart by their accounts`() throws {
        _ = try add("many", of: "ada")
        _ = try add("many", of: "grace")
        _ = try add("one", of: "ada")
        let nameless = try add("many", of: nil)
        fixture.prompter.prepare([Self.passcode])
        #expect(try client.findItems(TestClient.query()).count == 4)
        #expect(try names() == ["many (account ada)", "many (account grace)", "one", "many (item \(nameless))"])
    }

    @Test func `shows accounts as they are, although they are compared by their look`() throws {
        _ = try add("many", of: "\u{2460}")
        _ = try add("many", of: "\u{2461}")
        fixture.prompter.prepare([Self.passcode])
        #expect(try client.findItems(TestClient.query()).count == 2)
        #expect(try names() == ["many (account \u{2460})", "many (account \u{2461})"])
    }

    @Test func `tells items apart whose names and accounts are spelled alike`() throws {
        _ = try add("caf\u{E9}", of: "ada")
        _ = try add("cafe\u{301}", of: "ada")
        fixture.prompter.prepare([Self.passcode])
        #expect(try client.findItems(TestClient.query()).count == 2)
        #expect(Set(try names().map { Array($0.utf8) }).count == 2)
    }

    @Test func `shows harmless what programs put into names`() throws {
        try add("a\u{1b}[2J\nFor\t“b”")
        try add("b\u{202e}")
        fixture.prompter.prepare([Self.passcode])
        #expect(try client.findItems(TestClient.query()).count == 2)
        #expect(try names() == ["a\\u{1b}[2J\\u{a}For\\u{9}\\u{201c}b\\u{201d}", "b\\u{202e}"])
    }

    @Test func `an update names all items that it changes`() throws {
        for name in ["a", "b", "c"] { try add(name) }
        fixture.prompter.prepare([Self.passcode])
        #expect(try client.updateItems(TestClient.query(), ["labl": .text("x")]) == 3)
        #expect(fixture.prompter.asked.count == 1)
        #expect(try names() == ["a", "b", "c"] && question.operation.string == "change keychain items")
    }
}

private enum ItemRequestLimitsOfTest {
    /// So much that two items do not fit into one page.
    static let dataByteCount = WireLimits.tailByteCount - 100
}
