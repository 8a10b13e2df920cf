import AccessControl
import Auditing
import Callers
import Crypto
import ExactNames
import Foundation
import OstiaryMessages
import Owners
import ProcessFacts
import Prompting
import PromptProtocol
import SSHFormats
import StoreTestSupport
import Testing
import Threading
import Vault

@testable import Broker
@testable import BrokerTestSupport
@testable import ProtectedObjects
@testable import Refusals
@testable import Sessions

/// Leases as the daemon grants, uses and ends them.
@Suite("A lease", .timeLimit(.minutes(10)))
struct LeaseTests {
    private static let text = Data("a commit".utf8)
    private static let sign = "algid:sign:ECDSA:message-X962:SHA256"

    private let fixture: BrokerFixture
    private let client: TestClient
    private let right: WireRight

    private static func control(_ leases: GrantLimits?, _ availability: AvailabilityClass = .whenUnlocked)
        throws -> AccessControl
    { try AccessControl(availability: availability, confirmingEachSignatureWith: .passcode, leases: leases) }

    init() throws {
        fixture = try BrokerFixture()
        try fixture.setPasscode()
        client = try fixture.client()
        right = try client.create("commits", Self.control(GrantLimits(hardSeconds: 3600)))
    }

    private func agree(_ term: Int = 0) {
        fixture.prompter.choose(term: term)
        fixture.prompter.prepare([.text(BrokerFixture.passcode)])
    }

    private func refuseQuestions() {
        fixture.prompter.choose(term: 0)
        fixture.prompter.prepare([])
    }

    /// Grants a lease with the passcode, and lets nobody be asked afterwards.
    @discardableResult
    private func grant(
        _ objects: [WireRight]? = nil, _ change: (inout WireGrantLeaseRequest) throws -> Void = { _ in }
    ) throws -> WireLease {
        agree()
        let lease = try client.grantLease((objects ?? [right]).map(\.rightID), change)
        #expect(fixture.prompter.asked.count == 1)
        refuseQuestions()
        return lease
    }

    /// The code and cause that `body` is refused with; nil when it is carried out.
    private func refusal(_ body: () throws -> Void) throws -> String? {
        do {
            try body()
            return nil
        } catch let refused as Refused { return "\(refused.code.map { "\($0)" } ?? "?") \(refused.cause)" }
    }

    /// The refusal of a signature without a question; nil when it is made.
    private func signature(_ right: WireRight? = nil, by other: TestClient? = nil) throws -> String? {
        let right = right ?? self.right
        return try refusal {
            let signature = try (other ?? client).signSilently(Self.text, with: right)
            let key = try P256.Signing.PublicKey(x963Representation: right.publicKey)
            #expect(try key.isValidSignature(.init(derRepresentation: signature), for: Self.text))
        }
    }

    private func records(_ event: String) throws -> [WireLogRecord] {
        fixture.account.leases.wipeExpired()
        fixture.broker.services.grantEnds.finish()
        return try client.log().filter { $0.event == event }
    }

    /// The ends of the leases, in order.
    private func ends() throws -> [String] { try records("lease-end").map(\.reason) }

    // MARK: granted beforehand

    @Test func `stands in for twenty confirmations, each recorded with its id; without it there are twenty questions`()
        throws
    {
        let lease = try grant { $0.uses = 20 }
        for _ in 1...20 { #expect(try signature() == nil) }
        #expect(fixture.prompter.asked.isEmpty && fixture.prompter.unpreparedCount == 0)
        let signed = try records("sign")
        #expect(signed.count == 20 && signed.allSatisfy { $0.leaseID == lease.leaseID && $0.result == "granted" })
        #expect(signed.allSatisfy { $0.factors == ["passcode"] && $0.object == "commits" })

        #expect(try signature() == "notAuthorized lease.used-up")
        var questions = 0
        for _ in 1...20 {
            agree()
            _ = try client.confirmAndSign(Self.text, with: right)
            questions += fixture.prompter.asked.count
        }
        #expect(questions == 20)
    }

    @Test func `is asked for once, and the question names objects, program, destinations and limits`() throws {
        agree()
        let second = try client.create("deploys", Self.control(GrantLimits(hardSeconds: 60)))
        agree()
        try client.grantLease([right.rightID, second.rightID]) {
            $0.program = "/usr/bin/agent"
            $0.through.door = "/usr/bin/door"
            ($0.operations, $0.destinations) = (["sign"], ["SHA256:abc"])
            ($0.hardSeconds, $0.idleSeconds, $0.uses, $0.purpose) = (600, 61, 20, "nightly")
        }
        let question = try #require(fixture.prompter.asked.first)
        #expect(fixture.prompter.asked.count == 1 && question.isShownInFull)
        #expect(question.objects?.names.map(\.string) == ["commits", "deploys"])
        #expect(question.operation.string == "let a program use it without asking")
        #expect(
            question.consequence?.string
                == "For “/usr/bin/agent”, through “/usr/bin/door”: sign, only for “SHA256:abc”. It ends after 10 min, "
                + "after 20 uses, after 61 s without a use, with a lock.")
        let listed = try #require(try client.leases().first)
        #expect(
            listed.objects.map(\.name) == ["commits", "deploys"] && listed.objects.map(\.kind) == ["right", "right"])
        #expect(listed.program == "/usr/bin/agent" && listed.through.door == "/usr/bin/door" && !listed.through.isAny)
        #expect(listed.operations == ["sign"] && listed.destinations == ["SHA256:abc"] && !listed.isForAnyDestination)
        #expect(listed.purpose == "nightly" && listed.usesLeft == 20 && listed.useCount == 0 && listed.endsOnLock)
        #expect(listed.secondsLeft == 600 && listed.idleSecondsLeft == 61 && listed.factors == ["passcode"])
        let record = try #require(try records("lease-grant").last)
        #expect(record.result == "granted" && record.leaseID == listed.leaseID && record.object == "2 objects")
    }

    @Test func `a no, a wrong passcode or a lock grants none`() throws {
        fixture.prompter.prepare([.cancel])
        #expect(try refusal { try client.grantLease([right.rightID]) } == "userCancel prompt.cancelled")
        fixture.prompter.prepare([.text("wrong 1"), .text("wrong 2"), .text("wrong 3")])
        #expect(try refusal { try client.grantLease([right.rightID]) }?.hasPrefix("authenticationFailed") == true)
        let path = fixture.socketPath
        agree()
        fixture.prompter.duringNextQuestion {
            do { try TestClient(socketPath: path).lock() } catch { Issue.record(error) }
        }
        #expect(try refusal { try client.grantLease([right.rightID]) } != nil)
        #expect(try client.leases().isEmpty)
    }

    @Test func `an object that was removed while the person was asked is not leased`() throws {
        let path = fixture.socketPath
        agree()
        fixture.prompter.duringNextQuestion {
            do { try TestClient(socketPath: path).remove("commits") } catch { Issue.record(error) }
        }
        #expect(try refusal { try client.grantLease([right.rightID]) } == "notFound right.not-found")
        #expect(try client.leases().isEmpty)
    }

    private static let invalid: [(String, @Sendable (inout WireGrantLeaseRequest) -> Void)] = [
        ("lease.objects", { $0.objectIDs = [] }), ("lease.objects", { $0.accessGroup = "a" }),
        ("lease.objects", { $0.objectIDs = (0..<13).map { Data(count: 15) + [$0] } }),
        ("lease.objects", { $0.objectIDs += $0.objectIDs }),
        ("right.not-found", { $0.objectIDs = [Data(count: 16)] }), ("right.not-found", { $0.objectIDs = [Data()] }),
        ("right.not-found", { ($0.objectIDs, $0.accessGroup) = ([], "no.such.group") }),
        ("lease.program", { $0.program = "" }), ("lease.program", { $0.program = "/usr/bin/python3.11" }),
        ("lease.program", { $0.program = "/bin/sh" }), ("lease.program", { $0.program = "not an id" }),
        ("lease.program", { $0.through.door = "/usr/bin/perl" }),
        ("lease.door", { ($0.through.isAny, $0.through.door) = (true, "/usr/bin/door") }),
        ("lease.operation", { $0.operations = ["delete"] }), ("lease.operation", { $0.operations = ["decrypt"] }),
        ("lease.destination", { $0.destinations = [""] }),
        ("lease.destination", { $0.destinations = Array(repeating: "a", count: 9) }),
        ("lease.destination", { $0.destinations = [String(repeating: "a", count: 257)] }),
        ("lease.limits", { $0.hardSeconds = 0 }), ("lease.limits", { $0.hardSeconds = 86_401 }),
        ("lease.limits", { $0.idleSeconds = 3600 }), ("lease.limits", { $0.uses = 0 }),
        ("lease.purpose", { $0.purpose = String(repeating: "p", count: 4097) }),
        ("lease.lock", { $0.endsOnLock = false }),
        ("lease.unshowable", { $0.program = "/" + String(repeating: "p", count: 300) }),
    ]

    @Test(arguments: invalid.indices) func `a request that names nothing usable is refused unasked`(index: Int) throws {
        let (cause, change) = Self.invalid[index]
        refuseQuestions()
        #expect(try refusal { try client.grantLease([right.rightID], change) }?.hasSuffix(" \(cause)") == true)
        #expect(fixture.prompter.asked.isEmpty && fixture.prompter.unpreparedCount == 0)
        #expect(try client.leases().isEmpty)
    }

    @Test func `objects that confirm without exception, or ask for nothing, get none`() throws {
        let strict = try client.create("transfers", Self.control(nil))
        let open = try client.create("open", AccessControl(availability: .whenUnlocked, using: .unrestricted))
        refuseQuestions()
        #expect(
            try refusal { try client.grantLease([strict.rightID]) } == "operationNotPermitted lease.not-permitted")
        #expect(
            try refusal { try client.grantLease([open.rightID]) } == "invalidParameter lease.without-question")
        agree(1)
        _ = try client.confirmAndSign(Self.text, with: strict)
        #expect(fixture.prompter.asked.first?.terms == [])
        #expect(try client.leases().isEmpty)
    }

    // MARK: uses of others

    /// Requires that the last record of `event` is a refusal by the lease.
    private func expectRefused(
        _ event: String = "sign", by lease: WireLease, because reason: String,
        _ location: SourceLocation = #_sourceLocation
    ) throws {
        let record = try #require(try records(event).last, sourceLocation: location)
        #expect(record.result == "refused" && record.reason == reason, sourceLocation: location)
        #expect(record.leaseID == lease.leaseID, sourceLocation: location)
    }

    @Test func `another program has no part in it`() throws {
        let lease = try grant { $0.program = "/usr/bin/agent" }
        #expect(try signature() == "notAuthorized lease.other-program")
        try expectRefused(by: lease, because: "lease.other-program")
    }

    @Test func `another door, object, operation or destination is refused and recorded, each with its cause`() throws {
        let other = try client.create("others", Self.control(GrantLimits(hardSeconds: 60)))
        let throughDoor = try grant { $0.through.door = "/usr/bin/door" }
        #expect(try signature() == "notAuthorized lease.other-door")
        try expectRefused(by: throughDoor, because: "lease.other-door")
        try client.revokeLeases(nil)
        let ofOther = try grant([other])
        #expect(try signature() == "notAuthorized lease.other-object")
        try expectRefused(by: ofOther, because: "lease.other-object")
        let elsewhere = try grant { $0.destinations = ["SHA256:abc"] }
        #expect(try signature() == "notAuthorized lease.other-destination")
        try expectRefused(by: elsewhere, because: "lease.other-destination")

        let ordinary = try client.create(
            "ordinary", AccessControl(availability: .whenUnlocked, using: .passcode), secret: "s")
        let signing = try grant([ordinary]) { $0.operations = ["sign"] }
        let context = try client.openContext()
        try client.authorize(rightID: ordinary.rightID, in: context, interactive: false)
        #expect(try client.sign(ordinary, in: context))
        #expect(
            try refusal { _ = try client.secret(of: ordinary, in: context) }
                == "notAuthorized lease.other-operation")
        try expectRefused("read", by: signing, because: "lease.other-operation")
    }

    @Test func `if somebody can be asked, the person is asked as without a lease`() throws {
        let lease = try grant { $0.uses = 1 }
        #expect(try signature() == nil)
        agree()
        _ = try client.confirmAndSign(Self.text, with: right)
        #expect(fixture.prompter.asked.count == 1)
        #expect(try records("sign").last { $0.result == "granted" }?.leaseID == nil)
        let told = try records("sign").filter { $0.result == "refused" }
        #expect(told.map(\.reason) == ["lease.used-up"] && told.map(\.leaseID) == [lease.leaseID])
    }

    // MARK: ends

    @Test func `ends by time, without a use, and by the object's own limit`() throws {
        let short = try grant { $0.hardSeconds = 10 }
        fixture.clock.advance(by: .seconds(9))
        #expect(try signature() == nil)
        fixture.clock.advance(by: .seconds(1))
        #expect(try signature() == "notAuthorized lease.expired")
        try expectRefused(by: short, because: "lease.expired")
        let idle = try grant { ($0.hardSeconds, $0.idleSeconds) = (100, 5) }
        fixture.clock.advance(by: .seconds(5))
        #expect(try signature() == "notAuthorized lease.expired-idle")
        try expectRefused(by: idle, because: "lease.expired-idle")
        let brief = try client.create("brief", Self.control(GrantLimits(hardSeconds: 20)))
        let lease = try grant([brief])
        #expect(lease.secondsLeft == 20, "an object's own limit is told")
        fixture.clock.advance(by: .seconds(20))
        #expect(try signature(brief) == "notAuthorized lease.object-limit")
        try expectRefused(by: lease, because: "lease.object-limit")
        #expect(try ends() == ["lease.expired", "lease.expired-idle", "lease.object-limit"])
    }

    @Test func `ends by the owner's order, one or all`() throws {
        let first = try grant()
        try grant()
        #expect(try client.revokeLeases(first.leaseID) == 1)
        #expect(try refusal { try client.revokeLeases(first.leaseID) } == "notFound lease.not-found")
        #expect(try signature() == nil, "the other one stands")
        #expect(try client.revokeLeases(nil) == 1)
        #expect(try signature() == "notAuthorized lease.revoked")
        #expect(try ends() == ["lease.revoked", "lease.revoked"])
        #expect(try client.leases().isEmpty)
    }

    @Test func `ends with a lock, even if its objects could be used after it`() throws {
        let lasting = try client.create("lasting", Self.control(GrantLimits(hardSeconds: 60), .afterFirstUnlock))
        try grant([right, lasting])
        try client.lock()
        #expect(try signature() == "notAuthorized lease.locked")
        #expect(try signature(lasting) == "notAuthorized lease.locked")
        #expect(try ends() == ["lease.locked"])
    }

    @Test func `outlasts a lock only for objects that can be used then, and never the session`() throws {
        let lasting = try client.create("lasting", Self.control(GrantLimits(hardSeconds: 60), .afterFirstUnlock))
        try grant([lasting]) { $0.endsOnLock = false }
        try client.lock()
        #expect(try signature(lasting) == nil)
        fixture.broker.lock(fixture.account, AuditTrail.Event(name: "lock", program: .sessionEnd))
        #expect(try signature(lasting) == "notAuthorized lease.session-ended")
    }

    @Test func `ends with a change of the passcode`() throws {
        try grant()
        try fixture.changePasscode(to: "another horse 9")
        refuseQuestions()
        #expect(try signature() == "notAuthorized lease.factors-changed")
    }

    @Test func `ends with its object, and a new one of the same name has no part in it`() throws {
        let other = try client.create("others", Self.control(GrantLimits(hardSeconds: 60)))
        try grant([right, other])
        try client.remove("commits")
        #expect(try signature() == "notFound right.not-found")
        let newer = try client.create("commits", Self.control(GrantLimits(hardSeconds: 60)))
        #expect(try signature(newer) == "notAuthorized lease.other-object")
        #expect(try signature(other) == nil, "the other object stands")
        try client.remove("others")
        #expect(try ends() == ["lease.object-removed"])
    }

    @Test func `ends with the daemon`() throws {
        try grant()
        try fixture.restart()
        refuseQuestions()
        #expect(
            try signature(by: fixture.client())?.hasPrefix("notInteractive ") == true, "nothing is remembered")
    }

    @Test func `a lock between the operation and its record wins`() throws {
        let lease = try grant()
        let answer = fixture.account.leases.find(try query(right))
        guard case .permitted(let held) = answer else { throw TestClient.UnexpectedAnswer() }
        fixture.account.leases.lock()
        do throws(Refusal) {
            try fixture.account.leases.count(held)
            Issue.record("the use was counted")
        } catch { #expect(error.cause == "lease.locked" && error.leaseID == lease.leaseID) }
    }

    @Test func `two threads never share its last use`() throws {
        try grant { $0.uses = 1 }
        let query = try query(right)
        let answers = (0..<2).map { _ in fixture.account.leases.find(query) }
        let counted = answers.filter { answer in
            guard case .permitted(let held) = answer else { return false }
            do {
                try fixture.account.leases.count(held)
                return true
            } catch { return false }
        }
        #expect(counted.count == 1)
    }

    private func query(_ right: WireRight) throws -> LeaseQuery {
        let session = try #require(fixture.broker.sessions.all(of: fixture.account).first)
        return LeaseQuery(
            program: LeaseQuery.Program(path: session.caller.program.application, applicationID: nil),
            file: session.caller.executedFile, session: session.caller.session, door: nil,
            object: try #require(VaultID(bytes: right.rightID)),
            operation: .sign, destination: .none)
    }

    // MARK: what it holds

    private final class Watched {
        weak var right: OpenedRight?
        init(_ right: OpenedRight?) { self.right = right }
    }

    private func watched(_ right: WireRight) throws -> Watched {
        guard case .permitted(let held) = fixture.account.leases.find(try query(right)),
            case .key(let opened) = held.opened
        else { throw TestClient.UnexpectedAnswer() }
        return Watched(opened)
    }

    @Test func `what it holds is wiped at its end, whatever ends it, and whether or not anybody looks`() throws {
        let ends: [() throws -> Void] = [
            { try client.lock() }, { try client.revokeLeases(nil) }, { fixture.clock.advance(by: .seconds(3600)) },
            { _ = try client.signSilently(Self.text, with: right) },
            { fixture.account.leases.endAll(because: .factorsChanged) }, { try client.remove("commits") },
        ]
        for end in ends {
            try grant { $0.uses = 1 }
            let watched = try watched(right)
            #expect(watched.right != nil)
            try end()
            fixture.account.leases.wipeExpired()
            #expect(watched.right == nil)
            #expect(fixture.account.leases.openObjects.isEmpty)
        }
    }

    // MARK: at the first use

    @Test func `the question for a signature offers it, and a chosen term is one question for the next ones`() throws {
        agree(2)
        _ = try client.confirmAndSign(Self.text, with: right)
        #expect(fixture.prompter.asked.map(\.terms) == [[.seconds(600), .uses(20)]])
        let session = try #require(fixture.broker.sessions.all(of: fixture.account).first?.caller.session)
        let place: PromptTermPlace = session.terminalDevice == 0 ? .session : .terminal
        #expect(fixture.prompter.asked.map(\.termPlace) == [place])
        let lease = try #require(try client.leases().first)
        #expect(lease.usesLeft == 20 && lease.secondsLeft == 3600 && lease.operations == ["sign"] && lease.endsOnLock)
        let program = try client.program
        #expect(lease.destinations == [""] && !lease.isForAnyDestination && lease.program == program)
        refuseQuestions()
        for _ in 1...20 { _ = try client.confirmAndSign(Self.text, with: right) }
        #expect(fixture.prompter.unpreparedCount == 0)
        #expect(try refusal { _ = try client.confirmAndSign(Self.text, with: right) } == "userCancel prompt.cancelled")
        let granted = try records("lease-grant")
        #expect(granted.map(\.leaseID) == [lease.leaseID])
        #expect(lease.session == UInt32(session.id) && lease.terminal == session.terminal ?? "")
        #expect(granted.first?.reason == "only in \(session.terminal ?? "session \(session.id)")")
    }

    @Test
    func
        `one of the first use is for the file and the session of that use, and one that was granted beforehand for any`()
        throws
    {
        agree(1)
        _ = try client.confirmAndSign(Self.text, with: right)
        let own = try query(right)
        func decision(_ session: ProcessSession?, by file: ExecutedFile? = nil) -> LeaseRefusal? {
            let query = LeaseQuery(
                program: own.program, file: file ?? own.file, session: session, door: nil, object: own.object,
                operation: .sign, destination: .none)
            guard case .refused(let refusal, _) = fixture.account.leases.find(query) else { return nil }
            return refusal
        }
        let session = try #require(own.session)
        let elsewhere = ProcessSession(id: session.id + 1, leaderStart: 1, terminalDevice: 0)
        let newer = ExecutedFile(device: own.file.device, inode: own.file.inode + 1)
        #expect(decision(session) == nil)
        #expect(decision(session, by: newer) == .programChanged, "the lease was not used yet")
        #expect(decision(elsewhere) == .otherTerminal && decision(nil) == .otherTerminal)
        try client.revokeLeases(nil)
        let lease = try grant()
        #expect(lease.session == nil && lease.terminal.isEmpty)
        #expect(decision(elsewhere) == nil && decision(nil) == nil && decision(nil, by: newer) == nil)
    }

    @Test func `once is the answer that nobody changes, and grants nothing`() throws {
        agree()
        _ = try client.confirmAndSign(Self.text, with: right)
        #expect(try client.leases().isEmpty)
        #expect(try records("lease-grant").isEmpty)
    }

    @Test(arguments: [-1, 3, 7]) func `a term that was not offered counts as once`(term: Int) throws {
        agree(term)
        _ = try client.confirmAndSign(Self.text, with: right)
        #expect(try client.leases().isEmpty)
    }

    @Test func `a term that was chosen with a wrong passcode counts with the right one only`() throws {
        fixture.prompter.choose(term: 1)
        fixture.prompter.prepare([.text("wrong 1"), .text("wrong 2"), .text("wrong 3")])
        #expect(try refusal { _ = try client.confirmAndSign(Self.text, with: right) } != nil)
        #expect(try client.leases().isEmpty)
        fixture.prompter.prepare([.text("wrong 4"), .text(BrokerFixture.passcode)])
        fixture.clock.advance(by: .seconds(86_400))
        _ = try client.confirmAndSign(Self.text, with: right)
        #expect(try client.leases().count == 1)
    }

    @Test func `a program that asks itself is offered nothing for other rights`() throws {
        let ordinary = try client.create("ordinary", AccessControl(availability: .whenUnlocked, using: .passcode))
        agree(1)
        _ = try client.authorize(ordinary, in: client.openContext())
        #expect(fixture.prompter.asked.map(\.terms) == [[]])
    }

    // MARK: ordinary rights and items

    @Test func `authorizes an ordinary right in each context, and counts its uses there`() throws {
        let ordinary = try client.create(
            "ordinary", AccessControl(availability: .whenUnlocked, using: .passcode), secret: "s")
        let lease = try grant([ordinary]) { $0.uses = 3 }
        for _ in 1...3 {
            let context = try client.openContext()
            #expect(try client.authorize(rightID: ordinary.rightID, in: context, interactive: false) == ["passcode"])
            #expect(try client.sign(ordinary, in: context))
        }
        let context = try client.openContext()
        #expect(
            try refusal { try client.authorize(rightID: ordinary.rightID, in: context, interactive: false) }
                == "notAuthorized lease.used-up")
        #expect(try records("sign").allSatisfy { $0.leaseID == lease.leaseID })
    }

    @Test func `an authorization under it ends with it, and a later context's own does not`() throws {
        let ordinary = try client.create(
            "ordinary", AccessControl(availability: .whenUnlocked, using: .passcode), secret: "s")
        try grant([ordinary])
        let context = try client.openContext()
        try client.authorize(rightID: ordinary.rightID, in: context, interactive: false)
        #expect(try client.secret(of: ordinary, in: context) == "s")
        try client.revokeLeases(nil)
        fixture.broker.services.grantEnds.finish()
        #expect(try refusal { _ = try client.secret(of: ordinary, in: context) }?.hasPrefix("notAuthorized ") == true)
        agree()
        _ = try client.authorize(ordinary, in: context)
        #expect(try client.secret(of: ordinary, in: context) == "s")
    }

    private static let item = TestClient.query("inet", ["acct": .text("alice"), "srvr": .text("example.org")])

    /// An item under the passcode, and its id.
    private func addItem(limits: GrantLimits? = nil) throws -> WireRight {
        let everybody = Requirement.unrestricted
        let control = try AccessControl(
            availability: .whenUnlocked,
            requirements: [.create: everybody, .read: .passcode, .delete: everybody, .change: everybody],
            limits: limits)
        let item = try client.addItem(
            "inet", ["acct": .text("alice"), "srvr": .text("example.org")], data: Data("token".utf8),
            accessControl: control)
        return .with { $0.rightID = item.itemID }
    }

    private func reading() throws -> String? {
        try refusal {
            let data = try client.itemData(Self.item, use: TestClient.silentUse())
            #expect(data == "token")
        }
    }

    @Test func `reads an item for its server, and for no other destination`() throws {
        let item = try addItem()
        try grant([item]) { $0.destinations = ["example.com"] }
        #expect(try reading() == "notAuthorized lease.other-destination")
        let lease = try grant([item]) { ($0.destinations, $0.uses) = (["example.org"], 2) }
        #expect(lease.objects.map(\.kind) == ["item"] && lease.operations == ["read"])
        for _ in 1...2 { #expect(try reading() == nil) }
        #expect(try reading() == "notAuthorized lease.used-up")
        let read = try records("item-read").filter { $0.result == "granted" }
        #expect(read.map(\.leaseID) == [lease.leaseID, lease.leaseID])
        #expect(read.allSatisfy { !$0.object.contains("example.org") }, "the log names no attribute")
    }

    @Test func `an item that changed is another one, and a deleted one ends it`() throws {
        let item = try addItem()
        try grant([item])
        #expect(try reading() == nil)
        agree()
        try client.updateItems(Self.item, data: Data("other".utf8))
        refuseQuestions()
        #expect(try reading() == "notAuthorized lease.object-changed")
        agree()
        try grant([item])
        _ = try client.deleteItems(Self.item)
        #expect(try ends() == ["lease.object-changed", "lease.object-removed"])
    }

    @Test func `an item's own limits end its reading`() throws {
        let item = try addItem(limits: try GrantLimits(uses: 2))
        try grant([item]) { $0.uses = 10 }
        for _ in 1...2 { #expect(try reading() == nil) }
        #expect(try reading() == "notAuthorized lease.object-limit")
    }

    @Test func `an item of a lease is not left out of a search that asks nobody`() throws {
        let item = try addItem()
        let skipping = TestClient.silentUse(skips: true)
        #expect(try refusal { _ = try client.itemData(Self.item, use: skipping) } == "notFound item.not-found")
        try grant([item])
        #expect(try client.itemData(Self.item, use: skipping) == "token")
    }

    private static let sshKey = TestClient.query("genp", ["acct": .text("work")])

    /// An item as the door for SSH keeps an imported key, or one of another service.
    private func addKeyItem(_ service: String = "ostiary.ssh.private") throws -> WireRight {
        let everybody = Requirement.unrestricted
        let control = try AccessControl(
            availability: .whenUnlocked,
            requirements: [.create: everybody, .read: .passcode, .delete: everybody, .change: everybody])
        let values: ItemValues = ["acct": .text("work"), "svce": .data(Data(service.utf8))]
        let item = try client.addItem("genp", values, data: Data("key".utf8), accessControl: control)
        return .with { $0.rightID = item.itemID }
    }

    @Test func `an imported SSH key gets none, by its id, with its group, or when it was closed`() throws {
        let key = try addKeyItem()
        refuseQuestions()
        let refused = "operationNotPermitted lease.imported-ssh-key"
        #expect(try refusal { try client.grantLease([key.rightID]) } == refused)
        let group = try #require(try client.status().caller.accessGroups.first)
        #expect(
            try refusal {
                try client.grantLease([]) { $0.accessGroup = group }
            } == refused)
        #expect(fixture.prompter.asked.isEmpty && fixture.prompter.unpreparedCount == 0)
        try client.lock()
        agree()
        #expect(try refusal { try client.grantLease([key.rightID]) } == refused)
        #expect(try client.leases().isEmpty)
    }

    @Test func `no lease covers an item that is an imported SSH key at its use`() throws {
        let item = try addKeyItem("other")
        try grant([item])
        #expect(try client.itemData(Self.sshKey, use: TestClient.silentUse()) == "key")
        agree()
        try client.updateItems(Self.sshKey, ["svce": .data(Data("ostiary.ssh.private".utf8))])
        refuseQuestions()
        #expect(
            try refusal { _ = try client.itemData(Self.sshKey, use: TestClient.silentUse()) }?
                .hasPrefix("notInteractive ") == true)
        #expect(
            try refusal { _ = try client.itemData(Self.sshKey, use: TestClient.silentUse(skips: true)) }
                == "notFound item.not-found")
    }

    @Test func `all of a group are its objects of now`() throws {
        let item = try addItem()
        let group = try #require(try client.status().caller.accessGroups.first)
        agree()
        let lease = try client.grantLease([]) { $0.accessGroup = group }
        #expect(Set(lease.objects.map(\.objectID)) == [right.rightID, item.rightID])
        refuseQuestions()
        let later = try client.create("later", Self.control(GrantLimits(hardSeconds: 60)))
        #expect(try signature() == nil)
        #expect(try signature(later) == "notAuthorized lease.other-object")
    }

    // MARK: SSH

    private func sshRefusal(
        _ data: Data, _ right: WireRight, _ bindings: [WireSSHBinding] = [], context: UInt64 = 0
    ) throws -> String? {
        try refusal {
            _ = try client.signSSH(data, with: right.rightID, in: context, bindings, asking: false)
        }
    }

    @Test func `a lease for a namespace of SSH serves no other one, and no login`() throws {
        let lease = try grant { $0.destinations = ["namespace:git"] }
        #expect(try sshRefusal(SSHBytes.signature("git"), right) == nil)
        #expect(try sshRefusal(SSHBytes.signature("file"), right) == "notAuthorized lease.other-destination")
        let host = SSHHost()
        let login = try SSHBytes.login(1, by: right.publicKey, to: host)
        #expect(try sshRefusal(login, right, [host.binding(1)]) == "notAuthorized lease.other-destination")
        #expect(try records("ssh-sign").first { $0.result == "granted" }?.leaseID == lease.leaseID)
    }

    @Test func `a lease for a host serves its logins, and none that another host forwards`() throws {
        let (host, hop) = (SSHHost(), SSHHost())
        let ordinary = try client.create("ordinary", AccessControl(availability: .whenUnlocked, using: .passcode))
        let fingerprint = try host.publicKey.fingerprint.description
        let context = try client.openContext()
        for (right, context) in [(right, 0), (ordinary, context)] as [(WireRight, UInt64)] {
            try grant([right]) { $0.destinations = [fingerprint] }
            let login = try SSHBytes.login(1, by: right.publicKey, to: host)
            #expect(try sshRefusal(login, right, [host.binding(1)], context: context) == nil)
            let forwarded = try [hop.binding(2, forwarding: true), host.binding(1)]
            #expect(
                try sshRefusal(login, right, forwarded, context: context)
                    == "notAuthorized lease.other-destination")
            let elsewhere = try SSHBytes.login(1, by: right.publicKey, to: hop)
            #expect(
                try sshRefusal(elsewhere, right, [hop.binding(1)], context: context)
                    == "notAuthorized lease.other-destination")
        }
    }

    @Test func `no lease is offered for unknown data or an unknown host, and one for another use serves neither`()
        throws
    {
        let key = try client.createSSH(
            "any", SSHKeyConstraints(permitsUnknown: true), Self.control(GrantLimits(hardSeconds: 60)))
        for data in [Data("anything".utf8), try SSHBytes.login(1, by: key.publicKey)] {
            for bindings in [[], [try SSHHost().binding(2, forwarding: true)]] as [[WireSSHBinding]]
            where bindings.isEmpty || data == Data("anything".utf8) {
                agree(0)
                _ = try client.signSSH(data, with: key.rightID, bindings)
                #expect(fixture.prompter.asked.last?.terms.isEmpty == true)
                #expect(try sshRefusal(data, key, bindings)?.hasPrefix("notInteractive ") == true)
            }
        }
    }

    @Test func `a lease over one forwarding host does not serve another`() throws {
        let (host, hop, stranger) = (SSHHost(), SSHHost(), SSHHost())
        let key = try client.createSSH("deploy", SSHKeyConstraints(), Self.control(GrantLimits(hardSeconds: 60)))
        let login = try SSHBytes.login(1, by: key.publicKey, to: host)
        agree(1)
        _ = try client.signSSH(
            login, with: key.rightID, [hop.binding(2, forwarding: true), host.binding(1)])
        #expect(try sshRefusal(login, key, [hop.binding(2, forwarding: true), host.binding(1)]) == nil)
        for way in [
            [try stranger.binding(2, forwarding: true), try host.binding(1)],
            [try hop.binding(2, forwarding: true), try stranger.binding(3, forwarding: true), try host.binding(1)],
        ] {
            #expect(try sshRefusal(login, key, way) == "notAuthorized lease.other-destination")
        }
    }

    @Test func `what an SSH key refuses is refused before any lease is looked for`() throws {
        let pinned = try client.createSSH(
            "pinned", SSHKeyConstraints(namespaces: ["git"]), Self.control(GrantLimits(hardSeconds: 60)))
        try grant([pinned])
        #expect(try sshRefusal(SSHBytes.signature("git"), pinned) == nil)
        #expect(try sshRefusal(SSHBytes.signature("file"), pinned) == "operationNotPermitted ssh.namespace")
        #expect(try signature(pinned) == "operationNotPermitted ssh.only", "it signs for SSH alone")
    }

    // MARK: limits

    @Test func `there are at most 32, and ended ones make room`() throws {
        for _ in 1...32 { try grant() }
        refuseQuestions()
        #expect(try refusal { try client.grantLease([right.rightID]) } == "tooMany lease.too-many")
        agree(1)
        _ = try client.signSilently(Self.text, with: right)
        try client.revokeLeases(nil)
        try grant()
        #expect(try client.leases().count == 1)
    }

    @Test func `a door asks for none, lists none and ends none`() {
        for body in [.grantLease(.init()), .listLeases(.init()), .revokeLeases(.init())] as [WireRequest.OneOf_Body] {
            #expect(!body.row.isForClients)
        }
    }
}
