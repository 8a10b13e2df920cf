import AccessControl
import Dispatch
import Foundation
import GRDB
import OstiaryMessages
import Passcodes
import Sessions
import StoreTestSupport
import Synchronization
import Testing
import Threading
import Vault

@testable import Broker
@testable import BrokerTestSupport
@testable import ProtectedObjects
@testable import Refusals

/// The limits of rights and of bare requirements, as the daemon enforces them.
@Suite("A grant with limits")
struct LimitedGrantTests {
    private let fixture: BrokerFixture
    private let client: TestClient

    init() throws {
        fixture = try BrokerFixture()
        try fixture.setPasscode()
        client = try fixture.client()
    }

    private func right(idle: UInt32? = nil, hard: UInt32? = nil, uses: UInt32? = nil) throws -> WireRight {
        let limits = try GrantLimits(idleSeconds: idle, hardSeconds: hard, uses: uses)
        return try client.create(
            "limited", AccessControl(availability: .whenUnlocked, using: Requirement.passcode, limits: limits),
            secret: "s",
            replace: true)
    }

    /// A context in which the right was authorized by the passcode.
    private func authorized(_ right: WireRight) throws -> UInt64 {
        let context = try client.openContext()
        fixture.prompter.prepare([.text(BrokerFixture.passcode)])
        #expect(try client.authorize(right, in: context) == ["passcode"])
        fixture.prompter.prepare([])
        return context
    }

    /// The code and the cause that a signature is refused with; nil when it is made.
    private func refusedSignature(_ right: WireRight, _ context: UInt64) throws -> String? {
        do {
            #expect(try client.sign(right, in: context))
            return nil
        } catch let refused as Refused {
            #expect(refused.code == .notAuthorized)
            return refused.cause
        }
    }

    private func context(_ id: UInt64) throws -> EvaluationContext {
        let sessions = fixture.broker.sessions.all(of: fixture.account)
        return try #require(sessions.lazy.compactMap { try? $0.contexts.context(id) }.first)
    }

    private func recordedEnds() throws -> [String] {
        fixture.broker.services.grantEnds.finish()
        return try client.log().filter { $0.event == "grant-end" }.map { "\($0.object) \($0.reason)" }
    }

    // MARK: rights

    @Test func `has as many uses as its right says, and then says why it ended`() throws {
        let right = try right(uses: 2)
        let context = try authorized(right)
        #expect(try refusedSignature(right, context) == nil)
        #expect(try client.secret(of: right, in: context) == "s")
        for _ in 1...2 { #expect(try refusedSignature(right, context) == "grant.used-up") }
        #expect(try recordedEnds() == ["limited grant.used-up"])
    }

    @Test func `a use that gives nothing costs nothing`() throws {
        let right = try right(uses: 1)
        let context = try authorized(right)
        let request = WireSignRequest.with {
            ($0.contextID, $0.rightID, $0.algorithm) = (context, right.rightID, "algid:sign:none")
        }
        for _ in 1...3 { #expect(try refusal { try client.call(.sign(request)) } == .unsupportedAlgorithm) }
        #expect(try refusedSignature(right, context) == nil)
        #expect(try refusedSignature(right, context) == "grant.used-up")
    }

    @Test func `ends when it was not used for its time, and each use renews that`() throws {
        let right = try right(idle: 10)
        let context = try authorized(right)
        for _ in 1...4 {
            fixture.clock.advance(by: .seconds(9))
            #expect(try refusedSignature(right, context) == nil)
        }
        fixture.clock.advance(by: .seconds(10))
        #expect(try refusedSignature(right, context) == "grant.expired-idle")
    }

    @Test func `ends at its age, however often it is used`() throws {
        let right = try right(hard: 10)
        let context = try authorized(right)
        for _ in 1...3 {
            fixture.clock.advance(by: .seconds(3))
            #expect(try refusedSignature(right, context) == nil)
        }
        fixture.clock.advance(by: .seconds(1))
        #expect(try refusedSignature(right, context) == "grant.expired")
    }

    @Test func `asking whether it stands neither renews it nor uses it up`() throws {
        let right = try right(idle: 10, uses: 1)
        let context = try authorized(right)
        fixture.clock.advance(by: .seconds(9))
        for _ in 1...3 { try client.authorize(rightID: right.rightID, in: context, interactive: false) }
        fixture.clock.advance(by: .seconds(1))
        #expect(try refusedSignature(right, context) == "grant.expired-idle")
        #expect(
            try refusal { try client.authorize(rightID: right.rightID, in: context, interactive: false) }
                == .notInteractive)
    }

    @Test func `a new proof begins a new grant`() throws {
        let right = try right(uses: 1)
        let context = try authorized(right)
        #expect(try refusedSignature(right, context) == nil)
        fixture.prompter.prepare([.text(BrokerFixture.passcode)])
        #expect(try client.authorize(right, in: context) == ["passcode"])
        #expect(try refusedSignature(right, context) == nil)
        #expect(try refusedSignature(right, context) == "grant.used-up")
    }

    @Test func `is wiped and recorded though nobody looks at it`() throws {
        let right = try right(idle: 10, hard: 30)
        let id = try authorized(right)
        let context = try context(id)
        let rightID = try #require(VaultID(bytes: right.rightID))
        weak let opened = context.heldRight(rightID)
        #expect(opened != nil)
        context.wipeExpired()
        #expect(opened != nil)
        fixture.clock.advance(by: .seconds(10))
        context.wipeExpired()
        #expect(opened == nil)
        #expect(try recordedEnds() == ["limited grant.expired-idle"])
    }

    @Test func `is wiped by a timer of its own, also where a later end is waited for already`() throws {
        let ends = Mutex<[GrantEnd]>([])
        let over = DispatchSemaphore(value: 0)
        let context = EvaluationContext(
            keepsFactors: false, clock: try SystemBootClock(), lifetime: .seconds(600)
        ) { ended in
            ends.withLock { $0 += ended.map(\.end) }
            over.signal()
        }
        let grant = { (seconds: UInt32) throws in
            EvaluationContext.RequirementGrant(
                factorNames: [], strength: "", limits: try GrantLimits(hardSeconds: seconds), since: .zero)
        }
        try context.grant(requirement: Data([1]), grant(3600), standsOnKept: false, since: context.era)
        try context.grant(requirement: Data([2]), grant(1), standsOnKept: false, since: context.era)
        #expect(over.wait(timeout: .now() + 120) == .success)
        #expect(ends.withLock { $0 } == [.expired])
        #expect(context.heldRequirement(Data([1])) != nil)
    }

    @Test(.timeLimit(.minutes(10))) func `one use is one use, though thirty-two threads want it`() throws {
        let right = try right(uses: 1)
        let id = try authorized(right)
        let context = try context(id)
        let rightID = try #require(VaultID(bytes: right.rightID))
        let opened = try #require(context.heldRight(rightID))
        let counts = Mutex<[String: Int]>([:])
        DispatchQueue.concurrentPerform(iterations: 32) { _ in
            var result = "released"
            do throws(Refusal) { try context.use(opened) } catch { result = error.cause }
            counts.withLock { $0[result, default: 0] += 1 }
        }
        #expect(counts.withLock { $0 } == ["released": 1, "grant.used-up": 31])
    }

    @Test func `belongs to its context and connection`() throws {
        let right = try right(hard: 60)
        let context = try authorized(right)
        let stranger = try fixture.client()
        #expect(try refusal { _ = try stranger.sign(right, in: context) } == .unknownContext)
        #expect(try refusal { _ = try stranger.sign(right, in: stranger.openContext()) } == .notAuthorized)
        #expect(try refusal { _ = try client.sign(right, in: client.openContext()) } == .notAuthorized)
    }

    @Test func `a lock ends it, and what ended it then is the lock`() throws {
        let right = try right(hard: 60)
        let context = try authorized(right)
        try fixture.client().lock()
        #expect(try refusedSignature(right, context) == "right.not-authorized")
        #expect(try recordedEnds() == [])
    }

    // MARK: the stored limits

    @Test func `has the limits that are stored, whatever the request says`() throws {
        let right = try right(uses: 1)
        let context = try client.openContext()
        fixture.prompter.prepare([.text(BrokerFixture.passcode)])
        let request = WireAuthorizeRequest.with {
            $0.contextID = context
            $0.subject = .rightID(right.rightID)
            $0.question = TestClient.question
            $0.limits = .with { $0.uses = 1_000_000 }
        }
        _ = try client.call(.authorize(request))
        #expect(try refusedSignature(right, context) == nil)
        #expect(try refusedSignature(right, context) == "grant.used-up")
    }

    @Test func `limits that were edited in the database are refused`() throws {
        let right = try right(uses: 1)
        let longer = try AccessControl(
            availability: .whenUnlocked, using: .passcode, limits: GrantLimits(uses: 1_000_000))
        let none = try AccessControl(availability: .whenUnlocked, using: .passcode)
        for edited in [longer, none] {
            let copy = try fixture.crashCopy()
            let count = try StoppedStore(of: copy).write(
                "UPDATE objects SET access_control = ? WHERE row_key = ?", [Data(edited.canonicalBytes), right.rightID])
            #expect(count == 1)
            let other = try BrokerFixture(in: copy)
            let client = try other.client()
            let context = try client.openContext()
            other.prompter.prepare([.text(BrokerFixture.passcode)])
            #expect(try refusal { _ = try client.authorize(right, in: context) } == .itemUnreadable)
        }
    }

    @Test func `limits without anything to prove are refused`() throws {
        let limits = try GrantLimits(uses: 1)
        let free = AccessControl(availability: .whenUnlocked, using: .unrestricted, limits: limits)
        do {
            try client.create("free", free)
            Issue.record("it was created")
        } catch let refused as Refused {
            #expect(refused.code == .invalidRule && refused.cause == "rule.limits-without-factor")
        }
    }

    // MARK: requirements

    private func authorizedRequirement(_ limits: WireGrantLimits) throws -> UInt64 {
        let context = try client.openContext()
        fixture.prompter.prepare([.text(BrokerFixture.passcode)])
        try client.authorize(.passcode, in: context, limits: limits)
        fixture.prompter.prepare([])
        return context
    }

    private func isConfirmed(_ context: UInt64, limits: WireGrantLimits? = nil) throws -> Bool {
        try refusal { try client.authorize(.passcode, in: context, interactive: false, limits: limits) } == nil
    }

    @Test func `of a requirement is used by asking whether it stands`() throws {
        let context = try authorizedRequirement(.with { $0.uses = 2 })
        #expect(try isConfirmed(context) && isConfirmed(context))
        #expect(try !isConfirmed(context))
        #expect(try recordedEnds() == [" grant.used-up"])
    }

    @Test func `of a requirement ends by time, and the limits of the first request hold`() throws {
        let context = try authorizedRequirement(.with { $0.idleSeconds = 10 })
        fixture.clock.advance(by: .seconds(9))
        #expect(try isConfirmed(context, limits: .with { $0.idleSeconds = 1000 }))
        fixture.clock.advance(by: .seconds(9))
        #expect(try isConfirmed(context))
        fixture.clock.advance(by: .seconds(10))
        #expect(try !isConfirmed(context))
    }

    @Test func `of a requirement is refused with limits that are none`() throws {
        let context = try client.openContext()
        fixture.prompter.prepare([])
        for limits in [WireGrantLimits(), .with { $0.uses = 0 }, .with { ($0.idleSeconds, $0.hardSeconds) = (9, 9) }] {
            #expect(try refusal { try client.authorize(.passcode, in: context, limits: limits) } == .invalidRule)
        }
        #expect(fixture.prompter.asked.isEmpty)
    }
}
