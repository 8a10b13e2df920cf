import AccessControl
import ExactNames
import OstiaryMessages
import ProcessFacts
import PromptProtocol
import Refusals
import Testing
import Vault

@testable import ProtectedObjects

/// Whether a lease permits a use: every part of the question, in the order in which it is looked at.
@Suite("The decision about a use under a lease")
struct LeaseDecisionTests {
    private static let start = Duration.seconds(1000)
    private static let (object, other) = (VaultID(), VaultID())
    private static let file = ExecutedFile(device: 1, inode: 2)
    private static let agent = LeaseQuery.Program(path: "/usr/bin/agent", applicationID: "org.example.agent")
    private static let door = LeaseQuery.Program(path: "/usr/bin/door", applicationID: "org.example.door")

    private static func scope(
        program: ExactName = "/usr/bin/agent", door: LeaseScope.Door = .none,
        operations: Set<AccessControl.Operation> = [.sign], destinations: Set<ExactName>? = nil,
        in session: ProcessSession? = nil
    ) -> LeaseScope {
        LeaseScope(
            program: program, door: door, objects: [object], operations: operations, destinations: destinations,
            session: session)
    }

    private static let window = ProcessSession(id: 70, leaderStart: 500, terminalDevice: 0x8803)
    /// Each differs from ``window`` in one part.
    private static let otherWindow = ProcessSession(id: 71, leaderStart: 500, terminalDevice: 0x8803)
    private static let laterWindow = ProcessSession(id: 70, leaderStart: 501, terminalDevice: 0x8803)
    private static let leaderless = ProcessSession(id: 70, leaderStart: nil, terminalDevice: 0x8803)
    private static let detached = ProcessSession(id: 70, leaderStart: 500, terminalDevice: 0)

    private static func state(
        _ scope: LeaseScope = scope(), for file: ExecutedFile? = nil, idle: UInt32? = nil, hard: UInt32 = 100,
        uses: UInt32? = nil, objectLimits: GrantLimits? = nil
    ) throws -> LeaseState {
        LeaseState(
            scope, file: file, limits: try GrantLimits(idleSeconds: idle, hardSeconds: hard, uses: uses),
            objectLimits: objectLimits.map { [object: $0] } ?? [:], since: start)
    }

    private static func query(
        _ program: LeaseQuery.Program = agent, file: ExecutedFile = file, through door: LeaseQuery.Program? = nil,
        _ object: VaultID = object, _ operation: AccessControl.Operation = .sign, at destination: ExactName = "",
        mustBeNamed: Bool = false, in session: ProcessSession? = nil
    ) -> LeaseQuery {
        LeaseQuery(
            program: program, file: file, session: session, door: door, object: object, operation: operation,
            destination: LeaseDestination(destination, mustBeNamed: mustBeNamed))
    }

    private static func decision(_ query: LeaseQuery, _ state: LeaseState, after seconds: Int = 0) -> LeaseDecision {
        decide(query, under: state, at: start + .seconds(seconds))
    }

    private static func decision(_ state: LeaseState, after seconds: Int = 0) -> LeaseDecision {
        decision(query(), state, after: seconds)
    }

    // MARK: program and purpose of a lease

    private static let stranger = LeaseQuery.Program(path: "/usr/bin/other", applicationID: nil)
    /// Names that look alike, and are others.
    private static let lookalike = LeaseQuery.Program(path: "/usr/bin/agént", applicationID: nil)
    private static let decomposed: ExactName = "/usr/bin/age\u{301}nt"

    private static let table: [(LeaseScope, LeaseQuery, LeaseDecision)] = [
        (scope(), query(), .permitted),
        (scope(program: "org.example.agent"), query(), .permitted),
        (scope(), query(stranger), .refused(.otherProgram)),
        (scope(program: "org.example.agent"), query(stranger), .refused(.otherProgram)),
        (scope(program: decomposed), query(lookalike), .refused(.otherProgram)),

        (scope(), query(through: door), .refused(.otherDoor)),
        (scope(door: .named("/usr/bin/door")), query(through: door), .permitted),
        (scope(door: .named("org.example.door")), query(through: door), .permitted),
        (scope(door: .named("/usr/bin/door")), query(), .refused(.otherDoor)),
        (scope(door: .named("/usr/bin/door")), query(through: stranger), .refused(.otherDoor)),
        (scope(door: .any), query(), .permitted),
        (scope(door: .any), query(through: stranger), .permitted),

        (scope(), query(agent, other), .refused(.otherObject)),
        (scope(), query(agent, object, .decrypt), .refused(.otherOperation)),
        (scope(operations: [.sign, .decrypt]), query(agent, object, .decrypt), .permitted),
        (scope(operations: []), query(), .refused(.otherOperation)),

        (scope(destinations: ["SHA256:a"]), query(at: "SHA256:a"), .permitted),
        (scope(destinations: ["SHA256:a"]), query(at: "SHA256:A"), .refused(.otherDestination)),
        (scope(destinations: ["SHA256:a"]), query(), .refused(.otherDestination)),
        (scope(destinations: [""]), query(), .permitted),
        (scope(destinations: [""]), query(at: "SHA256:a"), .refused(.otherDestination)),
        (scope(destinations: []), query(), .refused(.otherDestination)),
        (scope(), query(at: "SHA256:a"), .permitted),

        // A destination that a lease must name, whatever it is called.
        (scope(), query(at: "over a to b", mustBeNamed: true), .refused(.otherDestination)),
        (scope(), query(mustBeNamed: true), .refused(.otherDestination)),
        (scope(destinations: ["b"]), query(at: "over a to b", mustBeNamed: true), .refused(.otherDestination)),
        (scope(destinations: ["over a to b"]), query(at: "over a to b", mustBeNamed: true), .permitted),

        (scope(in: window), query(in: window), .permitted),
        (scope(in: detached), query(in: detached), .permitted),
        (scope(), query(in: window), .permitted),
        (scope(in: window), query(), .refused(.otherTerminal)),
        (scope(in: window), query(in: otherWindow), .refused(.otherTerminal)),
        (scope(in: window), query(in: laterWindow), .refused(.otherTerminal)),
        (scope(in: window), query(in: leaderless), .refused(.otherTerminal)),
        (scope(in: window), query(in: detached), .refused(.otherTerminal)),

        // The first reason is told first.
        (scope(destinations: []), query(stranger, through: door, other, .read), .refused(.otherProgram)),
        (scope(destinations: []), query(agent, through: door, other, .read), .refused(.otherDoor)),
        (scope(destinations: [], in: window), query(agent, other, .read), .refused(.otherObject)),
        (scope(destinations: [], in: window), query(agent, object, .read), .refused(.otherOperation)),
        (scope(destinations: [], in: window), query(), .refused(.otherDestination)),
    ]

    @Test(arguments: table)
    func `permits only its program, door, objects, session, operations and destinations`(
        scope: LeaseScope, query: LeaseQuery, decision: LeaseDecision
    ) throws {
        #expect(try Self.decision(query, Self.state(scope)) == decision)
    }

    // MARK: whether it stands

    @Test func `ends by its time, unused or not, and by its uses`() throws {
        let hard = try Self.state(hard: 10)
        #expect(Self.decision(hard, after: 9) == .permitted)
        #expect(Self.decision(hard, after: 10) == .refused(.expired))
        var idle = try Self.state(idle: 5, hard: 10)
        #expect(Self.decision(idle, after: 4) == .permitted)
        #expect(Self.decision(idle, after: 5) == .refused(.expiredIdle))
        idle.use(Self.object, at: Self.start + .seconds(4), by: Self.file)
        #expect(Self.decision(idle, after: 8) == .permitted)
        #expect(Self.decision(idle, after: 9) == .refused(.expiredIdle))
        var counted = try Self.state(uses: 2)
        for _ in 1...2 {
            #expect(Self.decision(counted) == .permitted)
            counted.use(Self.object, at: Self.start, by: Self.file)
        }
        #expect(Self.decision(counted) == .refused(.usedUp))
    }

    @Test(arguments: [
        LeaseRefusal.revoked, .locked, .sessionEnded, .factorsChanged, .accountEnded, .objectRemoved,
    ])
    func `what ended it is told, and comes before its limits`(end: LeaseRefusal) throws {
        var state = try Self.state(hard: 10, uses: 1)
        state.use(Self.object, at: Self.start, by: Self.file)
        state.end = end
        #expect(Self.decision(state, after: 20) == .refused(end))
        #expect(Self.decision(Self.query(Self.stranger), state, after: 20) == .refused(.otherProgram))
    }

    @Test func `a lost object ends its own use alone`() throws {
        let scope = LeaseScope(
            program: "/usr/bin/agent", door: .none, objects: [Self.object, Self.other], operations: [.sign],
            destinations: nil, session: nil)
        var state = try Self.state(scope)
        state.lostObjects[Self.object] = .objectChanged
        #expect(Self.decision(state) == .refused(.objectChanged))
        #expect(Self.decision(Self.query(Self.agent, Self.other), state) == .permitted)
    }

    @Test func `never outlives the limits of the object's own rule`() throws {
        let byTime = try Self.state(objectLimits: GrantLimits(hardSeconds: 10))
        #expect(Self.decision(byTime, after: 9) == .permitted)
        #expect(Self.decision(byTime, after: 10) == .refused(.objectLimit))
        var byUses = try Self.state(uses: 5, objectLimits: GrantLimits(uses: 1))
        #expect(Self.decision(byUses) == .permitted)
        byUses.use(Self.object, at: Self.start, by: Self.file)
        #expect(Self.decision(byUses) == .refused(.objectLimit))
        var idle = try Self.state(objectLimits: GrantLimits(idleSeconds: 5))
        idle.use(Self.other, at: Self.start + .seconds(4), by: Self.file)
        #expect(Self.decision(idle, after: 5) == .refused(.objectLimit), "the use of another object renews nothing")
    }

    @Test func `from its first use on it is for one file`() throws {
        var state = try Self.state()
        let newer = ExecutedFile(device: 1, inode: 3)
        #expect(Self.decision(Self.query(file: newer), state) == .permitted)
        state.use(Self.object, at: Self.start, by: Self.file)
        #expect(Self.decision(state) == .permitted)
        #expect(Self.decision(Self.query(file: newer), state) == .refused(.programChanged))
        #expect(Self.decision(Self.query(file: ExecutedFile(device: 2, inode: 2)), state) == .refused(.programChanged))
    }

    @Test func `one that was given at a use is for that use's file, also before its own first use`() throws {
        let state = try Self.state(for: Self.file)
        #expect(Self.decision(state) == .permitted)
        #expect(
            Self.decision(Self.query(Self.stranger), state) == .refused(.otherProgram), "another name of the same file")
        let newer = ExecutedFile(device: 1, inode: 3)
        #expect(Self.decision(Self.query(file: newer), state) == .refused(.programChanged))
        let there = try Self.state(Self.scope(in: Self.window), for: Self.file)
        #expect(Self.decision(Self.query(file: newer), there) == .refused(.programChanged), "the file comes first")
        #expect(Self.decision(there, after: 200) == .refused(.otherTerminal), "whose it is comes before its end")
    }

    // MARK: the list

    @Test func `a program is told of its own leases and of those that it asked for, and the owner's command of all`() {
        let asker = LeaseQuery.Program(path: "/usr/bin/asker", applicationID: nil)
        let unknown = LeaseQuery.Program(path: "unknown program", applicationID: nil)
        func isListed(
            _ name: ExactName, _ program: LeaseQuery.Program, askedBy granter: ExactName = "/usr/bin/asker",
            toCommand isCommand: Bool = false
        ) -> Bool {
            mayList(Self.scope(program: name), grantedTo: granter, as: program, isOwnersCommand: isCommand)
        }
        #expect(isListed("/usr/bin/agent", Self.agent) && isListed("org.example.agent", Self.agent))
        #expect(isListed("/usr/bin/agent", asker))
        #expect(!isListed("/usr/bin/agent", Self.stranger) && !isListed("/usr/bin/agent", Self.lookalike))
        #expect(!isListed("unknown program", unknown, askedBy: "unknown program"), "programs without a name share it")
        #expect(isListed("/usr/bin/agent", Self.stranger, toCommand: true))
    }

    // MARK: refusals

    @Test func `each refusal has a cause of its own, and words that say what to do`() {
        #expect(Set(LeaseRefusal.allCases.map(\.rawValue)).count == LeaseRefusal.allCases.count)
        let refusals = LeaseRefusal.allCases.map { $0.refusal(of: 7) }
        #expect(Set(refusals.map(\.explanation)).count == refusals.count)
        for refusal in refusals {
            #expect(refusal.code == .notAuthorized && refusal.cause.hasPrefix("lease.") && refusal.leaseID == 7)
            #expect(refusal.explanation.contains("`ostiary lease grant`"))
        }
    }

    @Test func `only refusals of the program's lease on the object are told of beside a question`() {
        let silent = LeaseRefusal.allCases.filter { !$0.concernsProgramAndObject }
        #expect(silent == [.otherProgram, .otherDoor, .otherObject])
    }
}

/// The leases that a question offers.
@Suite("The offers of a question")
struct LeaseOfferTests {
    @Test func `are ten minutes and twenty uses`() throws {
        #expect(
            LeaseOffer.all(within: nil) == [
                LeaseOffer(limits: try GrantLimits(hardSeconds: 600), term: .seconds(600)),
                LeaseOffer(limits: try GrantLimits(hardSeconds: 3600, uses: 20), term: .uses(20)),
            ])
    }

    @Test func `are no longer and no more than the object's limits`() throws {
        let offers = LeaseOffer.all(within: try GrantLimits(hardSeconds: 60, uses: 3))
        #expect(offers.map(\.term) == [.seconds(60), .uses(3)])
        #expect(offers.map(\.limits.hardSeconds) == [60, 60] && offers.map(\.limits.uses) == [nil, 3])
        #expect(
            LeaseOffer.all(within: try GrantLimits(hardSeconds: 86_400, uses: 100)).map(\.term)
                == [.seconds(600), .uses(20)])
    }

    @Test func `there is none where a single use is left`() throws {
        #expect(LeaseOffer.all(within: try GrantLimits(uses: 1)).isEmpty)
    }

    @Test func `say that they are for a terminal, or without one for a session`() throws {
        let window = ProcessSession(id: 70, leaderStart: 500, terminalDevice: 0x8803)
        let service = ProcessSession(id: 70, leaderStart: 500, terminalDevice: 0)
        #expect(LeaseOffers(within: nil, in: window).place == .terminal)
        #expect(LeaseOffers(within: nil, in: service).place == .session)
        #expect(LeaseOffers(within: try GrantLimits(uses: 1), in: window).place == nil && LeaseOffers.none.place == nil)
    }

    @Test(arguments: [-1, 0, 3]) func `none is chosen by a number that was not offered`(term: Int) {
        let window = ProcessSession(id: 70, leaderStart: 500, terminalDevice: 0x8803)
        let offers = LeaseOffers(within: nil, in: window)
        #expect(offers.chosen(term) == nil && offers.chosen(1) == offers.offers[0])
    }
}
