import AccessControl
import Foundation
import KeySlots
import OstiaryMessages
import Owners
import PromptProtocol
import SecretMemory
import Settings
import StoreTestSupport
import Testing

@testable import Authenticators
@testable import Broker
@testable import BrokerTestSupport
@testable import OwnerKeys
@testable import ProtectedObjects
@testable import Refusals

/// What a context keeps of factors, and when it keeps it no more.
@Suite("A context that keeps factors")
struct KeepingContextTests {
    static let new = "another battery 8"
    private let fixture: BrokerFixture
    private let client: TestClient

    init() throws {
        fixture = try BrokerFixture()
        try fixture.setPasscode()
        for name in ["one", "two"] { try fixture.create(name, .passcode, .whenUnlocked) }
        try fixture.create("both", Requirement(anyOf: [[.passcode, .applicationPassword]]), .whenUnlocked)
        try fixture.create("free", .unrestricted, .whenUnlocked)
        client = try fixture.client()
    }

    /// A keeping context in which the passcode was proved for the right "one".
    private func provedContext(_ client: TestClient? = nil) throws -> UInt64 {
        let client = client ?? self.client
        let context = try client.openContext(keepingFactors: true)
        fixture.prompter.prepare([.text(BrokerFixture.passcode)])
        #expect(try client.authorize(client.find("one"), in: context) == ["passcode"])
        #expect(fixture.prompter.unusedAnswers.isEmpty && fixture.prompter.unpreparedCount == 0)
        fixture.prompter.prepare([])
        return context
    }

    /// Authorizes "two"; true when nobody was asked, false when a question was needed.
    private func holds(_ context: UInt64, _ client: TestClient? = nil) throws -> Bool {
        let client = client ?? self.client
        fixture.prompter.prepare([])
        var factors: [String] = []
        let code = try refusal { factors = try client.authorize(client.find("two"), in: context) }
        #expect(factors == (code == nil ? ["passcode"] : []))
        #expect(code == (fixture.prompter.asked.isEmpty ? nil : .userCancel))
        return code == nil
    }

    // MARK: what is kept

    @Test func `asks once for two rights, and each can be used`() throws {
        let context = try provedContext()
        #expect(try holds(context))
        for name in ["one", "two"] { #expect(try client.sign(client.find(name), in: context)) }
        #expect(fixture.prompter.asked.isEmpty)
        let grants = try client.log().filter { $0.event == "authorize" && $0.result == "granted" }
        #expect(grants.map(\.factors) == [["passcode"], ["passcode"]])
    }

    @Test func `asks for what is missing alone`() throws {
        let context = try provedContext()
        fixture.prompter.prepare([.text(BrokerFixture.applicationPassword)])
        #expect(try client.authorize(client.find("both"), in: context) == ["passcode", "application-password"])
        #expect(fixture.prompter.askedKinds == [.applicationPassword])
        #expect(try client.sign(client.find("both"), in: context))
    }

    @Test func `an application password is not kept: it belongs to one object`() throws {
        let context = try provedContext()
        for _ in 1...2 {
            fixture.prompter.prepare([.text(BrokerFixture.applicationPassword)])
            #expect(try client.authorize(client.find("both"), in: context).count == 2)
            #expect(fixture.prompter.askedKinds == [.applicationPassword])
        }
        let strict = try AccessControl(
            availability: .whenUnlocked, using: Requirement(anyOf: [[.passcode, .applicationPassword]]))
        fixture.prompter.prepare([.cancel])
        #expect(try refusal { try client.evaluate(strict, .sign, in: context) } == .userCancel)
    }

    @Test func `what asks for nothing stands on nothing, whatever is held`() throws {
        let context = try provedContext()
        #expect(try client.authorize(client.find("free"), in: context) == [])
    }

    @Test func `a policy that was evaluated is kept with its key`() throws {
        let context = try client.openContext(keepingFactors: true)
        fixture.prompter.prepare([.text(BrokerFixture.passcode)])
        try client.evaluatePolicy(2, in: context)
        #expect(try holds(context))
        #expect(try client.sign(client.find("two"), in: context))
    }

    @Test func `what is granted again is recorded again`() throws {
        let context = try client.openContext()
        let right = try client.find("one").rightID
        fixture.prompter.prepare(Array(repeating: .text(BrokerFixture.passcode), count: 3))
        try client.evaluatePolicy(2, in: context)
        try client.authorize(Requirement.passcode, in: context)
        try client.authorize(rightID: right, in: context)
        let before = try client.log().count
        try client.evaluatePolicy(2, in: context)
        try client.authorize(Requirement.passcode, in: context, interactive: false)
        try client.authorize(rightID: right, in: context, interactive: false)
        let again = try client.log().dropFirst(before)
        #expect(again.map(\.event) == ["evaluate-policy", "authorize-requirement", "authorize"])
        #expect(again.allSatisfy { $0.result == "granted" && $0.factors == ["passcode"] })
        #expect(fixture.prompter.asked.count == 3)
    }

    @Test func `what is held is enough for a policy and for a bare requirement`() throws {
        let context = try provedContext()
        try client.evaluatePolicy(2, in: context)
        #expect(try client.authorize(Requirement.passcode, in: context) == ["passcode"])
        #expect(fixture.prompter.asked.isEmpty)
    }

    @Test func `what is held makes possible what a preflight would refuse`() throws {
        let context = try provedContext()
        // Wrong tries bring a delay, during which nobody can be asked.
        let wrong = Array(repeating: ScriptedPrompter.Answer.text("wrong"), count: 3)
        for _ in 1...2 { _ = try fixture.refusalOfAuthorizing("one", answers: wrong) }
        #expect(
            try refusal { try client.authorize(rightID: client.find("two").rightID, in: 0, preflight: true) }
                == .lockedOut)
        _ = try client.authorize(rightID: client.find("two").rightID, in: context, preflight: true)
        #expect(try holds(context))
    }

    @Test func `a refused evaluation keeps nothing`() throws {
        let context = try client.openContext(keepingFactors: true)
        fixture.prompter.prepare([.text(BrokerFixture.passcode), .cancel])
        #expect(try refusal { _ = try client.authorize(client.find("both"), in: context) } == .userCancel)
        #expect(try !holds(context))
    }

    // MARK: what ends it

    @Test func `a context that is not opened for it keeps nothing`() throws {
        let context = try client.openContext()
        fixture.prompter.prepare([.text(BrokerFixture.passcode)])
        _ = try client.authorize(client.find("one"), in: context)
        #expect(try !holds(context))
    }

    @Test func `nothing crosses to another context, of this connection or of another`() throws {
        let context = try provedContext()
        #expect(try !holds(client.openContext(keepingFactors: true)))
        let other = try fixture.client()
        var ids: [UInt64] = []
        for _ in 0...context { ids.append(try other.openContext(keepingFactors: true)) }
        #expect(ids.contains(context))
        #expect(try !holds(context, other))
        #expect(try holds(context))
    }

    @Test(arguments: [(599, true), (600, false), (3600, false)])
    func `it is kept for ten minutes`(seconds: Int, isKept: Bool) throws {
        let context = try provedContext()
        fixture.clock.advance(by: .seconds(seconds))
        #expect(try holds(context) == isKept)
    }

    @Test func `no use prolongs it`() throws {
        let context = try provedContext()
        for _ in 1...5 {
            fixture.clock.advance(by: .seconds(119))
            #expect(try holds(context))
        }
        fixture.clock.advance(by: .seconds(5))
        #expect(try !holds(context))
    }

    @Test(arguments: [(599, true), (600, false)])
    func `an evaluated policy counts as long, and is asked for again afterwards`(seconds: Int, counts: Bool) throws {
        let context = try client.openContext(keepingFactors: true)
        fixture.prompter.prepare([.text(BrokerFixture.passcode)])
        try client.evaluatePolicy(2, in: context)
        fixture.clock.advance(by: .seconds(seconds))
        fixture.prompter.prepare([.cancel])
        #expect(try refusal { try client.evaluatePolicy(2, in: context) } == (counts ? nil : .userCancel))
        #expect(fixture.prompter.asked.isEmpty == counts)
    }

    @Test func `a policy that stands on what is kept ends with that`() throws {
        let context = try provedContext()
        fixture.clock.advance(by: .seconds(300))
        try client.evaluatePolicy(2, in: context)
        fixture.clock.advance(by: .seconds(300))
        fixture.prompter.prepare([.cancel])
        #expect(try refusal { try client.evaluatePolicy(2, in: context) } == .userCancel)
    }

    @Test func `another passcode ends an evaluated policy`() throws {
        let context = try client.openContext()
        fixture.prompter.prepare([.text(BrokerFixture.passcode)])
        try client.evaluatePolicy(2, in: context)
        try fixture.changePasscode(to: Self.new)
        fixture.prompter.prepare([.cancel])
        #expect(try refusal { try client.evaluatePolicy(2, in: context) } == .userCancel)
    }

    @Test func `a configured lifetime counts instead`() throws {
        var prompts = PromptConfiguration()
        prompts.contextSeconds = 10
        let fixture = try BrokerFixture(prompts: prompts)
        try fixture.setPasscode()
        let client = try fixture.client()
        let context = try client.openContext(keepingFactors: true)
        fixture.prompter.prepare([.text(BrokerFixture.passcode)])
        try client.evaluatePolicy(2, in: context)
        fixture.clock.advance(by: .seconds(9))
        try client.evaluatePolicy(2, in: context)
        fixture.clock.advance(by: .seconds(1))
        fixture.prompter.prepare([.cancel])
        #expect(try refusal { try client.evaluatePolicy(2, in: context) } == .userCancel)
    }

    // MARK: what the question says

    @Test(arguments: [(600, "10 minutes"), (60, "1 minute"), (61, "61 seconds")])
    func `its questions say that the answer serves other things as well, and how long`(
        seconds: Int, words: String
    ) throws {
        var prompts = PromptConfiguration()
        prompts.contextSeconds = seconds
        let fixture = try BrokerFixture(prompts: prompts)
        try fixture.setPasscode()
        try fixture.create("one", .passcode, .whenUnlocked)
        let client = try fixture.client()
        try client.addItem("genp", ["acct": .text("a")], accessControl: .item(.passcode))
        let right = try client.find("one")
        /// What the question of `work` notes, in a context of its own.
        func note(keepingFactors: Bool, _ work: (UInt64) throws -> Void) throws -> String? {
            let context = try client.openContext(keepingFactors: keepingFactors)
            fixture.prompter.prepare([.text(BrokerFixture.passcode)])
            try work(context)
            #expect(fixture.prompter.asked.count == 1)
            return fixture.prompter.asked.first?.consequence?.string
        }
        let kept = "This program can use your answer for its other keys and items for \(words)."
        let works: [(UInt64) throws -> Void] = [
            { context in _ = try client.authorize(right, in: context) },
            { context in _ = try client.authorize(Requirement.passcode, in: context) },
            { context in try client.evaluatePolicy(2, in: context) },
            { context in
                _ = try client.findItems(
                    TestClient.query("genp", ["acct": .text("a")]), use: TestClient.use(context))
            },
        ]
        for work in works {
            #expect(try note(keepingFactors: true, work) == kept)
            #expect(try note(keepingFactors: false, work) == nil)
        }
        try client.lock()
        let opensStore = "The store is locked. Your passcode opens it for all your programs."
        #expect(try note(keepingFactors: true, works[0]) == "\(opensStore) \(kept)")
    }

    private func signs(_ context: UInt64, _ name: String = "one") throws -> Bool {
        let right = try client.find(name)
        var isSigned = false
        let code = try refusal { isSigned = try client.sign(right, in: context) }
        #expect(isSigned ? code == nil : code == .notAuthorized)
        return isSigned
    }

    @Test(arguments: [(599, true), (600, false), (3600, false)])
    func `an opened key works for ten minutes`(seconds: Int, isOpen: Bool) throws {
        let context = try provedContext()
        fixture.clock.advance(by: .seconds(seconds))
        #expect(try signs(context) == isOpen)
    }

    @Test func `no use of an opened key prolongs it`() throws {
        let context = try provedContext()
        for _ in 1...5 {
            fixture.clock.advance(by: .seconds(119))
            #expect(try signs(context))
        }
        fixture.clock.advance(by: .seconds(5))
        #expect(try !signs(context))
    }

    @Test func `a key that is opened with what is kept ends when that does`() throws {
        let context = try provedContext()
        for _ in 1...4 {
            fixture.clock.advance(by: .seconds(119))
            #expect(try holds(context))
        }
        // "two" was authorized anew each time, and stands on a proof from the beginning.
        fixture.clock.advance(by: .seconds(119))
        #expect(try signs(context, "two"))
        fixture.clock.advance(by: .seconds(5))
        #expect(try !signs(context, "two"))
        #expect(try !signs(context, "one"))
    }

    @Test func `an authorization that has ended by itself does not stand where nobody may be asked`() throws {
        let context = try provedContext()
        let id = try client.find("one").rightID
        #expect(try client.authorize(rightID: id, in: context, interactive: false) == ["passcode"])
        fixture.clock.advance(by: .seconds(600))
        #expect(try refusal { try client.authorize(rightID: id, in: context, interactive: false) } == .notInteractive)
    }

    @Test func `the context of a right keeps its key until something ends that`() throws {
        fixture.prompter.prepare([.text(BrokerFixture.passcode)])
        let context = try client.authorize("one")
        fixture.clock.advance(by: .seconds(100_000))
        #expect(try signs(context))
        try client.lock()
        #expect(try !signs(context))
    }

    enum Ending: CaseIterable { case lock, deauthorize, change, removeAndSetAgain, reconnect }

    @Test(arguments: Ending.allCases) func `nothing is kept after`(ending: Ending) throws {
        var (client, context) = (self.client, try provedContext())
        switch ending {
        case .lock: try fixture.client().lock()
        case .deauthorize: try client.deauthorize(context)
        case .change: try fixture.changePasscode(to: Self.new)
        case .removeAndSetAgain:
            try fixture.removePasscode()
            try fixture.setPasscode()
            try fixture.create("one", .passcode, .whenUnlocked)
            try fixture.create("two", .passcode, .whenUnlocked)
        case .reconnect:
            client = try fixture.client()
            while try client.openContext(keepingFactors: true) < context {}
        }
        #expect(try !holds(context, client))
        context = try client.openContext(keepingFactors: true)
        #expect(try !holds(context, client))
    }

    // MARK: an application password that is entered ahead of its object

    /// A context in which the person entered the password of "sealed" before it was opened.
    private func passwordContext(during question: (@Sendable () -> Void)? = nil) throws -> UInt64 {
        try fixture.create("sealed", Requirement(anyOf: [.applicationPassword]), .whenUnlocked)
        let sealed = try AccessControl(availability: .whenUnlocked, using: Requirement(anyOf: [.applicationPassword]))
        let context = try client.openContext(keepingFactors: true)
        fixture.prompter.prepare([.text(BrokerFixture.applicationPassword)])
        if let question { fixture.prompter.duringNextQuestion(question) }
        _ = try client.evaluate(sealed, .sign, in: context)
        return context
    }

    /// Authorizes "sealed"; true when nobody was asked.
    private func opensSealed(in context: UInt64) throws -> Bool {
        fixture.prompter.prepare([])
        let code = try refusal { _ = try client.authorize(client.find("sealed"), in: context) }
        #expect(code == (fixture.prompter.asked.isEmpty ? nil : .userCancel))
        return code == nil
    }

    @Test(arguments: [(599, true), (600, false)])
    func `an entered application password is kept as long as a factor`(seconds: Int, isKept: Bool) throws {
        let context = try passwordContext()
        fixture.clock.advance(by: .seconds(seconds))
        #expect(try opensSealed(in: context) == isKept)
    }

    @Test func `no use prolongs it either`() throws {
        let context = try passwordContext()
        for _ in 1...5 {
            fixture.clock.advance(by: .seconds(119))
            #expect(try opensSealed(in: context))
        }
        fixture.clock.advance(by: .seconds(5))
        #expect(try !opensSealed(in: context))
    }

    @Test(arguments: [Ending.lock, .deauthorize, .change])
    func `an entered application password ends with what is held`(ending: Ending) throws {
        let context = try passwordContext()
        switch ending {
        case .lock: try fixture.client().lock()
        case .deauthorize: try client.deauthorize(context)
        default: try fixture.changePasscode(to: Self.new)
        }
        if ending == .lock { try fixture.client().unlock(fixture) }
        #expect(try !opensSealed(in: context))
    }

    @Test func `a lock while it is entered ends it, and one of the program stays`() throws {
        let path = fixture.socketPath
        let code = try refusal { _ = try passwordContext { try? TestClient(socketPath: path).lock() } }
        #expect(code == .systemCancel)
        let context = try client.openContext(keepingFactors: true)
        try client.setApplicationPassword(BrokerFixture.applicationPassword, in: context)
        try client.deauthorize(context)
        try fixture.client().unlock(fixture)
        #expect(try opensSealed(in: context))
    }

    // MARK: contexts that are gone

    @Test func `a context that was closed is unknown`() throws {
        let context = try provedContext()
        try client.close(context)
        #expect(try refusal { _ = try client.authorize(client.find("two"), in: context) } == .unknownContext)
        #expect(try refusal { try client.evaluate(Self.protected, .sign, in: context) } == .unknownContext)
    }

    @Test func `a lock while what is missing is asked for ends what is held too`() throws {
        let context = try provedContext()
        let path = fixture.socketPath
        fixture.prompter.prepare([.text(BrokerFixture.applicationPassword)])
        fixture.prompter.duringNextQuestion { try? TestClient(socketPath: path).lock() }
        #expect(try refusal { _ = try client.authorize(client.find("both"), in: context) } == .systemCancel)
        #expect(try !holds(context))
    }

    @Test func `a passcode that was changed meanwhile is worth nothing, even if its key were still kept`() throws {
        let context = EvaluationContext(keepsFactors: true, clock: fixture.clock, lifetime: .seconds(60))
        let proof = try fixture.account.keeper.prove(SecretBytes(text: BrokerFixture.passcode))
        let evaluation = Evaluation(of: proof)
        try context.keep(evaluation, since: context.era)
        #expect(context.held(under: [proof.half.publicHalf]).factors == .passcode)
        try fixture.changePasscode(to: Self.new)
        #expect(context.isKeepingFactors, "nobody told this context")
        #expect(context.held(under: fixture.account.ring.publicHalves).factors == [])
        #expect(!context.isKeepingFactors)
        try context.keep(evaluation, since: context.era)
        #expect(context.held(under: []).factors == [])
    }

    @Test func `what was proved before kept factors were ended is not kept, and satisfies no policy`() throws {
        let context = EvaluationContext(keepsFactors: true, clock: fixture.clock, lifetime: .seconds(60))
        let proof = try fixture.account.keeper.prove(SecretBytes(text: BrokerFixture.passcode))
        let era = context.era
        context.endKeptFactors()
        try context.keep(Evaluation(of: proof), since: era)
        #expect(!context.isKeepingFactors)
        let grant = EvaluationContext.PolicyGrant(factorNames: ["passcode"], strength: "key-bound")
        do {
            try context.grant(policy: 2, grant, since: era)
            Issue.record("it was granted")
        } catch { #expect(error.code == .systemCancel && error.cause == "context.factors-changed") }
        #expect(context.policyGrant(2) == nil)
        try context.keep(Evaluation(of: proof), since: context.era)
        try context.grant(policy: 2, grant, since: context.era)
        #expect(context.isKeepingFactors && context.policyGrant(2) != nil)
    }

    @Test(arguments: [("biometry-current-set", false), ("biometry", true), ("biometry", false), ("passcode", false)])
    func `what stands on the former set or on a kept factor is not granted once these have ended`(
        factor: String, standsOnKept: Bool
    ) throws {
        let context = EvaluationContext(keepsFactors: false, clock: fixture.clock, lifetime: .seconds(60))
        let era = context.era
        context.endKeptFactors()
        let grant = EvaluationContext.RequirementGrant(
            factorNames: [factor], strength: "broker-bound", limits: nil, since: .zero)
        let rule = Data("rule".utf8)
        let isOfSet = factor == "biometry-current-set"
        do {
            try context.grant(requirement: rule, grant, standsOnKept: standsOnKept, since: era)
            #expect(!isOfSet && !standsOnKept)
        } catch { #expect(error.cause == "context.factors-changed" && (isOfSet || standsOnKept)) }
        #expect((context.heldRequirement(rule) != nil) == (!isOfSet && !standsOnKept))
        try context.grant(requirement: rule, grant, standsOnKept: standsOnKept, since: context.era)
        context.endGrantsOfCurrentSet()
        #expect((context.heldRequirement(rule) != nil) == !isOfSet)
    }

    @Test func `what has expired is wiped though nobody looks at it, and grants after an end are not kept`() throws {
        let context = EvaluationContext(keepsFactors: true, clock: fixture.clock, lifetime: .seconds(60))
        let proof = try fixture.account.keeper.prove(SecretBytes(text: BrokerFixture.passcode))
        let evaluation = Evaluation(of: proof)
        try context.keep(evaluation, since: context.era)
        context.wipeExpired()
        #expect(context.isKeepingFactors)
        fixture.clock.advance(by: .seconds(60))
        context.wipeExpired()
        #expect(!context.isKeepingFactors)
        let era = context.era
        context.endAllGrants()
        #expect(throws: Refusal.self) { try context.keep(evaluation, since: era) }
        #expect(!context.isKeepingFactors)
        // A use of what expired meanwhile does not bring it back.
        let held = HeldFactors(proofs: evaluation.proofs)
        let used = Evaluation(proofs: [], factors: .passcode, held: held)
        try context.keep(used, since: context.era)
        #expect(!context.isKeepingFactors)
    }

    // MARK: ahead of time

    private static var protected: AccessControl {
        get throws { try AccessControl(availability: .whenUnlocked, using: .passcode) }
    }

    @Test func `an access control is proved ahead of its object`() throws {
        let context = try client.openContext(keepingFactors: true)
        fixture.prompter.prepare([.text(BrokerFixture.passcode)])
        #expect(try client.evaluate(Self.protected, .sign, in: context) == ["passcode"])
        #expect(try client.evaluate(Self.protected, .read, in: context, interactive: false) == ["passcode"])
        #expect(try holds(context))
        let records = try client.log().filter { $0.event == "evaluate-access-control" }
        #expect(records.map(\.operation) == ["sign", "read"] && records.allSatisfy { $0.result == "granted" })
    }

    @Test func `an application password is asked for and checked by the object`() throws {
        let context = try client.openContext(keepingFactors: true)
        let both = try AccessControl(
            availability: .whenUnlocked, using: Requirement(anyOf: [[.passcode, .applicationPassword]]))
        fixture.prompter.prepare([.text(BrokerFixture.passcode), .text("not this one")])
        #expect(try client.evaluate(both, .sign, in: context) == ["passcode"])
        fixture.prompter.prepare([])
        #expect(try refusal { _ = try client.authorize(client.find("both"), in: context) } == .authenticationFailed)
        try client.setApplicationPassword(BrokerFixture.applicationPassword, in: context)
        #expect(try client.evaluate(both, .sign, in: context) == ["passcode"])
        #expect(try client.authorize(client.find("both"), in: context).count == 2)
        #expect(fixture.prompter.asked.isEmpty)
    }

    @Test func `what is refused ahead of time`() throws {
        let context = try client.openContext(keepingFactors: true)
        let signOnly = try AccessControl(availability: .whenUnlocked, requirements: [.sign: .passcode])
        #expect(try refusal { try client.evaluate(signOnly, .read, in: context) } == .operationNotPermitted)
        #expect(
            try refusal { try client.evaluate(signOnly, .sign, in: context, interactive: false) } == .notInteractive)
        #expect(try refusal { try client.evaluate(signOnly, .sign, in: client.openContext()) } == .invalidParameter)
        #expect(try refusal { try client.evaluate(signOnly, .sign, in: 999) } == .unknownContext)
        let finger = try AccessControl(availability: .whenUnlocked, using: Requirement(anyOf: [.biometry]))
        #expect(try refusal { try client.evaluate(finger, .sign, in: context) } == .biometryNotAvailable)
        var request = WireEvaluateAccessControlRequest.with {
            $0.contextID = context
            $0.accessControl = Data(signOnly.canonicalBytes)
            $0.question = TestClient.question
        }
        for operation: UInt32 in [0, 8, 256 + 3, .max] {
            request.operation = operation
            #expect(try refusal { try client.call(.evaluateAccessControl(request)) } == .invalidParameter)
        }
        (request.operation, request.accessControl) = (3, Data([1, 2, 3]))
        #expect(try refusal { try client.call(.evaluateAccessControl(request)) } == .invalidRule)
        (request.accessControl, request.question.reason) = (Data(signOnly.canonicalBytes), "")
        #expect(try refusal { try client.call(.evaluateAccessControl(request)) } == .emptyReason)
        #expect(fixture.prompter.asked.isEmpty)
        fixture.prompter.prepare([.cancel])
        #expect(try refusal { try client.evaluate(signOnly, .sign, in: context) } == .userCancel)
        #expect(try !holds(context))
    }
}

extension TestClient {
    /// Opens the store with the passcode, in a context that is given up.
    fileprivate func unlock(_ fixture: BrokerFixture) throws {
        fixture.prompter.prepare([.text(BrokerFixture.passcode)])
        try evaluatePolicy(2, in: openContext())
    }
}
