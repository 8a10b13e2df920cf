import AccessControl
import Dispatch
import Foundation
import OstiaryMessages
import PromptProtocol
import StoreTestSupport
import Synchronization
import Testing

@testable import Broker
@testable import BrokerTestSupport
@testable import ProtectedObjects
@testable import Refusals

/// Enclave keys and items with limits, used with the factors that a context keeps.
@Suite("An object with limits")
struct LimitedObjectTests {
    private static let query = TestClient.query("genp", ["acct": .text("alice")])
    private let fixture: BrokerFixture
    private let client: TestClient

    init() throws {
        fixture = try BrokerFixture()
        try fixture.setPasscode()
        client = try fixture.client()
    }

    private func keyControl(_ limits: GrantLimits?) throws -> AccessControl {
        try AccessControl(
            availability: .whenUnlocked, requirements: [.create: .unrestricted, .sign: .passcode], limits: limits)
    }

    private func itemControl(_ limits: GrantLimits?) throws -> AccessControl {
        let everybody = Requirement.unrestricted
        return try AccessControl(
            availability: .whenUnlocked,
            requirements: [.create: everybody, .read: .passcode, .delete: everybody, .change: everybody],
            limits: limits)
    }

    /// A context that keeps the passcode, proved for no object.
    private func provedContext() throws -> UInt64 {
        let context = try client.openContext(keepingFactors: true)
        fixture.prompter.prepare([.text(BrokerFixture.passcode)])
        try client.evaluatePolicy(2, in: context)
        fixture.prompter.prepare([])
        return context
    }

    private func key(_ limits: GrantLimits?) throws -> WireRight {
        let key = try client.createKey(.p256, keyControl(limits))
        return .with { ($0.rightID, $0.publicKey) = (key.keyID, key.publicKey) }
    }

    /// Whether the key is authorized and signs, and whether somebody was asked for it.
    private func isAskedForSigning(_ key: WireRight, _ context: UInt64) throws -> Bool {
        fixture.prompter.prepare([.text(BrokerFixture.passcode)])
        _ = try client.authorize(key, in: context)
        #expect(try client.sign(key, in: context))
        return fixture.prompter.unusedAnswers.isEmpty
    }

    private func isAskedForReading(_ context: UInt64) throws -> Bool {
        fixture.prompter.prepare([.text(BrokerFixture.passcode)])
        #expect(try client.itemData(Self.query, use: TestClient.use(context)) == "data")
        return fixture.prompter.unusedAnswers.isEmpty
    }

    // MARK: keys

    @Test func `a key takes a kept factor so many times, and then a new one, which counts anew`() throws {
        let context = try provedContext()
        let key = try key(GrantLimits(uses: 2))
        #expect(
            try [1, 2, 3, 4, 5].map { _ in try isAskedForSigning(key, context) } == [false, false, true, false, true])
    }

    @Test func `a key without limits goes on taking what another one takes no more`() throws {
        let context = try provedContext()
        let (limited, free) = (try key(GrantLimits(uses: 1)), try key(nil))
        #expect(try !isAskedForSigning(limited, context))
        #expect(try !isAskedForSigning(free, context))
        #expect(try isAskedForSigning(limited, context))
    }

    @Test func `a key takes no factor that is older than its limit`() throws {
        let context = try provedContext()
        let key = try key(GrantLimits(hardSeconds: 20))
        fixture.clock.advance(by: .seconds(19))
        #expect(try !isAskedForSigning(key, context))
        fixture.clock.advance(by: .seconds(1))
        #expect(try isAskedForSigning(key, context))
        fixture.clock.advance(by: .seconds(19))
        #expect(try !isAskedForSigning(key, context))
    }

    @Test func `a key's first use comes within its idle limit after the proof`() throws {
        let key = try key(GrantLimits(idleSeconds: 10))
        let context = try provedContext()
        fixture.clock.advance(by: .seconds(10))
        #expect(try isAskedForSigning(key, context))
        fixture.clock.advance(by: .seconds(9))
        #expect(try !isAskedForSigning(key, context))
    }

    @Test func `authorizing again does not begin a key's uses again`() throws {
        let context = try provedContext()
        let key = try key(GrantLimits(uses: 1))
        _ = try client.authorize(key, in: context)
        _ = try client.authorize(key, in: context)
        #expect(try client.sign(key, in: context))
        #expect(try refusal { _ = try client.sign(key, in: context) } == .notAuthorized)
        fixture.prompter.prepare([.cancel])
        #expect(try refusal { _ = try client.authorize(key, in: context) } == .userCancel)
    }

    @Test func `what the context keeps ends as before, however long the key's limits are`() throws {
        let context = try provedContext()
        let key = try key(GrantLimits(hardSeconds: 86_400))
        #expect(try !isAskedForSigning(key, context))
        fixture.clock.advance(by: .seconds(600))
        #expect(try isAskedForSigning(key, context))
    }

    @Test func `an application password that was entered ahead is taken no longer than the key permits`() throws {
        let rule = try Requirement(anyOf: [.applicationPassword])
        let control = try AccessControl(
            availability: .whenUnlocked, requirements: [.create: .unrestricted, .sign: rule],
            limits: GrantLimits(idleSeconds: 10, hardSeconds: 20))
        fixture.prompter.prepare(Array(repeating: .text(BrokerFixture.applicationPassword), count: 2))
        let made = try client.createKey(.p256, control)
        let key = WireRight.with { ($0.rightID, $0.publicKey) = (made.keyID, made.publicKey) }
        let context = try client.openContext(keepingFactors: true)
        fixture.prompter.prepare([.text(BrokerFixture.applicationPassword)])
        try client.evaluate(control, .sign, in: context)
        for _ in 1...2 {
            fixture.clock.advance(by: .seconds(9))
            fixture.prompter.prepare([])
            _ = try client.authorize(key, in: context)
            #expect(try client.sign(key, in: context))
        }
        fixture.clock.advance(by: .seconds(2))
        fixture.prompter.prepare([.cancel])
        #expect(try refusal { _ = try client.authorize(key, in: context) } == .userCancel)
        #expect(fixture.prompter.askedKinds == [.applicationPassword])
    }

    // MARK: items

    @Test func `an item is read so many times with a kept factor, and then with a new one`() throws {
        try client.addItem(["acct": .text("alice")], accessControl: itemControl(GrantLimits(uses: 2)))
        let context = try provedContext()
        #expect(try [1, 2, 3, 4, 5].map { _ in try isAskedForReading(context) } == [false, false, true, false, true])
    }

    @Test func `without a context each request asks, whatever the limits`() throws {
        try client.addItem(["acct": .text("alice")], accessControl: itemControl(GrantLimits(uses: 1)))
        #expect(try [1, 2].map { _ in try isAskedForReading(0) } == [true, true])
    }

    @Test func `a proof that is too old for one item opens the others alone`() throws {
        try client.addItem(["acct": .text("alice")], accessControl: itemControl(GrantLimits(hardSeconds: 10)))
        try client.addItem(["acct": .text("bob")], accessControl: itemControl(nil))
        let context = try provedContext()
        fixture.clock.advance(by: .seconds(10))
        let all = TestClient.query("genp", [:])
        fixture.prompter.prepare([])
        #expect(try client.findItems(all, use: TestClient.use(context, skips: true)).count == 1)
        fixture.prompter.prepare([.cancel])
        #expect(try refusal { _ = try client.findItems(all, use: TestClient.use(context)) } == .userCancel)
        fixture.prompter.prepare([.text(BrokerFixture.passcode)])
        #expect(try client.findItems(all, use: TestClient.use(context)).count == 2)
    }

    @Test func `changing an item is a use of it`() throws {
        try client.addItem(["acct": .text("alice")], accessControl: itemControl(GrantLimits(uses: 1)))
        let context = try provedContext()
        #expect(try client.updateItems(Self.query, ["labl": .text("x")], use: TestClient.use(context)) == 1)
        #expect(try isAskedForReading(context))
    }

    @Test func `an item that is moved into another class keeps its limits`() throws {
        try client.addItem(["acct": .text("alice")], accessControl: itemControl(GrantLimits(uses: 1)))
        fixture.prompter.prepare([.text(BrokerFixture.passcode)])
        try client.updateItems(Self.query, ["pdmn": .text("cku")])
        let context = try provedContext()
        #expect(try !isAskedForReading(context))
        #expect(try isAskedForReading(context))
    }

    @Test(.timeLimit(.minutes(10))) func `one use is one use, though sixteen requests want it`() throws {
        try client.addItem(["acct": .text("alice")], accessControl: itemControl(GrantLimits(uses: 1)))
        let context = try provedContext()
        fixture.prompter.prepare([])
        let request = WireFindItemsRequest.with {
            ($0.query, $0.limit, $0.returnsData, $0.use) = (Self.query, 1, true, TestClient.silentUse(context))
        }
        for _ in 1...16 { try client.send(.findItems(request)) }
        let answers = try (1...16).map { _ in try client.answer() }
        #expect(answers.count { $0.refused == nil } == 1)
        #expect(answers.compactMap(\.refused).allSatisfy { [.notAuthorized, .notInteractive].contains($0.code) })
    }

    @Test func `a context counts for so many objects with limits, and refuses more`() throws {
        let context = EvaluationContext(keepsFactors: true, clock: fixture.clock, lifetime: .seconds(600))
        let limits = try GrantLimits(uses: 1)
        let count = { (number: Int) throws in
            let subject = GrantSubject.requirement(Data("\(number)".utf8))
            try context.count(LimitedSubject(subject, limits), standsOnKept: false, since: context.era)
        }
        for number in 0..<ContextLimits.meterCount { try count(number) }
        try count(0)
        var refused: Refusal?
        do { try count(ContextLimits.meterCount) } catch let refusal as Refusal { refused = refusal }
        #expect(refused?.code == .tooMany)
    }
}
