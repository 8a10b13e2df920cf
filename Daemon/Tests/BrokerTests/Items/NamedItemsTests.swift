import AccessControl
import AuditLog
import Auditing
import Foundation
import OstiaryMessages
import PromptProtocol
import SecretMemory
import StoreTestSupport
import Testing

@testable import Authenticators
@testable import Broker
@testable import BrokerTestSupport
@testable import Owners
@testable import ProtectedObjects

/// A program reads several items at once, and the person is asked once where the rules allow it.
@Suite("Items that are named together", .timeLimit(.minutes(10)))
struct NamedItemsTests {
    private static let passcode = ScriptedPrompter.Answer.text(BrokerFixture.passcode)
    private let fixture: BrokerFixture
    private let client: TestClient

    init() throws {
        fixture = try BrokerFixture()
        try fixture.setPasscode()
        client = try fixture.client()
    }

    private func add(_ account: String, _ rule: FactorSet? = .passcode) throws -> Data {
        let accessControl = try rule.map { try AccessControl.item(Requirement(anyOf: [$0])) }
        return try client.addItem(
            ["acct": .text(account)], data: Data("secret of \(account)".utf8), accessControl: accessControl
        ).itemID
    }

    private func request(_ ids: [Data], use: WireItemUse = TestClient.use()) -> WireFindItemsRequest {
        .with {
            ($0.query.itemID, $0.also) = (ids[0], Array(ids.dropFirst()))
            ($0.returnsData, $0.use) = (true, use)
        }
    }

    /// The secrets by the ids.
    private func secrets(_ ids: [Data], use: WireItemUse = TestClient.use()) throws -> [Data: String] {
        let answer = try client.call(.findItems(request(ids, use: use)))
        guard case .items(let page) = answer.body, page.next == 0 else { throw TestClient.UnexpectedAnswer() }
        var (rest, found) = (answer.tail, [Data: String]())
        for item in page.items {
            found[item.itemID] = String(decoding: rest.prefix(Int(item.dataByteCount)), as: UTF8.self)
            rest = rest.dropFirst(Int(item.dataByteCount))
        }
        #expect(rest.isEmpty && found.count == page.items.count)
        return found
    }

    private func refused(_ change: (inout WireFindItemsRequest) -> Void, of ids: [Data]) throws -> WireFailureCode? {
        var request = request(ids)
        change(&request)
        return try refusal { _ = try client.call(.findItems(request)) }
    }

    @Test func `one question names all of them, and the log has a record for each`() throws {
        let ids = try ["a", "b", "c"].map { try add($0) }
        _ = try add("not asked for")
        let recorded = fixture.broker.store.log.audit.recordCount
        fixture.prompter.prepare([Self.passcode])
        #expect(
            try secrets(ids) == [ids[0]: "secret of a", ids[1]: "secret of b", ids[2]: "secret of c"])
        #expect(fixture.prompter.asked.count == 1)
        let question = try #require(fixture.prompter.asked.first)
        #expect(try #require(question.objects).names.map(\.string) == ["a", "b", "c"])
        let read = try client.log().dropFirst(Int(recorded)).filter { $0.event == "item-read" }
        #expect(read.count == 3 && read.allSatisfy { $0.result == "granted" && $0.factors == ["passcode"] })
    }

    @Test func `items without a rule come along unasked`() throws {
        let ids = [try add("free", nil), try add("other", nil)]
        fixture.prompter.prepare([])
        #expect(try secrets(ids).count == 2)
        #expect(fixture.prompter.asked.isEmpty)
    }

    @Test func `the strictest rule is asked for first, so that its answer opens the others`() throws {
        let sensor = ScriptedSensor()
        sensor.enrol("one finger")
        let fixture = try BrokerFixture(sensors: AddedAuthenticators(authenticators: [sensor]))
        try fixture.setPasscode()
        let client = try fixture.client()
        let ids = try [Requirement(anyOf: [.passcode, .biometry]), Requirement(anyOf: [.passcode])].map { rule in
            try client.addItem(["acct": .text("\(rule)")], accessControl: .item(rule)).itemID
        }
        fixture.prompter.prepare([Self.passcode])
        _ = try client.call(.findItems(request(ids)))
        #expect(fixture.prompter.askedKinds == [.enterPasscode])
        #expect(fixture.prompter.asked.first?.objects?.count == 2)
    }

    @Test func `a declined question releases none of them`() throws {
        let ids = [try add("free", nil), try add("a"), try add("b")]
        let recorded = fixture.broker.store.log.audit.recordCount
        fixture.prompter.prepare([.cancel])
        #expect(try refusal { _ = try secrets(ids) } == .userCancel)
        let read = try client.log().dropFirst(Int(recorded)).filter {
            $0.event == "item-read" && $0.result == "granted"
        }
        #expect(read.isEmpty)
    }

    @Test func `one that is absent ends the request before anybody is asked`() throws {
        let id = try add("a")
        fixture.prompter.prepare([])
        #expect(try refusal { _ = try secrets([id, Data(repeating: 7, count: 16)]) } == .notFound)
        #expect(try refusal { _ = try secrets([Data(repeating: 7, count: 16), id]) } == .notFound)
        #expect(fixture.prompter.asked.isEmpty)
    }

    @Test func `a locked store says so where nobody may be asked`() throws {
        let ids = [try add("a"), try add("b")]
        try fixture.restart()
        let client = try fixture.client()
        let request = request(ids, use: TestClient.silentUse())
        #expect(try refusal { _ = try client.call(.findItems(request)) } == .locked)
    }

    @Test func `a group of another program is refused`() throws {
        let ids = [try add("a"), try add("b")]
        var foreign = TestClient.query("genp", ["agrp": .text("another program")])
        foreign.itemID = ids[0]
        #expect(try refused({ $0.query = foreign }, of: ids) == .missingEntitlement)
    }

    @Test(arguments: 0..<8) func `a request that names them wrongly is refused unasked`(number: Int) throws {
        let ids = [try add("a"), try add("b")]
        fixture.prompter.prepare([])
        let changes: [(inout WireFindItemsRequest) -> Void] = [
            { $0.also = [$0.query.itemID] }, { $0.also.append(Data()) }, { $0.also.append(Data(count: 15)) },
            { $0.limit = 2 }, { $0.begin = 1 }, { $0.use.skipsProtected = true },
            { ($0.query.itemID, $0.query.itemClass) = (Data(), "genp") },
            { $0.also += $0.also },
        ]
        #expect(try refused(changes[number], of: ids) == .invalidParameter)
        #expect(fixture.prompter.asked.isEmpty)
    }

    @Test func `sixteen are read together, and one more is refused`() throws {
        let ids = try (0...WireLimits.namedItemCount).map { try add("item \($0)", nil) }
        #expect(try secrets(Array(ids.dropLast())).count == WireLimits.namedItemCount)
        #expect(try refusal { _ = try secrets(ids) } == .tooLarge)
    }

    @Test func `items that do not fit into one answer are refused unasked`() throws {
        let ids = try ["a", "b"].map { account in
            try client.addItem(
                ["acct": .text(account)], data: Data(count: WireLimits.tailByteCount / 2 + 1),
                accessControl: .item(.passcode)
            ).itemID
        }
        fixture.prompter.prepare([])
        #expect(try refusal { _ = try secrets(ids) } == .tooLarge)
        #expect(fixture.prompter.asked.isEmpty)
    }
}
