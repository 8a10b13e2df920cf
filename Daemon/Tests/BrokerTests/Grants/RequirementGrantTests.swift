import AccessControl
import Foundation
import OstiaryMessages
import StoreTestSupport
import Testing

@testable import Broker
@testable import BrokerTestSupport
@testable import ProtectedObjects
@testable import Refusals

/// How long a requirement that no right is behind counts as satisfied.
@Suite("An authorized requirement")
struct RequirementGrantTests {
    private let fixture: BrokerFixture
    private let client: TestClient
    private let context: UInt64

    /// A context in which the passcode was proved for a requirement.
    init() throws {
        fixture = try BrokerFixture()
        try fixture.setPasscode()
        client = try fixture.client()
        context = try client.openContext()
        fixture.prompter.prepare([.text(BrokerFixture.passcode)])
        #expect(try client.authorize(Requirement.passcode, in: context) == ["passcode"])
        fixture.prompter.prepare([])
    }

    private func refusedQuietly(_ requirement: Requirement? = nil, in context: UInt64) throws -> WireFailureCode? {
        try refusal { try client.authorize(requirement ?? .passcode, in: context, interactive: false) }
    }

    @Test func `stands without a question when a prompt is forbidden`() throws {
        #expect(try client.authorize(Requirement.passcode, in: context, interactive: false) == ["passcode"])
        #expect(fixture.prompter.asked.isEmpty)
    }

    @Test func `is asked for anew when a prompt is allowed`() throws {
        fixture.prompter.prepare([.cancel])
        #expect(try refusal { try client.authorize(Requirement.passcode, in: context) } == .userCancel)
        #expect(fixture.prompter.asked.count == 1)
    }

    @Test func `says nothing about another requirement, context or connection`() throws {
        let other = try Requirement(anyOf: [.passcode, .biometry])
        #expect(try refusedQuietly(other, in: context) == .notInteractive)
        #expect(try refusedQuietly(in: client.openContext()) == .notInteractive)
        let stranger = try fixture.client()
        let foreign = try stranger.openContext()
        #expect(
            try refusal { try stranger.authorize(Requirement.passcode, in: foreign, interactive: false) }
                == .notInteractive)
    }

    @Test func `ends with a lock, for good`() throws {
        try fixture.client().lock()
        #expect(try refusedQuietly(in: context) == .notInteractive)
        try fixture.unlock()
        #expect(try refusedQuietly(in: context) == .notInteractive)
    }

    @Test func `ends when it is taken back`() throws {
        try client.deauthorize(context)
        #expect(try refusedQuietly(in: context) == .notInteractive)
    }

    @Test func `ends with its context`() throws {
        try client.close(context)
        #expect(try refusedQuietly(in: context) == .unknownContext)
    }

    @Test func `is not kept when grants were ended while it was proved, nor without bound`() throws {
        let context = EvaluationContext(keepsFactors: false, clock: TestClock(), lifetime: .seconds(60))
        let grant = EvaluationContext.RequirementGrant(
            factorNames: [], strength: "", limits: nil, since: .zero)
        let era = context.era
        context.endAllGrants()
        #expect(throws: RequestCancellation.refusal(.locked)) {
            try context.grant(requirement: Data([0]), grant, standsOnKept: false, since: era)
        }
        #expect(context.heldRequirement(Data([0])) == nil)
        for number in 0..<UInt8(ContextLimits.requirementCount) {
            try context.grant(requirement: Data([number]), grant, standsOnKept: false, since: context.era)
        }
        var refused: Refusal?
        do { try context.grant(requirement: Data([255]), grant, standsOnKept: false, since: context.era) } catch {
            refused = error
        }
        #expect(refused?.code == .tooMany)
        try context.grant(requirement: Data([0]), grant, standsOnKept: false, since: context.era)
        context.invalidate()
        #expect(context.heldRequirement(Data([0])) == nil)
    }
}
