import AccessControl
import Callers
import ExactNames
import Foundation
import OstiaryMessages
import OwnerKeys
import Owners
import PromptProtocol
import ProtectedObjects
import Refusals
import StoreTestSupport
import Testing
import Vault

@testable import Auditing
@testable import Broker
@testable import BrokerTestSupport

@Suite("The audit log")
struct AuditTests {
    let fixture: BrokerFixture

    init() throws { fixture = try BrokerFixture() }

    private struct Line: Equatable {
        let event: String
        let result: String
        var object = ""
        var factors: [String] = []
        var strength = ""
        var reason = ""

        init(
            _ event: String, _ result: String, _ object: String = "", factors: [String] = [], strength: String = "",
            reason: String = ""
        ) {
            (self.event, self.result, self.object) = (event, result, object)
            (self.factors, self.strength, self.reason) = (factors, strength, reason)
        }

        init(_ record: WireLogRecord) {
            self.init(
                record.event, record.result, record.object, factors: record.factors, strength: record.strength,
                reason: record.reason)
        }
    }

    /// What `body` adds to the log.
    private func lines(_ body: () throws -> Void) throws -> [Line] {
        let client = try fixture.client()
        let before = try client.log().count
        try body()
        let added = try client.log().dropFirst(before)
        #expect(added.allSatisfy { !$0.program.isEmpty && $0.processID == UInt32(getpid()) || $0.event == "log-epoch" })
        #expect(added.allSatisfy { abs($0.time - Date().timeIntervalSince1970) < 600 })
        return added.map(Line.init)
    }

    // MARK: what is written

    @Test func `each decision says what was proved and how strong that is`() throws {
        try fixture.setPasscode()
        let client = try fixture.client()
        try fixture.create("bound", Requirement(anyOf: [.passcode]), .whenUnlocked)
        try fixture.create("free", .unrestricted, .always)
        try fixture.create("both", Requirement(anyOf: [[.passcode, .applicationPassword]]), .always)
        var context: UInt64 = 0
        #expect(
            try lines {
                fixture.prompter.prepare([.text(BrokerFixture.passcode)])
                context = try client.authorize("bound")
            } == [Line("authorize", "granted", "bound", factors: ["passcode"], strength: "key-bound")])
        #expect(
            try lines { _ = try client.sign(client.find("bound"), in: context) }
                == [Line("sign", "granted", "bound", factors: ["passcode"], strength: "key-bound")])
        #expect(
            try lines { _ = try client.secret(of: client.find("bound"), in: context) }
                == [Line("read", "granted", "bound", factors: ["passcode"], strength: "key-bound")])
        #expect(try lines { try client.authorize("free") } == [Line("authorize", "granted", "free")])
        #expect(
            try lines {
                fixture.prompter.prepare([.text(BrokerFixture.passcode), .text(BrokerFixture.applicationPassword)])
                try client.authorize("both")
            } == [
                Line(
                    "authorize", "granted", "both", factors: ["passcode", "application-password"], strength: "key-bound"
                )
            ])
        #expect(
            try lines { try fixture.unlock() }
                == [Line("evaluate-policy", "granted", factors: ["passcode"], strength: "key-bound")])
    }

    @Test func `each refusal says why, without what was typed`() throws {
        try fixture.setPasscode()
        let client = try fixture.client()
        try fixture.create("bound", Requirement(anyOf: [.passcode]), .whenUnlocked)
        let wrong = ScriptedPrompter.Answer.text("a wrong passcode")
        #expect(
            try lines { _ = try fixture.refusalOfAuthorizing("bound", answers: [wrong, wrong, wrong]) }
                == [
                    Line("attempt", "refused", "bound", reason: "authentication.failed"),
                    Line("authorize", "refused", "bound", reason: "authentication.failed"),
                ])
        #expect(
            try lines { _ = try fixture.refusalOfAuthorizing("bound", answers: [.cancel]) }
                == [Line("authorize", "refused", "bound", reason: "prompt.cancelled")])
        #expect(
            try lines { _ = try refusal { _ = try client.sign(client.find("bound"), in: client.openContext()) } }
                == [Line("sign", "refused", "bound", reason: "right.not-authorized")])
        #expect(
            try lines { _ = try fixture.refusalOfAuthorizing("bound", answers: [wrong, wrong]) }
                == [Line("authorize", "refused", "bound", reason: "passcode.locked-out")])
        let log = try Data(contentsOf: URL(fileURLWithPath: fixture.stateDirectory + "/audit.log"))
        #expect(log.range(of: Data("a wrong passcode".utf8)) == nil)
    }

    @Test func `each change is announced before it is made, and confirmed`() throws {
        let open = AccessControl(availability: .always, using: .unrestricted)
        let client = try fixture.client()
        #expect(
            try lines { try client.create("right", open) }
                == [Line("create", "begun", "right"), Line("create", "done", "right")])
        #expect(try lines { try client.remove("right") } == [Line("remove", "done", "right")])
        #expect(try lines { try client.lock() } == [Line("lock", "done")])
        #expect(try lines { try client.deauthorize(client.openContext()) } == [Line("deauthorize", "done")])
        #expect(
            try lines { try fixture.setPasscode() }
                == [Line("passcode-set", "begun"), Line("log-epoch", "begun", "2"), Line("passcode-set", "done")])
        #expect(
            try lines { try fixture.changePasscode(to: "another battery 8") }
                == [
                    Self.proved, Line("passcode-change", "begun"), Line("log-epoch", "begun", "3"),
                    Line("passcode-change", "done"),
                ])
        #expect(
            try lines { try fixture.removePasscode("another battery 8") }
                == [
                    Self.proved, Line("passcode-remove", "begun"), Line("log-epoch", "begun", "4"),
                    Line("passcode-remove", "done"),
                ])
    }

    private static let proved = Line("authorize", "granted", factors: ["passcode"], strength: "key-bound")

    /// Whoever proves the passcode opens the store, also when nothing comes of what it was asked for.
    @Test func `each proof of the passcode is recorded with what it was for`() throws {
        try fixture.setPasscode()
        let client = try fixture.client()
        func proof(
            of request: String, object: String = "", _ answers: [ScriptedPrompter.Answer], _ body: () throws -> Void
        )
            throws
        {
            try client.lock()
            fixture.prompter.prepare([.text(BrokerFixture.passcode)] + answers)
            let before = try client.log().count
            try body()
            #expect(fixture.prompter.unusedAnswers.isEmpty)
            let record = try #require(client.log().dropFirst(before).first { $0.event != "lock" })
            #expect(Line(record) == Line("authorize", "granted", object, factors: ["passcode"], strength: "key-bound"))
            #expect(record.operation == request)
            #expect(try client.status().unlocked)
        }
        try proof(of: "passcode-change", [.cancel]) {
            let code = try refusal { try client.passcode(.change) }
            #expect(code == .userCancel)
        }
        try proof(of: "passcode-remove", [.cancel]) {
            let code = try refusal { try client.passcode(.remove) }
            #expect(code == .userCancel)
        }
        try proof(of: "verifyLog", []) { try client.call(.verifyLog(.with { $0.question.reason = "a test" })) }
        try proof(of: "application-register", object: "com.example.app", []) {
            try client.call(
                .registerApplication(
                    .with {
                        ($0.path, $0.applicationID, $0.question.reason) = ("/usr/bin/head", "com.example.app", "a test")
                    }))
        }
    }

    @Test func `a passcode that opened the store is recorded, also when its request fails afterwards`() throws {
        try fixture.setPasscode()
        let client = try fixture.client()
        try fixture.create("both", Requirement(anyOf: [[.passcode, .applicationPassword]]), .always)
        try fixture.create("bound", Requirement(anyOf: [.passcode]), .whenUnlocked)
        let opening = Line("unlock", "opened", "both", factors: ["passcode"], strength: "key-bound")

        try client.lock()
        let added = try lines {
            let code = try fixture.refusalOfAuthorizing("both", answers: [.text(BrokerFixture.passcode), .cancel])
            #expect(code?.code == .userCancel)
        }
        #expect(added == [opening, Line("authorize", "refused", "both", reason: "prompt.cancelled")])
        #expect(try client.status().unlocked)

        try client.lock()
        let path = fixture.socketPath
        let afterRemoval = try lines {
            fixture.prompter.duringNextQuestion { try? TestClient(socketPath: path).remove("bound") }
            _ = try fixture.refusalOfAuthorizing("bound", answers: [.text(BrokerFixture.passcode)])
        }
        #expect(
            afterRemoval.contains { $0.event == "unlock" && $0.result == "opened" && $0.factors == ["passcode"] })
        #expect(!afterRemoval.contains { $0.result == "granted" })
    }

    @Test func `the note that the store is locked ends with the passcode`() throws {
        try fixture.setPasscode()
        try fixture.create("both", Requirement(anyOf: [[.passcode, .applicationPassword]]), .whenUnlocked)
        try fixture.client().lock()
        fixture.prompter.prepare([.text(BrokerFixture.passcode), .text(BrokerFixture.applicationPassword)])
        try fixture.client().authorize("both")
        let asked = fixture.prompter.asked.suffix(2)
        #expect(asked.first?.consequence?.string.contains("locked") == true)
        #expect(asked.last?.consequence == nil)
    }

    @Test func `each right that is destroyed with others is named`() throws {
        let client = try fixture.client()
        try fixture.setPasscode()
        for name in ["bound", "tied"] { try fixture.create(name, .passcode, .whenUnlocked) }
        for name in ["free", "open"] { try fixture.create(name, .unrestricted, .always) }
        func removed(by request: String, in lines: Int) throws -> [String] {
            try client.log().suffix(lines).filter {
                $0.event == "remove" && $0.result == "done" && $0.operation == request
            }
            .map(\.object).sorted()
        }
        #expect(
            try lines { try fixture.removePasscode() }.filter { $0.event != "remove" }
                == [
                    Self.proved, Line("passcode-remove", "begun"), Line("log-epoch", "begun", "3"),
                    Line("passcode-remove", "done"),
                ])
        #expect(try removed(by: "passcode-remove", in: 5) == ["bound", "tied"])
        #expect(try lines { try client.removeAll() }.last == Line("remove-all", "done"))
        #expect(try removed(by: "remove-all", in: 3) == ["free", "open"])
    }

    @Test func `a right that another one takes the place of is recorded as removed, by its id`() throws {
        let client = try fixture.client()
        let open = AccessControl(availability: .always, using: .unrestricted)
        let former = try #require(VaultID(bytes: client.create("right", open).rightID))
        #expect(
            try lines { try client.create("right", open, replace: true) }
                == [
                    Line("create", "begun", "right"), Line("remove", "done", "\(former) right"),
                    Line("create", "done", "right"),
                ])
        #expect(try client.log().filter { $0.event == "remove" }.map(\.operation) == ["create"])
    }

    @Test(arguments: [0, 1, 3]) func `items that are destroyed with the passcode are recorded`(count: Int) throws {
        try fixture.setPasscode()
        let client = try fixture.client()
        func add(_ name: String, _ availability: String) throws -> WireItem {
            try client.addItem("genp", ["acct": .text(name), "pdmn": .text(availability)])
        }
        _ = try add("kept", "ck")
        let bound = try (0..<count).map { try add("\($0)", "akpu") }
        try fixture.removePasscode()
        #expect(try client.findItems(TestClient.query("genp")).map { $0.item.values["acct"] } == [.text("kept")])
        let removals = try client.log().filter { $0.event == "item-delete" }
        switch count {
        case 0: #expect(removals.isEmpty)
        case 1: #expect(removals.map(\.object) == ["genp \(VaultID(bytes: bound[0].itemID)!)"])
        default: #expect(removals.map(\.object) == ["\(count) items"])
        }
        #expect(removals.allSatisfy { $0.result == "done" && $0.operation == "passcode-remove" })
    }

    @Test func `a removal that is refused names nothing as destroyed`() throws {
        let client = try fixture.client()
        try fixture.setPasscode()
        try fixture.create("bound", .passcode, .whenUnlocked)
        try client.create("eternal", AccessControl(availability: .always, requirements: [.sign: .unrestricted]))
        fixture.prompter.prepare([.text(BrokerFixture.passcode), .cancel])
        #expect(try refusal { try client.passcode(.remove) } == .userCancel)
        #expect(try refusal { try client.removeAll() } == .operationNotPermitted)
        #expect(try !client.log().contains { $0.event == "remove" })
    }

    @Test func `refusals of different requests for the same reason are recorded each`() throws {
        let client = try fixture.client()
        try fixture.create("free", .unrestricted, .always)
        let right = try client.find("free")
        let context = try client.openContext()
        func useTwice() throws {
            for _ in 1...2 {
                #expect(try refusal { _ = try client.sign(right, in: context) } == .notAuthorized)
                #expect(try refusal { _ = try client.secret(of: right, in: context) } == .notAuthorized)
                #expect(try refusal { _ = try client.exchange(right, in: context) } == .notAuthorized)
            }
        }
        let added = try lines(useTwice)
        #expect(
            added
                == ["sign", "read", "key-exchange"].map { Line($0, "refused", "free", reason: "right.not-authorized") })
    }

    @Test func `equal refusals in a row are one record and a count`() throws {
        let client = try fixture.client()
        try fixture.create("free", .unrestricted, .always)
        let right = try client.find("free")
        let context = try client.openContext()
        for _ in 1...50 { #expect(try refusal { _ = try client.sign(right, in: context) } == .notAuthorized) }
        #expect(try client.log().count { $0.event == "sign" } == 1)
        try fixture.restart()
        let records = try fixture.client().log().filter { $0.event == "sign" }
        #expect(records.map(\.repetitions).reduce(0, +) == 50 && records.count == 2)
    }

    // MARK: checking

    @Test func `seals of all epochs are checked through set, change and removal`() throws {
        func expectSealsChecked(_ answers: [ScriptedPrompter.Answer]) throws {
            fixture.prompter.prepare(answers)
            let verdict = try fixture.client().verifyLog(interactive: true)
            #expect(verdict.intact && verdict.sealsChecked, "\(verdict.explanation)")
            #expect(fixture.prompter.unusedAnswers.isEmpty && fixture.prompter.unpreparedCount == 0)
        }
        func expectOnlyChainChecked() throws {
            let verdict = try fixture.client().verifyLog(interactive: false)
            #expect(verdict.intact && !verdict.sealsChecked)
        }
        try fixture.create("free", .unrestricted, .always)
        try expectSealsChecked([])
        try fixture.setPasscode()
        try expectSealsChecked([.text(BrokerFixture.passcode)])
        try expectOnlyChainChecked()
        for (old, new) in [(BrokerFixture.passcode, "another battery 8"), ("another battery 8", "a third staple 7")] {
            try fixture.changePasscode(old, to: new)
            #expect(try fixture.opens("free"))
            try expectSealsChecked([.text(new)])
            try fixture.restart()
            try expectOnlyChainChecked()
            try expectSealsChecked([.text(new)])
        }
        try fixture.removePasscode("a third staple 7")
        try expectSealsChecked([])
        try fixture.restart()
        try expectSealsChecked([])
    }

    @Test func `the seals are not checked for who does not know the passcode`() throws {
        try fixture.setPasscode()
        fixture.prompter.prepare([.text("wrong"), .text("wrong"), .text("wrong")])
        #expect(try refusal { _ = try fixture.client().verifyLog(interactive: true) } == .authenticationFailed)
    }

    // MARK: a damaged log

    /// What somebody does to the log's file while the daemon is stopped.
    enum Damage: CaseIterable {
        case changedByte, cut, missing

        func inflict(on path: String) throws {
            let url = URL(fileURLWithPath: path)
            var bytes = try Data(contentsOf: url)
            switch self {
            case .changedByte: bytes[bytes.count - 10] ^= 1
            case .cut: bytes.removeLast(200)
            case .missing: return try FileManager.default.removeItem(at: url)
            }
            try bytes.write(to: url)
        }
    }

    private func damaged(_ damage: Damage?) throws -> TestFolder {
        try fixture.setPasscode()
        try fixture.create("bound", Requirement(anyOf: [.passcode]), .whenUnlocked)
        try fixture.create("free", .unrestricted, .always)
        for _ in 1...3 { #expect(try fixture.opens("free")) }
        fixture.close()
        let copy = try BrokerFixture.copyOfState(fixture.stateDirectory)
        try damage?.inflict(on: BrokerFixture.stateDirectory(in: copy) + "/audit.log")
        return copy
    }

    @Test(arguments: Damage.allCases)
    func `with a damaged log nothing is released and nothing changed`(damage: Damage) throws {
        let broken = try BrokerFixture(in: damaged(damage))
        let client = try broken.client()
        #expect(try !client.verifyLog(interactive: false).intact)
        #expect(try client.diagnosis().findings.first { $0.check == "audit log" }?.verdict == .problem)
        // Nor is anything found: the lists may be those of an older copy of the store.
        #expect(try refusal { _ = try client.find("free") } == .logUnwritable)
        #expect(try refusal { _ = try client.list() } == .logUnwritable)
        for (name, right) in try Self.stored(in: broken) {
            broken.prompter.prepare(name == "bound" ? [.text(BrokerFixture.passcode)] : [])
            #expect(try refusal { try client.authorize(rightID: right, in: client.openContext()) } == .logUnwritable)
        }
        #expect(try refusal { try broken.create("new", .unrestricted, .always) } == .logUnwritable)
        broken.prompter.prepare([.text(BrokerFixture.passcode)])
        #expect(try refusal { try client.evaluatePolicy(2, in: client.openContext()) } == .logUnwritable)
        broken.prompter.prepare([.text(BrokerFixture.passcode), .text("another battery 8"), .text("another battery 8")])
        #expect(try refusal { try client.passcode(.change) } == .logUnwritable)
        #expect(try Self.stored(in: broken).keys.sorted() == ["bound", "free"])
    }

    @Test func `a user's program in a loop leaves few lines about a damaged log, and another user's line is written`()
        throws
    {
        let recorded = RecordedLog()
        let broken = try BrokerFixture(in: damaged(.changedByte), log: recorded.logger)
        let client = try broken.client()
        let (right, context) = (try #require(Self.stored(in: broken)["free"]), try client.openContext())
        let former = recorded.lines.count
        for _ in 0..<(3 * Int(CallerLines.burst)) {
            #expect(try refusal { try client.authorize(rightID: right, in: context) } == .logUnwritable)
        }
        #expect(recorded.lines.count - former <= Int(CallerLines.burst))
        let told = recorded.count(of: "the audit log cannot be written")
        #expect(told > 0)
        let trail = AuditTrail(
            broken.broker.store.log, of: broken.account.id.ownerID, userID: broken.account.user.id + 1,
            seeds: broken.account.seeds)
        let event = AuditTrail.Event(name: "test", program: .daemonStart)
        #expect(throws: Refusal.self) { try trail.grant(event, factors: [], strength: "", isProved: true) }
        #expect(recorded.count(of: "the audit log cannot be written") == told + 1)
    }

    /// The names and ids of the stored rights, which no request tells while the log does not fit.
    private static func stored(in fixture: BrokerFixture) throws -> [String: Data] {
        let records = try fixture.account.rights.list(application: nil, as: .daemon).compactMap(\.record)
        return Dictionary(uniqueKeysWithValues: records.map { ($0.attributes.identifier.text, $0.id.bytes) })
    }

    @Test(arguments: Damage.allCases)
    func `with a damaged log it can be locked, deauthorized and removed`(damage: Damage) throws {
        let broken = try BrokerFixture(in: damaged(damage))
        let client = try broken.client()
        try client.deauthorize(client.openContext())
        let bound = try #require(Self.stored(in: broken)["bound"])
        broken.prompter.prepare([.text(BrokerFixture.passcode)])
        #expect(try refusal { try client.authorize(rightID: bound, in: client.openContext()) } == .logUnwritable)
        // That the passcode opened the store cannot be recorded, so the store is locked again.
        #expect(try !client.status().unlocked)
        try client.lock()
        #expect(try !client.status().unlocked)
        try client.remove("free")
        #expect(try Self.stored(in: broken).keys.sorted() == ["bound"])
        try client.removeAll()
        #expect(try Self.stored(in: broken).isEmpty)
    }

    @Test(arguments: Damage.allCases)
    func `a damaged log is replaced when told to, and kept as evidence`(damage: Damage) throws {
        let folder = try damaged(damage)
        let state = BrokerFixture.stateDirectory(in: folder)
        let evidence = try? Data(contentsOf: URL(fileURLWithPath: state + "/audit.log"))
        let renewed = try BrokerFixture(in: folder, replacingDamagedLog: true)
        #expect(try renewed.opens("bound", answers: [.text(BrokerFixture.passcode)]))
        let log = try renewed.client().log()
        #expect(log.first?.event == "log-replaced")
        renewed.prompter.prepare([.text(BrokerFixture.passcode)])
        let verdict = try renewed.client().verifyLog(interactive: true)
        #expect(verdict.intact && verdict.sealsChecked)
        let kept = try FileManager.default.contentsOfDirectory(atPath: state).filter { $0.contains("damaged") }
        let keptBytes = try kept.map { try Data(contentsOf: URL(fileURLWithPath: state + "/" + $0)) }
        #expect(keptBytes == (evidence.map { [$0] } ?? []))
        try renewed.restart()
        #expect(try renewed.opens("bound", answers: [.text(BrokerFixture.passcode)]))
    }

    @Test func `a record of long ago that was changed is found by verification and the doctor`() throws {
        let folder = try damaged(nil)
        let url = URL(fileURLWithPath: BrokerFixture.stateDirectory(in: folder) + "/audit.log")
        var bytes = try Data(contentsOf: url)
        bytes[200] ^= 1
        try bytes.write(to: url)
        let broken = try BrokerFixture(in: folder)
        let client = try broken.client()
        // The start looks at what lies behind the anchor.
        #expect(try broken.opens("free"))
        let verdict = try client.verifyLog(interactive: false)
        #expect(!verdict.intact && verdict.firstMisfit == 1)
        let finding = try #require(try client.diagnosis().findings.first { $0.check == "audit log" })
        #expect(finding.verdict == .problem && finding.message.hasSuffix("First at record 1."))
        #expect(finding.advice.contains("--replace-damaged-log"))
        broken.close()
        let renewed = try BrokerFixture(in: folder, replacingDamagedLog: true)
        let first = try #require(try renewed.client().log().first)
        #expect(first.event == "log-replaced" && first.reason.hasSuffix("first misfit: 1"))
        #expect(try renewed.client().verifyLog(interactive: false).intact)
    }

    @Test func `the seals of a log that replaced another are under the passcode as soon as it is proved`() throws {
        let renewed = try BrokerFixture(in: damaged(.cut), replacingDamagedLog: true)
        #expect(try renewed.client().verifyLog(interactive: false).sealsChecked, "nobody has proved anything yet")
        #expect(try renewed.opens("bound", answers: [.text(BrokerFixture.passcode)]))
        #expect(try !renewed.client().verifyLog(interactive: false).sealsChecked)
        renewed.prompter.prepare([.text(BrokerFixture.passcode)])
        let verdict = try renewed.client().verifyLog(interactive: true)
        #expect(verdict.intact && verdict.sealsChecked)
        try renewed.restart()
        #expect(try !renewed.client().verifyLog(interactive: false).sealsChecked)
    }

    @Test func `each of many rights that are destroyed together has its record`() throws {
        let client = try fixture.client()
        let open = AccessControl(availability: .always, using: .unrestricted)
        for number in 0..<70 { _ = try client.create("right \(number)", open) }
        #expect(try lines { try client.removeAll() }.last == Line("remove-all", "done"))
        let removed = try client.log().filter { $0.event == "remove" }
        #expect(Set(removed.map(\.object)).count == 70)
        #expect(removed.allSatisfy { $0.repetitions == 1 && $0.object.contains("right ") })
    }

    /// What a program can repeat as fast as it wants: each writes a record, and none waits for the disk.
    enum Repeatable: String, CaseIterable, Sendable {
        case lock
        case deauthorize
        case revokeGrants = "grants-revoke"

        func run(by client: TestClient, in context: UInt64) throws {
            switch self {
            case .lock: try client.lock()
            case .deauthorize: try client.deauthorize(context)
            case .revokeGrants: try client.call(.revokeGrants(.with { $0.which = .all(.init()) }))
            }
        }
    }

    @Test(arguments: Repeatable.allCases)
    func `what ends grants in a loop is two records, and they stand before the next release`(request: Repeatable) throws
    {
        try fixture.create("free", .unrestricted, .always)
        let client = try fixture.client()
        let context = try client.openContext()
        func records() throws -> [WireLogRecord] { try client.log().filter { $0.event == request.rawValue } }
        for _ in 0..<500 { try request.run(by: client, in: context) }
        #expect(try records().count == 1, "the others are counted")
        #expect(try fixture.opens("free"))
        #expect(try records().map(\.repetitions) == [1, 499])
        let release = try #require(client.log().last { $0.event == "authorize" && $0.result == "granted" })
        #expect(try #require(records().last).index < release.index)
        try request.run(by: client, in: context)
        #expect(try #require(records().last).index > release.index, "a window ended with the release")
    }

    @Test func `a removal of all rights where there is none is no record`() throws {
        let client = try fixture.client()
        let removals = try lines { for _ in 0..<100 { try client.removeAll() } }
        #expect(removals.isEmpty)
        try client.create("right", AccessControl(availability: .always, using: .unrestricted))
        #expect(try lines { try client.removeAll() } == [Line("remove", "done", "right"), Line("remove-all", "done")])
    }

    @Test func `an intact log is not replaced, whatever the daemon is told`() throws {
        #expect(try fixture.client().log().count == 1)
        try fixture.create("free", .unrestricted, .always)
        fixture.close()
        let reopened = try BrokerFixture(in: fixture.folder, replacingDamagedLog: true)
        #expect(try reopened.client().log().map(\.event) == ["log-epoch", "create", "create"])
    }
}
