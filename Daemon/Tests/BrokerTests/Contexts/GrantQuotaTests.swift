import AccessControl
import Authenticators
import Callers
import ExactNames
import Foundation
import OstiaryMessages
import Refusals
import StoreTestSupport
import Testing
import Vault

@testable import Broker
@testable import BrokerTestSupport
@testable import ProtectedObjects
@testable import Sessions

@Suite("The grants that contexts hold", .timeLimit(.minutes(10)))
struct GrantQuotaTests {
    private let quota = ProgramQuota.grants(ShareLimits(ofProgram: 2, ofOwner: 3, total: 5))
    private let one: ProgramOfOwner = "one"
    private let sameOfOtherOwner = ProgramOfOwner(owner: .numbered(1), program: "one")

    private func context(of program: ProgramOfOwner) -> EvaluationContext {
        EvaluationContext(
            keepsFactors: false, clock: TestClock(), lifetime: .seconds(60), quota: quota, program: program
        ) { _ in }
    }

    private func requirement(_ number: UInt8) -> Data { Data([number]) }

    private func grant(_ number: UInt8, in context: EvaluationContext, limits: GrantLimits? = nil) throws {
        let grant = EvaluationContext.RequirementGrant(factorNames: [], strength: "", limits: limits, since: .zero)
        try context.grant(requirement: requirement(number), grant, standsOnKept: false, since: context.era)
    }

    /// How many more places the program gets.
    private func freeCount(for program: ProgramOfOwner) -> Int {
        var places: [ProgramQuota.Place] = []
        while let place = try? quota.take(for: program) { places.append(place) }
        return places.count
    }

    private func refusal(_ body: () throws -> Void) -> Refusal? {
        do {
            try body()
            return nil
        } catch { return error as? Refusal }
    }

    private func refused(_ body: () throws -> Void) throws -> Refused? {
        do {
            try body()
            return nil
        } catch let refused as Refused { return refused }
    }

    // MARK: who may hold how many

    @Test func `are limited for a program, over all of its contexts`() throws {
        let contexts = (0..<3).map { _ in context(of: one) }
        for context in contexts.prefix(2) { try grant(0, in: context) }
        let expected = Refusal(
            .tooMany,
            "This program holds 2 authorizations already, and no more are allowed; release contexts that it does not need.",
            cause: "grant.too-many")
        #expect(refusal { try grant(0, in: contexts[2]) } == expected)
        #expect(refusal { try contexts[2].requireRoom(for: LimitedSubject(.object(VaultID()), nil)) } == expected)
        #expect(contexts[2].heldRequirement(requirement(0)) == nil)
        #expect(contexts[0].heldRequirement(requirement(0)) != nil)
        #expect(throws: Never.self) { try grant(0, in: context(of: "another")) }
    }

    @Test func `of an owner with many programs leave places to another owner`() throws {
        let contexts = (["one", "two", "three"] as [ProgramOfOwner]).map(context)
        for context in contexts { try grant(0, in: context) }
        #expect(
            refusal { try grant(0, in: context(of: "four")) }
                == Refusal(
                    .tooMany,
                    "This user's programs hold 3 authorizations already, and no more are allowed; release contexts that are "
                        + "not needed.", cause: "grant.too-many-of-owner"))
        let others = (0..<3).map { _ in context(of: sameOfOtherOwner) }
        for other in others.prefix(2) { try grant(0, in: other) }
        #expect(refusal { try grant(0, in: others[2]) }?.cause == "grant.too-many", "its own share")
        #expect(refusal { try grant(0, in: context(of: "four")) }?.cause == "grant.too-many-of-owner")
        #expect(contexts.allSatisfy { $0.holdsGrant } && others.prefix(2).allSatisfy { $0.holdsGrant })
    }

    @Test func `are limited for all owners, and a refusal does not tell how many of others there are`() throws {
        let programs = ([1, 2, 3] as [UInt8]).map { ProgramOfOwner(owner: .numbered($0), program: "one") }
        let contexts = programs.map(context)
        for (context, count) in zip(contexts, [2, 2, 1] as [UInt8]) {
            for number in 0..<count { try grant(number, in: context) }
        }
        #expect(
            refusal { try grant(1, in: contexts[2]) }
                == Refusal(
                    .tooMany, "All programs together hold too many authorizations; try again later.",
                    cause: "grant.too-many-in-all"))
        contexts[0].endAllGrants()
        #expect(throws: Never.self) { try grant(1, in: contexts[2]) }
    }

    // MARK: places, and their ends

    @Test func `have one place each, however often they are granted`() throws {
        let context = context(of: one)
        for _ in 1...3 { try grant(0, in: context) }
        #expect(freeCount(for: one) == 1)
        for _ in 1...3 { try grant(1, in: context) }
        #expect(freeCount(for: one) == 0)
        #expect(throws: Never.self) { try grant(0, in: context) }
    }

    @Test func `give their places back with a lock, with the context's end and with the connection's`() throws {
        let contexts = ContextTable(
            clock: TestClock(), lifetime: .seconds(60), quota: quota, program: one
        ) { _ in }
        let (first, second) = (try contexts.open(keepingFactors: false), try contexts.open(keepingFactors: false))
        for id in [first, second] { try grant(0, in: contexts.context(id)) }
        #expect(freeCount(for: one) == 0)
        contexts.endAllGrants()
        #expect(freeCount(for: one) == 2)
        for id in [first, second] { try grant(0, in: contexts.context(id)) }
        try contexts.close(first)
        #expect(freeCount(for: one) == 1)
        contexts.wipe()
        #expect(freeCount(for: one) == 2)
    }

    @Test func `take no place when they are refused`() throws {
        let context = context(of: one)
        let era = context.era
        context.endAllGrants()
        let grant = EvaluationContext.RequirementGrant(factorNames: [], strength: "", limits: nil, since: .zero)
        #expect(
            refusal { try context.grant(requirement: requirement(0), grant, standsOnKept: false, since: era) }?.code
                == .systemCancel)
        #expect(freeCount(for: one) == 2)
    }

    @Test func `under leases have places, too`() throws {
        let context = context(of: one)
        let objects = [VaultID(), VaultID()]
        for object in objects { try context.grantUnderLease(object, since: context.era) }
        #expect(
            refusal { try context.grantUnderLease(VaultID(), since: context.era) }?.cause == "grant.too-many")
        context.endLeased([objects[0]])
        #expect(freeCount(for: one) == 1)
        context.endGrant(on: objects[1])
        #expect(freeCount(for: one) == 2)
    }

    /// In a function of its own, so that nothing but the context remembers the grant when it returns.
    private func useUp(_ number: UInt8, in context: EvaluationContext) throws {
        let held = try #require(context.heldRequirement(requirement(number)))
        try context.use(held, of: requirement(number))
    }

    @Test func `keep their places while a context tells of them why they ended`() throws {
        let limits = try GrantLimits(uses: 1)
        let (usedUp, revoked) = (context(of: one), context(of: one))
        try grant(0, in: usedUp, limits: limits)
        try useUp(0, in: usedUp)
        #expect(usedUp.refusal(of: .requirement(requirement(0))).cause == "grant.used-up")
        #expect(freeCount(for: one) == 1)
        try grant(1, in: revoked)
        revoked.revokeAllGrants()
        #expect(revoked.refusal(of: .requirement(requirement(1))).cause == "grant.revoked")
        #expect(freeCount(for: one) == 0)
        for _ in 1...2 { try grant(1, in: revoked) }
        revoked.endAllGrants()
        usedUp.invalidate()
        #expect(freeCount(for: one) == 2)
    }

    // MARK: the broker

    @Test func `are refused before anybody is asked, and their ends give places to others`() throws {
        let fixture = try BrokerFixture()
        try fixture.setPasscode()
        let client = try fixture.client()
        let free = try client.create("free", AccessControl(availability: .always, using: .unrestricted))
        let bound = try client.create("bound", AccessControl(availability: .whenUnlocked, using: .passcode))
        let (context, other) = (try client.openContext(), try client.openContext())
        let limit = SessionLimits.ofOneUser.grants.ofProgram
        let session = try #require(fixture.broker.sessions.all(of: fixture.account).first)
        let program = session.caller.program.ofOwner
        let places = try (1..<limit).map { _ in try fixture.broker.services.grants.take(for: program) }
        try client.authorize(rightID: free.rightID, in: context)
        fixture.prompter.prepare([])
        let requests: [() throws -> Void] = [
            { try client.authorize(rightID: bound.rightID, in: other) },
            { try client.authorize(Requirement.passcode, in: other) },
            { try client.authorize(rightID: free.rightID, in: other) },
        ]
        for request in requests {
            let answer = try refused(request)
            #expect(answer?.code == .tooMany && answer?.cause == "grant.too-many")
            #expect(
                answer?.explanation
                    == "This program holds \(limit) authorizations already, and no more are allowed; release contexts that "
                    + "it does not need.")
        }
        #expect(fixture.prompter.asked.isEmpty)
        #expect(try client.sign(free, in: context), "what is held stands")
        try client.authorize(rightID: free.rightID, in: context)
        try client.close(context)
        try client.authorize(rightID: free.rightID, in: other)
        #expect(try refused(requests[0])?.cause == "grant.too-many")
        try client.remove("free")
        fixture.prompter.prepare([.text(BrokerFixture.passcode)])
        #expect(try client.authorize(bound, in: other) == ["passcode"])
        #expect(places.count == limit - 1)
    }
}
