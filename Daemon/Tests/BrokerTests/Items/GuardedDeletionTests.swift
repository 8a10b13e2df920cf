import AccessControl
import AuditLog
import Foundation
import GRDB
import OstiaryMessages
import OwnerKeys
import PromptProtocol
import SecretMemory
import StoreTestSupport
import Testing

@testable import Auditing
@testable import Authenticators
@testable import Broker
@testable import BrokerTestSupport
@testable import ProtectedObjects

/// Items of the class `free` that have a rule are deleted after its proof; all other items without.
@Suite("Deleting items that have a rule", .timeLimit(.minutes(10)))
struct GuardedDeletionTests {
    private static let passcode = ScriptedPrompter.Answer.text(BrokerFixture.passcode)
    private let fixture: BrokerFixture
    private let client: TestClient
    private let sensor = ScriptedSensor()

    init() throws {
        fixture = try BrokerFixture(sensors: AddedAuthenticators(authenticators: [sensor]))
        try fixture.setPasscode()
        client = try fixture.client()
        fixture.prompter.prepare([])
    }

    @discardableResult
    private func add(
        _ label: String, _ rule: Requirement? = nil, _ itemClass: String = "free", kind: Int64 = 0
    ) throws -> Data {
        var values: ItemValues = ["labl": .text(label)]
        if itemClass == "free" { values["kind"] = .number(kind) } else { values["acct"] = .text(label) }
        return try client.addItem(itemClass, values, accessControl: .item(rule ?? .passcode)).itemID
    }

    private static func named(_ id: Data) -> WireItemQuery { .with { $0.itemID = id } }

    /// Deletes; returns the refusal.
    private func delete(
        _ queries: [WireItemQuery], answers: [ScriptedPrompter.Answer] = [],
        use: WireItemUse = TestClient.use()
    ) throws -> WireFailureCode? {
        fixture.prompter.prepare(answers)
        return try refusal {
            try client.call(
                .deleteItems(
                    .with { ($0.query, $0.also, $0.use) = (queries[0], Array(queries.dropFirst()), use) }))
        }
    }

    private func labels() throws -> [String] {
        let items: [WireItem]
        do { items = try client.listItems(TestClient.query("free")) } catch let refused as Refused
            where refused.code == .notFound
        { return [] }
        return items.map { item in
            guard case .text(let label)? = item.values["labl"] else { return "" }
            return label
        }
    }

    private func names() throws -> [String] {
        try #require(fixture.prompter.asked.first?.objects).names.map(\.string)
    }

    // MARK: who is asked

    @Test func `it goes after the proof of its rule, and the log has both`() throws {
        let id = try add("Bank")
        #expect(try delete([Self.named(id)], answers: [Self.passcode]) == nil)
        #expect(try labels() == [] && names() == ["Bank"])
        #expect(fixture.prompter.asked.map(\.operation.string) == ["delete a keychain item"])
        let last = try client.log().suffix(2)
        #expect(last.map { "\($0.event) \($0.result)" } == ["authorize granted", "item-delete done"])
        #expect(last.first?.factors == ["passcode"])
    }

    @Test func `without a proof it stays`() throws {
        let id = try add("Bank")
        let wrong = ScriptedPrompter.Answer.text("wrong")
        #expect(try delete([Self.named(id)], answers: [.cancel]) == .userCancel)
        #expect(try delete([Self.named(id)], answers: [.nobody]) == .notInteractive)
        #expect(try delete([Self.named(id)], use: TestClient.silentUse()) == .notInteractive)
        #expect(try delete([Self.named(id)], use: WireItemUse()) == .notInteractive)
        #expect(try delete([TestClient.query("free")], use: WireItemUse()) == .notInteractive)
        #expect(fixture.prompter.asked.isEmpty)
        #expect(try delete([Self.named(id)], answers: [wrong, wrong, wrong]) == .authenticationFailed)
        #expect(try labels() == ["Bank"])
    }

    @Test func `a program that withholds its question is told that one is needed`() throws {
        let (id, free) = (try add("Bank"), try add("Free", .unrestricted))
        let use = WireItemUse.with { $0.withholdsQuestion = true }
        #expect(try delete([Self.named(id)], use: use) == .questionNeeded)
        #expect(try labels() == ["Bank", "Free"] && client.log().last?.event != "item-delete")
        #expect(try delete([Self.named(free)], use: use) == nil)
        #expect(try labels() == ["Bank"] && fixture.prompter.asked.isEmpty)
    }

    @Test func `items without a rule, and those of Apple's classes, go unasked, locked ones too`() throws {
        let free = [try add("a", .unrestricted), try add("b", .unrestricted)]
        let others = [try add("c", nil, "genp"), try add("d", nil, "genp")]
        #expect(try delete([Self.named(free[0]), Self.named(others[0])], use: WireItemUse()) == nil)
        try client.lock()
        #expect(try delete([Self.named(free[1]), Self.named(others[1])], use: WireItemUse()) == nil)
        #expect(fixture.prompter.asked.isEmpty && fixture.prompter.unpreparedCount == 0)
        try fixture.unlock()
        #expect(try labels() == [])
    }

    @Test func `a locked one goes with the passcode that opens the store, and else stays`() throws {
        let id = try add("Bank")
        try client.lock()
        #expect(try delete([Self.named(id)], use: WireItemUse()) == .locked)
        #expect(try delete([Self.named(id)], answers: [.cancel]) == .userCancel)
        #expect(try delete([Self.named(id)], answers: [Self.passcode]) == nil)
        #expect(fixture.prompter.asked.count == 1)
        #expect(try labels() == [])
    }

    // MARK: several at once

    @Test func `a collection and its items are one question, and all of them stay or go`() throws {
        let row = try add("Work", kind: 1)
        for label in ["a", "b"] { try add(label) }
        try add("c", .unrestricted)
        let queries = [Self.named(row), TestClient.query("free", ["kind": .number(0)])]
        #expect(try delete(queries, answers: [.cancel]) == .userCancel)
        #expect(try labels() == ["Work", "a", "b", "c"])
        #expect(try delete(queries, answers: [Self.passcode]) == nil)
        #expect(try labels() == [] && names() == ["Work", "a", "b"])
        #expect(fixture.prompter.asked.map(\.operation.string) == ["delete keychain items"])
    }

    @Test func `what one answer does not prove is asked for by itself`() throws {
        let finger = try Requirement(anyOf: [.biometry])
        let queries = { try [add("Bank"), add("Shop", finger)].map(Self.named) }
        sensor.prepare([ScriptedSensor.waits])
        #expect(try delete(queries(), answers: [Self.passcode, .cancel]) == .userCancel)
        #expect(try labels() == ["Bank", "Shop"] && names() == ["Bank"])
        #expect(fixture.prompter.askedKinds == [.enterPasscode, .sensor])
        let all = [TestClient.query("free")]
        sensor.prepare([ScriptedSensor.proves()])
        #expect(try delete(all, answers: [Self.passcode, .wait]) == nil)
        #expect(try labels() == [] && fixture.prompter.asked.count == 2)
    }

    @Test func `what its context holds serves, and that of another context does not`() throws {
        let (bank, shop) = (try add("Bank"), try add("Shop"))
        let (context, other) = (
            try client.openContext(keepingFactors: true), try client.openContext(keepingFactors: true)
        )
        fixture.prompter.prepare([Self.passcode])
        #expect(try client.itemData(Self.named(bank), use: TestClient.use(context)) == "data")
        #expect(try delete([Self.named(bank)], use: TestClient.silentUse(other)) == .notInteractive)
        #expect(try delete([Self.named(bank)], use: TestClient.silentUse(context)) == nil)
        #expect(try delete([Self.named(shop)], use: TestClient.silentUse(context)) == nil)
        #expect(try labels() == [] && fixture.prompter.asked.isEmpty)
    }

    // MARK: what happens meanwhile

    @Test func `an item that got another rule while the person was asked stays`() throws {
        let id = try add("Bank")
        let (path, prompter) = (fixture.socketPath, fixture.prompter)
        let stricter = try AccessControl.item(Requirement(anyOf: [[.biometry, .passcode]]))
        prompter.duringNextQuestion {
            do {
                prompter.prepare([Self.passcode, Self.passcode])
                try TestClient(socketPath: path).updateItems(Self.named(id), accessControl: stricter)
            } catch { Issue.record(error) }
        }
        #expect(try delete([Self.named(id)], answers: [Self.passcode]) == .systemCancel)
        #expect(try labels() == ["Bank"])
    }

    @Test func `a lock while the person is asked wins`() throws {
        let id = try add("Bank")
        let path = fixture.socketPath
        fixture.prompter.duringNextQuestion {
            do { try TestClient(socketPath: path).lock() } catch { Issue.record(error) }
        }
        #expect(try delete([Self.named(id)], answers: [Self.passcode]) != nil)
        try fixture.unlock()
        #expect(try labels() == ["Bank"])
    }

    // MARK: rules that nobody can prove any more

    @Test func `where nobody can prove the rule any more the owner's passcode lets it go`() throws {
        let ids = [
            try add("Finger", Requirement(anyOf: [.biometry])),
            try add("Both", Requirement(anyOf: [[.biometry, .passcode]])),
        ]
        sensor.plug(false)
        let queries = ids.map(Self.named)
        #expect(try delete([queries[0]], use: WireItemUse()) == .notInteractive)
        #expect(try delete([queries[0]], answers: [.cancel]) == .userCancel)
        #expect(try labels() == ["Finger", "Both"])
        #expect(try delete([queries[0]], answers: [Self.passcode]) == nil)
        #expect(try names() == ["Finger"])
        #expect(
            fixture.prompter.asked.map(\.operation.string) == [
                "delete a keychain item whose rule nobody can prove any more"
            ])
        #expect(try delete([queries[1]], answers: [Self.passcode]) == nil)
        #expect(try labels() == [])
    }

    @Test func `a finger that can be proved is not replaced by the passcode`() throws {
        let id = try add("Finger", Requirement(anyOf: [.biometry]))
        sensor.prepare([ScriptedSensor.waits])
        #expect(try delete([Self.named(id)], answers: [.cancel]) == .userCancel)
        #expect(fixture.prompter.askedKinds == [.sensor])
        #expect(try labels() == ["Finger"])
    }

    @Test func `an item whose row does not verify goes after the owner's passcode`() throws {
        let (id, genp) = (try add("Bank", .unrestricted), try add("Mail", .unrestricted, "genp"))
        let database = try DatabaseQueue(path: "\(fixture.stateDirectory)/vault.sqlite")
        try database.write { try $0.execute(sql: "UPDATE items SET mac = zeroblob(32)") }
        #expect(try delete([Self.named(genp)], use: WireItemUse()) == nil)
        #expect(try delete([Self.named(id)], use: WireItemUse()) == .notInteractive)
        #expect(try delete([Self.named(id)], answers: [.cancel]) == .userCancel)
        #expect(try delete([Self.named(id)], answers: [Self.passcode]) == nil)
        #expect(try names() == ["1 item"])
        #expect(try delete([Self.named(id)], use: WireItemUse()) == .notFound)
    }
}
