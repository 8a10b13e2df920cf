import AccessControl
import AuditLog
import ExactNames
import Foundation
import GRDB
import KeySlots
import OstiaryMessages
import Owners
import Passcodes
import PromptProtocol
import SecretMemory
import StoreTestSupport
import Testing
import Vault

@testable import Auditing
@testable import Authenticators
@testable import Broker
@testable import BrokerTestSupport
@testable import OwnerKeys
@testable import ProtectedObjects
@testable import Refusals

@Suite("Protected and locked keychain items")
struct ItemProtectionTests {
    private static let new = "another battery 8"
    let fixture: BrokerFixture
    let client: TestClient

    init() throws {
        fixture = try BrokerFixture()
        client = try fixture.client()
    }

    private static let passcodeRule = [FactorSet.passcode]
    private static let passwordRule = [FactorSet.applicationPassword]

    private func add(
        _ account: String, _ rule: [FactorSet], _ availability: AvailabilityClass = .whenUnlocked, context: UInt64 = 0
    ) throws {
        let requirement = try Requirement(anyOf: rule)
        try client.addItem(
            ["acct": .text(account)], data: Data("data of \(account)".utf8),
            accessControl: .item(requirement, availability), use: TestClient.use(context))
    }

    private func query(_ account: String) -> WireItemQuery { TestClient.query("genp", ["acct": .text(account)]) }

    /// The item's data with these answers and no others.
    private func read(_ account: String, _ answers: [ScriptedPrompter.Answer], context: UInt64 = 0) throws -> Bool {
        fixture.prompter.prepare(answers)
        let data = try fixture.client().itemDataInContext(query(account), context)
        return data == "data of \(account)" && fixture.prompter.unusedAnswers.isEmpty
            && fixture.prompter.unpreparedCount == 0
    }

    private static let passcode = ScriptedPrompter.Answer.text(BrokerFixture.passcode)

    // MARK: rules

    @Test func `reading asks for what the rule says, each time, naming item and reason`() throws {
        try fixture.setPasscode()
        try add("alice", Self.passcodeRule)
        #expect(fixture.prompter.askedKinds == [.newPasscode, .repeatPasscode], "adding asks nobody")
        for _ in 1...2 { #expect(try read("alice", [Self.passcode])) }
        let question = try #require(fixture.prompter.asked.first)
        #expect(
            question.kind == .enterPasscode && question.object?.string == "alice" && question.reason?.string == "a test"
        )
    }

    @Test(arguments: [(true, false), (false, true), (false, false)])
    func `attributes alone, or nothing, ask too`(data: Bool, attributes: Bool) throws {
        try fixture.setPasscode()
        try add("alice", Self.passcodeRule)
        fixture.prompter.prepare([Self.passcode])
        #expect(try client.findItems(query("alice"), data: data, attributes: attributes).count == 1)
        #expect(fixture.prompter.unusedAnswers.isEmpty)
    }

    @Test func `one proof serves the whole request`() throws {
        try fixture.setPasscode()
        for name in ["a", "b", "c"] { try add(name, Self.passcodeRule) }
        fixture.prompter.prepare([Self.passcode])
        #expect(try client.findItems(TestClient.query()).count == 3)
        #expect(fixture.prompter.asked.count == 1)
    }

    @Test func `what is not proved is not read, and the answer says why`() throws {
        try fixture.setPasscode()
        try client.addItem(["acct": .text("free")])
        try add("alice", Self.passcodeRule)
        let wrong = ScriptedPrompter.Answer.text("wrong")
        for (answers, code) in [
            ([.cancel], WireFailureCode.userCancel), ([wrong, wrong, wrong], .authenticationFailed),
        ] as [([ScriptedPrompter.Answer], WireFailureCode)] {
            fixture.prompter.prepare(answers)
            #expect(try refusal { _ = try client.findItems(TestClient.query()) } == code)
        }
        fixture.prompter.prepare([])
        let silent = WireItemUse.with { $0.question = .with { ($0.reason, $0.interactionNotAllowed) = ("test", true) } }
        for use in [WireItemUse(), silent] {
            #expect(try refusal { _ = try client.findItems(query("alice"), use: use) } == .notInteractive)
            #expect(try refusal { try client.updateItems(query("alice"), data: Data(), use: use) } == .notInteractive)
        }
        let mute = WireItemUse.with { $0.question = .init() }
        #expect(try refusal { _ = try client.findItems(query("alice"), use: mute) } == .emptyReason)
        let stray = TestClient.use(999)
        #expect(try refusal { _ = try client.findItems(query("alice"), use: stray) } == .unknownContext)
        #expect(try client.findItems(query("free"), use: WireItemUse()).count == 1)
        #expect(fixture.prompter.asked.isEmpty)
        #expect(try read("alice", [Self.passcode]))
    }

    @Test func `a request that withholds its question is told when it needs one, and nothing was done`() throws {
        try fixture.setPasscode()
        try client.addItem(["acct": .text("free")])
        try add("alice", Self.passcodeRule)
        let withholding = WireItemUse.with { $0.withholdsQuestion = true }
        fixture.prompter.prepare([])
        let recorded = fixture.broker.store.log.audit.recordCount
        for query in [query("alice"), TestClient.query()] {
            #expect(try refusal { _ = try client.findItems(query, use: withholding) } == .questionNeeded)
        }
        #expect(
            try refusal { try client.updateItems(query("alice"), data: Data(), use: withholding) } == .questionNeeded)
        #expect(
            try refusal {
                try client.addItem(
                    ["acct": .text("new")], accessControl: .item(Requirement(anyOf: Self.passwordRule)),
                    use: withholding)
            } == .questionNeeded)
        #expect(fixture.prompter.asked.isEmpty)
        #expect(fixture.broker.store.log.audit.recordCount == recorded, "no decision was made")
        #expect(try refusal { _ = try client.findItems(query("new")) } == .notFound)
        #expect(try client.itemData(query("free"), use: withholding) == "data")
        #expect(try read("alice", [Self.passcode]))
    }

    @Test func `a request that expects its question asks once, and nobody where nothing asks`() throws {
        try fixture.setPasscode()
        try client.addItem(["acct": .text("free")])
        try add("alice", Self.passcodeRule)
        var use = TestClient.use()
        use.expectsQuestion = true
        fixture.prompter.prepare([Self.passcode])
        #expect(try client.itemData(query("alice"), use: use) == "data of alice")
        #expect(fixture.prompter.asked.count == 1 && fixture.prompter.unusedAnswers.isEmpty)
        fixture.prompter.prepare([])
        #expect(try client.itemData(query("free"), use: use) == "data")
        #expect(fixture.prompter.asked.isEmpty)
        use.withholdsQuestion = true
        #expect(try refusal { _ = try client.itemData(query("alice"), use: use) } == .questionNeeded)
    }

    @Test func `items that would ask are left out on demand`() throws {
        try fixture.setPasscode()
        try add("alice", Self.passcodeRule)
        let skipping = TestClient.use(skips: true)
        #expect(try refusal { _ = try client.findItems(TestClient.query(), use: skipping) } == .notFound)
        try client.addItem(["acct": .text("free")])
        #expect(
            try client.findItems(TestClient.query(), use: skipping).map { $0.item.values["acct"] } == [.text("free")])
        #expect(fixture.prompter.askedKinds == [.newPasscode, .repeatPasscode])
    }

    @Test func `what the context opens is not left out`() throws {
        try fixture.setPasscode()
        try add("alice", Self.passcodeRule)
        let password = try client.openContext()
        try client.setApplicationPassword(BrokerFixture.applicationPassword, in: password)
        try add("bob", Self.passwordRule, context: password)
        try client.addItem(["acct": .text("free")])
        func found(_ context: UInt64) throws -> [String] {
            try client.findItems(TestClient.query(), use: TestClient.use(context, skips: true))
                .map { String(decoding: $0.data, as: UTF8.self) }
        }
        let context = try client.openContext(keepingFactors: true)
        fixture.prompter.prepare([])
        #expect(try found(0) == ["data"] && found(context) == ["data"])
        #expect(try found(password) == ["data of bob", "data"])
        fixture.prompter.prepare([Self.passcode])
        try client.evaluatePolicy(2, in: context)
        #expect(try found(context) == ["data of alice", "data"])
        try client.setApplicationPassword(BrokerFixture.applicationPassword, in: context)
        #expect(try found(context) == ["data of alice", "data of bob", "data"])
        fixture.clock.advance(by: .seconds(600))
        #expect(try found(context) == ["data of bob", "data"], "what was proved has ended")
        try client.lock()
        #expect(try refusal { _ = try found(password) } == .notFound, "what is locked would ask, too")
        #expect(fixture.prompter.asked.count == 1)
    }

    @Test func `an item that the context's password does not open is left out, and the try counts`() throws {
        let context = try client.openContext()
        try client.setApplicationPassword(BrokerFixture.applicationPassword, in: context)
        try add("bob", Self.passwordRule, context: context)
        try client.setApplicationPassword("another one", in: context)
        try add("carol", Self.passwordRule, context: context)
        let skipping = TestClient.use(context, skips: true)
        let found = try client.findItems(TestClient.query(), use: skipping)
        #expect(found.map { $0.item.values["acct"] } == [.text("carol")])
        #expect(try refusal { _ = try client.findItems(query("bob"), use: skipping) } == .notFound)
        let refused = try client.log().filter { $0.event == "item-read" && $0.result == "refused" }
        #expect(!refused.isEmpty, "whoever tries passwords is seen")
        #expect(refused.allSatisfy { $0.reason == "authentication.failed" && $0.object.hasPrefix("genp ") })
        for _ in 1...10 { _ = try? client.findItems(query("bob"), use: skipping) }
        let given = try client.openContext()
        try client.setApplicationPassword(BrokerFixture.applicationPassword, in: given)
        #expect(try refusal { _ = try client.itemData(query("bob"), use: TestClient.use(given)) } == .lockedOut)
        #expect(fixture.prompter.asked.isEmpty)
    }

    @Test func `an application password comes from the context or the person, and only the right one opens`() throws {
        let context = try client.openContext()
        try client.setApplicationPassword(BrokerFixture.applicationPassword, in: context)
        try add("alice", Self.passwordRule, context: context)
        #expect(fixture.prompter.asked.isEmpty)
        #expect(try client.itemData(query("alice"), use: TestClient.use(context)) == "data of alice")
        #expect(try read("alice", [.text(BrokerFixture.applicationPassword)]))
        try client.setApplicationPassword("another one", in: context)
        #expect(
            try refusal { _ = try client.itemData(query("alice"), use: TestClient.use(context)) }
                == .authenticationFailed)
        fixture.prompter.prepare([.text(BrokerFixture.applicationPassword), .text(BrokerFixture.applicationPassword)])
        try add("bob", Self.passwordRule)
        #expect(fixture.prompter.askedKinds == [.newApplicationPassword, .repeatApplicationPassword])
        #expect(try read("bob", [.text(BrokerFixture.applicationPassword)]))
        fixture.prompter.prepare([])
        #expect(
            try refusal {
                try client.addItem([:], accessControl: .item(Requirement(anyOf: Self.passwordRule)), use: .init())
            } == .notInteractive)
    }

    @Test func `an empty application password is none`() throws {
        let context = try client.openContext()
        try client.setApplicationPassword(BrokerFixture.applicationPassword, in: context)
        #expect(try refusal { try client.setApplicationPassword("", in: context) } == .invalidParameter)
        try add("alice", Self.passwordRule, context: context)
        let data = try client.itemData(query("alice"), use: TestClient.use(context))
        #expect(data == "data of alice", "the first one stays")
        #expect(fixture.prompter.asked.isEmpty)
        #expect(RefusalMapping.refusal(for: StretchError.emptyPasscode).code == .invalidParameter)
        #expect(RefusalMapping.refusal(for: StretchError.passcodeTooLong).code == .invalidParameter)
    }

    @Test func `deleting asks nobody`() throws {
        try fixture.setPasscode()
        try add("alice", Self.passcodeRule)
        fixture.prompter.prepare([])
        #expect(try client.deleteItems(TestClient.query()) == 1)
        #expect(fixture.prompter.asked.isEmpty)
    }

    @Test func `an update asks under the old rule, and another rule replaces it`() throws {
        try fixture.setPasscode()
        try add("alice", Self.passcodeRule)
        fixture.prompter.prepare([.cancel])
        #expect(
            try refusal { try client.updateItems(query("alice"), accessControl: .item(.unrestricted)) } == .userCancel)
        fixture.prompter.prepare([Self.passcode])
        try client.updateItems(query("alice"), ["labl": .text("x")])
        #expect(try read("alice", [Self.passcode]))
        fixture.prompter.prepare([Self.passcode])
        try client.updateItems(query("alice"), data: Data("fresh".utf8))
        fixture.prompter.prepare([Self.passcode])
        #expect(try client.itemData(query("alice")) == "fresh")
        fixture.prompter.prepare([Self.passcode])
        try client.updateItems(query("alice"), ["pdmn": .text("cku")])
        fixture.prompter.prepare([Self.passcode])
        #expect(try client.itemData(query("alice")) == "fresh", "another class does not drop the rule")
        fixture.prompter.prepare([Self.passcode])
        try client.updateItems(query("alice"), accessControl: .item(.unrestricted))
        fixture.prompter.prepare([])
        #expect(try client.itemData(query("alice")) == "fresh")
        #expect(try client.findItems(query("alice"))[0].item.values["pdmn"] == .text("ak"))
        try client.updateItems(
            query("alice"), accessControl: .item(Requirement(anyOf: Self.passcodeRule), .whenPasscodeSet))
        fixture.prompter.prepare([.cancel])
        #expect(try refusal { _ = try client.itemData(query("alice")) } == .userCancel)
    }

    @Test(arguments: [false, true])
    func `new data lies under an access secret of its own`(isProtected: Bool) throws {
        try fixture.setPasscode()
        try add("alice", isProtected ? Self.passcodeRule : [[]])
        let proved = try fixture.account.keeper.prove(SecretBytes(text: BrokerFixture.passcode))
        let proof = Evaluation(of: proved)
        let older = try opener("alice")
        let secret = try older.takeSecret(by: isProtected ? proof : nil)
        #expect(try Self.opens(older, secret))
        if isProtected { fixture.prompter.prepare([Self.passcode]) }
        try expectNoOldWrap(atLeast: 1) { try client.updateItems(query("alice"), data: Data("data of alice".utf8)) }
        #expect(try !Self.opens(opener("alice"), secret), "whoever has it has it from an older copy of the store")
        #expect(try read("alice", isProtected ? [Self.passcode] : []))
    }

    @Test func `what changes under an application password is wrapped anew with it`() throws {
        let word = ScriptedPrompter.Answer.text(BrokerFixture.applicationPassword)
        fixture.prompter.prepare([word, word])
        try add("alice", Self.passwordRule)
        let changes: [(data: String?, accessibility: String)] = [("fresh", "ak"), (nil, "ck"), ("newest", "cku")]
        for (data, accessibility) in changes {
            let before = try wrap("alice")
            fixture.prompter.prepare([word])
            try expectNoOldWrap(atLeast: 1) {
                try client.updateItems(
                    query("alice"), ["pdmn": .text(accessibility)], data: data.map { Data($0.utf8) })
            }
            #expect(try wrap("alice") != before)
            fixture.prompter.prepare([word])
            #expect(try client.itemData(query("alice")) == (data ?? "fresh"))
        }
        fixture.prompter.prepare([.text("wrong"), .text("wrong"), .text("wrong")])
        #expect(try refusal { _ = try client.itemData(query("alice")) } == .authenticationFailed)
    }

    @Test func `the same rule with another application password has the other one from then on`() throws {
        let (old, other) = (ScriptedPrompter.Answer.text(BrokerFixture.applicationPassword), "another word 9")
        fixture.prompter.prepare([old, old])
        try add("alice", Self.passwordRule)
        fixture.prompter.prepare([old, .text(other), .text(other)])
        try client.updateItems(query("alice"), accessControl: .item(Requirement(anyOf: Self.passwordRule)))
        #expect(try read("alice", [.text(other)]))
        fixture.prompter.prepare([old, old, old])
        #expect(try refusal { _ = try client.itemData(query("alice")) } == .authenticationFailed)
    }

    @Test func `an item that is updated while the person is asked is read as it is then`() throws {
        try fixture.setPasscode()
        try add("alice", Self.passcodeRule)
        let (items, opener) = (fixture.account.items, try opener("alice"))
        nonisolated(unsafe) let target = ItemStore.Target(opener: opener, proof: nil)
        fixture.prompter.prepare([Self.passcode])
        fixture.prompter.duringNextQuestion {
            do {
                let change = ItemChange(
                    attributes: try ItemAttributes([], of: .genericPassword), accessControl: nil,
                    data: SecretBytes(text: "fresh"), applicationPassword: nil)
                try items.update([target], change, now: 0)
            } catch { Issue.record(error) }
        }
        #expect(try client.itemData(query("alice")) == "fresh")
        #expect(fixture.prompter.asked.count == 1, "what was proved is enough for what is there now")
    }

    @Test func `an item that gets another rule while the person is asked asks for that one`() throws {
        try fixture.setPasscode()
        let word = ScriptedPrompter.Answer.text(BrokerFixture.applicationPassword)
        fixture.prompter.prepare([word, word])
        try add("alice", Self.passwordRule)
        let (items, opener) = (fixture.account.items, try opener("alice"))
        nonisolated(unsafe) let target = ItemStore.Target(opener: opener, proof: nil)
        fixture.prompter.prepare([word, Self.passcode])
        fixture.prompter.duringNextQuestion {
            do {
                let change = ItemChange(
                    attributes: try ItemAttributes([], of: .genericPassword),
                    accessControl: try .item(Requirement(anyOf: [.passcode])), data: SecretBytes(text: "fresh"),
                    applicationPassword: nil)
                try items.update([target], change, now: 0)
            } catch { Issue.record(error) }
        }
        #expect(try client.itemData(query("alice")) == "fresh")
        #expect(fixture.prompter.askedKinds == [.applicationPassword, .enterPasscode])
        let id = opener.record.id.bytes
        #expect(try fixture.account.counters.attempts(at: id).failedCount == 0)
    }

    private func wrap(_ account: String) throws -> ItemWrap { try #require(try opener(account).record.wrap) }

    private func opener(_ account: String) throws -> ItemOpener {
        let items = fixture.account.items
        let groups = [ExactName(try client.status().caller.program)]
        return try #require(
            items.all(
                VisibleItems(query(account), groups: groups, digests: items.digests), waitingAs: nil
            ).first)
    }

    private static func opens(_ opener: ItemOpener, _ secret: borrowing SecretBytes) throws -> Bool {
        do {
            _ = try opener.data(secret)
            return true
        } catch SlotError.refused { return false }
    }

    @Test func `an item that changes while the person is asked is not changed by what was proved for it`() throws {
        try fixture.setPasscode()
        try add("alice", Self.passcodeRule)
        let path = fixture.socketPath
        fixture.prompter.prepare([Self.passcode])
        fixture.prompter.duringNextQuestion {
            let other = try? TestClient(socketPath: path)
            _ = try? other?.deleteItems(TestClient.query())
            _ = try? other?.addItem(["acct": .text("alice")], accessControl: .item(Requirement(anyOf: [.passcode])))
        }
        #expect(try refusal { try client.updateItems(query("alice"), data: Data("mine".utf8)) } == .systemCancel)
        fixture.prompter.prepare([Self.passcode])
        #expect(try client.itemData(query("alice")) == "data")
    }

    @Test func `the log says who was asked for what`() throws {
        try fixture.setPasscode()
        try add("alice", Self.passcodeRule)
        #expect(try read("alice", [Self.passcode]))
        let lines = try client.log().suffix(2).map { "\($0.event) \($0.result) \($0.factors) \($0.strength)" }
        #expect(lines == ["authorize granted [\"passcode\"] key-bound", "item-read granted [\"passcode\"] key-bound"])
    }

    // MARK: classes

    private static let all = AvailabilityClass.allCases

    private func fill(_ classes: [AvailabilityClass] = all) throws {
        for availability in classes {
            try client.addItem(
                ["acct": .text("free \(availability)"), "pdmn": .text(Accessibility(availability).rawValue)],
                data: Data("data of free \(availability)".utf8))
        }
    }

    private func readable() throws -> [AvailabilityClass] {
        fixture.prompter.prepare([])
        return try Self.all.filter { availability in
            switch try refusal({
                _ = try fixture.client().itemData(query("free \(availability)"), use: TestClient.silentUse())
            }) {
            case nil: true
            case .locked?: false
            case let code?: throw UnexpectedRefusal(code: code)
            }
        }
    }

    private struct UnexpectedRefusal: Error { let code: WireFailureCode }

    @Test func `each class is readable in its time`() throws {
        try fixture.setPasscode()
        try fill()
        #expect(try readable() == Self.all)
        try client.lock()
        #expect(try readable() == [.always, .afterFirstUnlock])
        try fixture.restart()
        #expect(try readable() == [.always])
        try fixture.unlock()
        #expect(try readable() == Self.all)
    }

    @Test(arguments: [WireItemUse(), TestClient.silentUse()])
    func `where nobody may be asked, a locked item is neither added, read, shown nor changed, but deleted`(
        use: WireItemUse
    ) throws {
        try fixture.setPasscode()
        try fill()
        try client.lock()
        fixture.prompter.prepare([])
        #expect(try refusal { try client.addItem(["acct": .text("new")], use: use) } == .locked)
        let rule = try AccessControl.item(Requirement(anyOf: Self.passcodeRule))
        #expect(try refusal { try client.addItem(["acct": .text("new")], accessControl: rule, use: use) } == .locked)
        let name = query("free when-unlocked")
        for (data, attributes) in [(true, false), (false, true), (false, false)] {
            #expect(
                try refusal { _ = try client.findItems(name, data: data, attributes: attributes, use: use) } == .locked)
        }
        #expect(
            try refusal { _ = try client.findItems(TestClient.query(), use: use) } == .locked,
            "the first locked one ends the search")
        for query in [name, TestClient.query()] {
            #expect(try refusal { try client.updateItems(query, ["labl": .text("x")], use: use) } == .locked)
        }
        #expect(
            try refusal { try client.updateItems(query("free always"), ["pdmn": .text("ak")], use: use) } == .locked)
        #expect(fixture.prompter.asked.isEmpty)
        try client.addItem(["acct": .text("new"), "pdmn": .text("ck")])
        #expect(try client.deleteItems(query("free when-unlocked")) == 1)
        try fixture.unlock()
        #expect(try client.findItems(TestClient.query()).count == 4)
        #expect(try refusal { _ = try client.findItems(query("free when-unlocked")) } == .notFound)
    }

    // MARK: the passcode's life

    @Test func `setting a passcode keeps every item, closes the classes, and leaves no old wrap`() throws {
        let classes: [AvailabilityClass] = [.always, .afterFirstUnlock, .whenUnlocked]
        try fill(classes)
        let context = try client.openContext()
        try client.setApplicationPassword(BrokerFixture.applicationPassword, in: context)
        for availability in classes {
            try add("word \(availability)", Self.passwordRule, availability, context: context)
        }
        try expectNoOldWrap(atLeast: 8) { try fixture.setPasscode() }
        for availability in classes {
            #expect(try client.itemData(query("free \(availability)")) == "data of free \(availability)")
            #expect(try read("word \(availability)", [.text(BrokerFixture.applicationPassword)]))
        }
        try fixture.restart()
        let silent = TestClient.silentUse()
        #expect(
            try refusal { _ = try fixture.client().itemData(query("free when-unlocked"), use: silent) } == .locked)
        #expect(try fixture.client().itemData(query("free always")) == "data of free always")
        #expect(try fixture.client().diagnosis().findings.first { $0.check == "items" }?.verdict == .ok)
    }

    @Test func `changing the passcode keeps every item under the new one, and leaves no old wrap`() throws {
        try fixture.setPasscode()
        try fill()
        for availability in Self.all { try add("code \(availability)", Self.passcodeRule, availability) }
        try expectNoOldWrap(atLeast: 20) { try fixture.changePasscode(to: Self.new) }
        try fixture.restart()
        #expect(try readable() == [.always])
        try fixture.unlock(Self.new)
        #expect(try readable() == Self.all)
        for availability in Self.all { #expect(try read("code \(availability)", [.text(Self.new)])) }
        fixture.prompter.prepare([Self.passcode, Self.passcode, Self.passcode])
        #expect(try refusal { _ = try fixture.client().itemData(query("code always")) } == .authenticationFailed)
    }

    @Test func `removing the passcode destroys what was bound to it, after saying so, and keeps the rest`() throws {
        try fixture.setPasscode()
        try fill()
        for availability in Self.all { try add("code \(availability)", Self.passcodeRule, availability) }
        try expectNoOldWrap(atLeast: 20) { try fixture.removePasscode() }
        let warning = try #require(fixture.prompter.askedKinds.last)
        #expect("\(warning)".contains("5 keychain items"))
        for isRestarted in [false, true] {
            if isRestarted { try fixture.restart() }
            let found = try fixture.client().findItems(TestClient.query())
            #expect(
                found.map { $0.item.values["acct"] } == [
                    .text("free always"), .text("free after-first-unlock"), .text("free when-unlocked"),
                ])
            #expect(
                found.map { String(decoding: $0.data, as: UTF8.self) }
                    == Self.all.prefix(3).map { "data of free \($0)" })
        }
        try fixture.client().lock()
        #expect(try fixture.client().itemData(query("free when-unlocked")) == "data of free when-unlocked")
    }

    @Test func `an unreadable item does not stand in the way of a new passcode`() throws {
        try fill([.whenUnlocked])
        try client.addItem(["acct": .text("victim")])
        fixture.close()
        let store = try StoppedStore(copying: fixture.folder)
        let victim = try store.rows("SELECT row_key FROM items ORDER BY generation, rowid")[1][0] as Data
        #expect(try store.alter("attribute_record", of: "items", where: "row_key = ?", [victim]) == 1)
        let reopened = try BrokerFixture(in: store.folder)
        let client = try reopened.client()
        try reopened.setPasscode()
        #expect(try client.itemData(query("free when-unlocked")) == "data of free when-unlocked")
        #expect(try refusal { _ = try client.itemData(query("victim")) } == .itemUnreadable)
        #expect(try refusal { _ = try client.findItems(TestClient.query()) } == .itemUnreadable)
        #expect(try refusal { try client.addItem(["acct": .text("victim")]) } == .duplicate)
        #expect(try client.diagnosis().findings.first { $0.check == "items" }?.verdict == .problem)
        #expect(try client.deleteItems(query("victim")) == 1)
        #expect(try client.findItems(TestClient.query()).count == 1)
    }

    /// Runs `change` and looks for what it replaced in the state folder's files.
    private func expectNoOldWrap(atLeast count: Int, _ change: () throws -> Void) throws {
        fixture.account.eraser.erase()
        let old = try OldWraps(in: fixture.stateDirectory)
        try change()
        let replaced = try old.withoutThose(in: fixture.stateDirectory)
        #expect(replaced.count >= count)
        #expect(try replaced.traces(in: fixture.stateDirectory) == 0)
    }
}

extension TestClient {
    fileprivate func itemDataInContext(_ query: WireItemQuery, _ context: UInt64) throws -> String {
        try itemData(query, use: TestClient.use(context))
    }
}
