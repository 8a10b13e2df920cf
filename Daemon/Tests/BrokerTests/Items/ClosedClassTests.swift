import AccessControl
import AuditLog
import Foundation
import OstiaryMessages
import Owners
import PromptProtocol
import StoreTestSupport
import Testing

@testable import Auditing
@testable import Broker
@testable import BrokerTestSupport
@testable import OwnerKeys
@testable import ProtectedObjects

/// Items of a class that is closed: where somebody may be asked, the passcode opens it.
@Suite("Items while the store is locked")
struct ClosedClassTests {
    /// Each way to use what is closed.
    enum Work: CaseIterable {
        case findData, findAttributes, findProtected, add, addProtected, update, updateProtected, move
    }

    private static let passcode = ScriptedPrompter.Answer.text(BrokerFixture.passcode)
    private static let wrong = ScriptedPrompter.Answer.text("wrong")
    private let fixture: BrokerFixture
    private let client: TestClient

    /// A store that was restarted, so that only the class *always* is open.
    init() throws {
        fixture = try BrokerFixture()
        try fixture.setPasscode()
        let first = try fixture.client()
        try first.addItem(["acct": .text("free")])
        try first.addItem(["acct": .text("always"), "pdmn": .text("dk")])
        try first.addItem(["acct": .text("bound")], accessControl: Self.rule)
        try fixture.restart()
        fixture.prompter.prepare([])
        client = try fixture.client()
    }

    private static var rule: AccessControl { get throws { try .item(.passcode) } }

    private func query(_ account: String) -> WireItemQuery { TestClient.query("genp", ["acct": .text(account)]) }

    private func perform(_ work: Work, use: WireItemUse = TestClient.use(), by client: TestClient? = nil) throws {
        let client = client ?? self.client
        switch work {
        case .findData: #expect(try client.itemData(query("free"), use: use) == "data")
        case .findAttributes: #expect(try client.findItems(query("free"), data: false, use: use).count == 1)
        case .findProtected: #expect(try client.itemData(query("bound"), use: use) == "data")
        case .add: try client.addItem(["acct": .text("new")], use: use)
        case .addProtected: try client.addItem(["acct": .text("new")], accessControl: Self.rule, use: use)
        case .update: #expect(try client.updateItems(query("free"), ["labl": .text("x")], use: use) == 1)
        case .updateProtected: #expect(try client.updateItems(query("bound"), data: Data("x".utf8), use: use) == 1)
        case .move: #expect(try client.updateItems(query("always"), ["pdmn": .text("ak")], use: use) == 1)
        }
    }

    private func name(of work: Work) -> String {
        switch work {
        case .findData, .findAttributes, .update: "free"
        case .findProtected, .updateProtected: "bound"
        case .add, .addProtected: "new"
        case .move: "always"
        }
    }

    // MARK: allowed

    @Test(arguments: Work.allCases)
    func `one passcode opens the store and serves the item's own rule`(work: Work) throws {
        fixture.prompter.prepare([Self.passcode])
        try perform(work)
        let question = try #require(fixture.prompter.asked.first)
        #expect(fixture.prompter.askedKinds == [.enterPasscode])
        #expect(question.objects?.names.map(\.string) == [name(of: work)] && question.objects?.count == 1)
        #expect(
            question.consequence?.string == "The store is locked. Your passcode opens it for all your programs.")
        #expect(question.reason?.string == "a test")
        #expect(try client.status().unlocked)
        // The store stays open, and what has a rule asks for it.
        #expect(try client.itemData(query("free")) == "data")
        #expect(try refusal { _ = try client.itemData(query("bound")) } == .userCancel)
        #expect(fixture.prompter.asked.count == 2)
    }

    @Test(arguments: Work.allCases)
    func `after a lock a question of another program opens the store again`(work: Work) throws {
        try fixture.unlock()
        try fixture.client().lock()
        fixture.prompter.prepare([Self.passcode])
        try perform(work)
        #expect(fixture.prompter.askedKinds == [.enterPasscode])
        #expect(try client.status().unlocked)
    }

    @Test(arguments: Work.allCases)
    func `a request that withholds its question is told to send it, and nothing is done or recorded`(
        work: Work
    ) throws {
        let recorded = fixture.broker.store.log.audit.recordCount
        let use = WireItemUse.with { $0.withholdsQuestion = true }
        #expect(try refusal { try perform(work, use: use) } == .questionNeeded)
        #expect(fixture.prompter.asked.isEmpty && fixture.broker.store.log.audit.recordCount == recorded)
        #expect(try !client.status().unlocked)
    }

    @Test func `the proof of a closed item serves the context that it was made in`() throws {
        let context = try client.openContext(keepingFactors: true)
        fixture.prompter.prepare([Self.passcode])
        try perform(.findProtected, use: TestClient.use(context))
        try perform(.findProtected, use: TestClient.silentUse(context))
        #expect(fixture.prompter.asked.count == 1)
        try client.lock()
        #expect(try refusal { try perform(.findProtected, use: TestClient.silentUse(context)) } == .locked)
    }

    @Test func `a rule with an application password asks for that one alone, under the item's name`() throws {
        let both = try Requirement(anyOf: [[.passcode, .applicationPassword]])
        let word = ScriptedPrompter.Answer.text(BrokerFixture.applicationPassword)
        try fixture.unlock()
        fixture.prompter.prepare([word, word])
        try client.addItem(["acct": .text("both")], accessControl: .item(both))
        try client.lock()
        fixture.prompter.prepare([Self.passcode, word])
        #expect(try client.itemData(query("both")) == "data")
        #expect(fixture.prompter.askedKinds == [.enterPasscode, .applicationPassword])
        #expect(fixture.prompter.asked.allSatisfy { $0.object?.string == "both" })
    }

    @Test func `a locked item that the request does not name is named by its class and id`() throws {
        let id = try client.findItems(query("always"))[0].item.itemID
        #expect(!id.isEmpty)
        fixture.prompter.prepare([Self.passcode])
        #expect(try client.findItems(TestClient.query()).count == 3)
        let names = try #require(fixture.prompter.asked.first?.objects).names.map(\.string)
        #expect(names.count == 2 && names.allSatisfy { $0.hasPrefix("locked password ") && $0.count == 24 }, "\(names)")
        #expect(Set(names).count == 2)
        #expect(fixture.prompter.asked.count == 1)
    }

    @Test func `the log says who opened the store for what, before what was released`() throws {
        fixture.prompter.prepare([Self.passcode])
        try perform(.findProtected)
        let lines = try client.log().suffix(2)
        #expect(lines.map(\.event) == ["unlock", "item-read"])
        for line in lines {
            #expect(line.result == "granted" && line.factors == ["passcode"] && line.strength == "key-bound")
            #expect(line.object.hasPrefix("genp ") && !line.object.contains("bound"))
        }
        fixture.prompter.prepare([Self.passcode])
        try client.lock()
        try perform(.findData)
        let free = try client.log().suffix(2)
        #expect(free.map { "\($0.event) \($0.factors)" } == ["unlock [\"passcode\"]", "item-read []"])
    }

    // MARK: refused

    @Test(arguments: Work.allCases)
    func `who cancels, or does not know the passcode, opens nothing, and each try counts`(work: Work) throws {
        for (answers, code, failed) in [
            ([.cancel], WireFailureCode.userCancel, 0),
            ([Self.wrong, Self.wrong, Self.wrong], .authenticationFailed, 3),
        ] as [([ScriptedPrompter.Answer], WireFailureCode, UInt32)] {
            fixture.prompter.prepare(answers)
            #expect(try refusal { try perform(work) } == code)
            #expect(try client.status().passcode.failedAttempts == failed)
            #expect(try !client.status().unlocked)
        }
        let misses = try client.log().filter { $0.event == "attempt" }
        #expect(!misses.isEmpty && misses.allSatisfy { $0.object.hasPrefix("genp") && $0.operation == "passcode" })
        fixture.prompter.prepare([Self.wrong, Self.wrong])
        #expect(try refusal { try perform(work) } == .lockedOut)
        #expect(fixture.prompter.asked.count == 2, "nobody types what a delay would refuse")
        #expect(try refusal { try perform(work, use: TestClient.silentUse()) } == .locked, "nothing is said of tries")
        try fixture.restart()
        fixture.clock.advance(by: .seconds(3600))
        try fixture.unlock()
        #expect(try refusal { _ = try fixture.client().findItems(query("new")) } == .notFound, "nothing was stored")
    }

    @Test(arguments: Work.allCases)
    func `without a terminal or dialog the item is locked`(work: Work) throws {
        fixture.prompter.prepare([.nobody])
        do {
            try perform(work)
            Issue.record("it was carried out")
        } catch let refused as Refused {
            #expect(refused.code == .locked && refused.cause == "store.locked")
        }
    }

    @Test(arguments: Work.allCases)
    func `a program that forbids questions puts none`(work: Work) throws {
        for use in [WireItemUse(), TestClient.silentUse(), TestClient.silentUse(try client.openContext())] {
            #expect(try refusal { try perform(work, use: use) } == .locked)
        }
        #expect(fixture.prompter.asked.isEmpty)
    }

    @Test func `a search that skips leaves out what is locked, without a question`() throws {
        for use in [TestClient.use(skips: true), TestClient.silentUse(skips: true)] {
            for name in ["free", "bound"] {
                #expect(try refusal { _ = try client.findItems(query(name), use: use) } == .notFound)
            }
            let found = try client.findItems(TestClient.query(), use: use)
            #expect(found.map { $0.item.values["acct"] } == [.text("always")])
        }
        #expect(fixture.prompter.asked.isEmpty)
    }

    @Test func `a search that skips does not pass over the item of a key`() throws {
        try fixture.unlock()
        let open = AccessControl(availability: .whenUnlocked, using: .unrestricted)
        let key = try client.createKey(.p256, open)
        try client.addItem(
            "keys", ["labl": .text("key"), "pdmn": .text("ak")], data: nil, accessControl: nil, keyID: key.keyID)
        try client.lock()
        #expect(
            try refusal { _ = try client.findItems(TestClient.query("keys"), use: TestClient.use(skips: true)) }
                == .locked)
    }

    @Test(arguments: Work.allCases)
    func `a lock while the passcode is asked for wins`(work: Work) throws {
        let path = fixture.socketPath
        fixture.prompter.prepare([Self.passcode])
        fixture.prompter.duringNextQuestion {
            do { try TestClient(socketPath: path).lock() } catch { Issue.record(error) }
        }
        #expect(try refusal { try perform(work) } == .systemCancel)
        #expect(try !client.status().unlocked)
    }

    @Test func `deleting asks nobody`() throws {
        #expect(try client.deleteItems(TestClient.query()) == 3)
        #expect(fixture.prompter.asked.isEmpty)
    }

    @Test func `an empty reason is refused before the person is asked`() throws {
        let use = WireItemUse.with { $0.question = .init() }
        #expect(try refusal { try perform(.findData, use: use) } == .emptyReason)
        #expect(fixture.prompter.asked.isEmpty)
    }

    // MARK: rights and keys

    @Test func `the question for a right or key of a closed class says that it opens the store`() throws {
        let open = AccessControl(availability: .whenUnlocked, using: .unrestricted)
        try client.create("free", open)
        let key = try client.createKey(.p256, open)
        for id in [try client.find("free").rightID, key.keyID] {
            try client.lock()
            fixture.prompter.prepare([.cancel, Self.passcode])
            let context = try client.openContext()
            #expect(try refusal { try client.authorize(rightID: id, in: context) } == .userCancel)
            #expect(
                try refusal { try client.authorize(rightID: id, in: context, interactive: false) } == .notInteractive)
            #expect(try client.authorize(rightID: id, in: context) == ["passcode"])
            #expect(fixture.prompter.asked.count == 2)
            for question in fixture.prompter.asked {
                #expect(question.consequence?.string.contains("opens it for all your programs") == true)
            }
            fixture.prompter.prepare([])
            #expect(try client.authorize(rightID: id, in: client.openContext()) == [])
        }
    }
}
