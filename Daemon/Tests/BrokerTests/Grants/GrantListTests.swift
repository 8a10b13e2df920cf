import AccessControl
import Dispatch
import Foundation
import OstiaryMessages
import Sessions
import StoreTestSupport
import Testing
import Threading

@testable import Broker
@testable import BrokerTestSupport

/// The owner's view of all grants, and how a program learns that its own have ended.
@Suite("The list of grants")
struct GrantListTests {
    private let fixture: BrokerFixture
    private let client: TestClient
    private let owner: TestClient

    init() throws {
        fixture = try BrokerFixture()
        try fixture.setPasscode()
        let limits = try GrantLimits(idleSeconds: 30, hardSeconds: 300, uses: 3)
        try fixture.client().create(
            "limited", AccessControl(availability: .whenUnlocked, using: .passcode, limits: limits))
        try fixture.create("free", .passcode, .whenUnlocked)
        client = try fixture.client()
        owner = try fixture.client()
    }

    /// A context in which the right was authorized by the passcode.
    private func authorized(_ name: String) throws -> UInt64 {
        fixture.prompter.prepare([.text(BrokerFixture.passcode)])
        return try client.authorize(name)
    }

    private func list() throws -> [WireListedGrant] {
        guard case .grants(let list) = try owner.call(.listGrants(.init())).body else {
            throw TestClient.UnexpectedAnswer()
        }
        #expect(Int(list.total) == list.grants.count)
        return list.grants
    }

    @discardableResult
    private func revoke(_ which: WireRevokeGrantsRequest.OneOf_Which) throws -> UInt32 {
        guard case .done(let done) = try owner.call(.revokeGrants(.with { $0.which = which })).body else {
            throw TestClient.UnexpectedAnswer()
        }
        return done.count
    }

    private func signatureCause(_ name: String, _ context: UInt64) throws -> String? {
        do {
            _ = try client.sign(client.find(name), in: context)
            return nil
        } catch let refused as Refused { return refused.cause }
    }

    // MARK: listing

    @Test func `shows what is granted, to whom, since when, and for how long`() throws {
        _ = try authorized("limited")
        fixture.clock.advance(by: .seconds(5))
        let context = try authorized("free")
        #expect(try client.sign(client.find("free"), in: context))
        let list = try list()
        #expect(list.map(\.object) == ["limited", "free"])
        #expect(list.map(\.kind) == ["right", "right"])
        #expect(list.allSatisfy { $0.factors == ["passcode"] && $0.strength == "key-bound" })
        #expect(list[0].operations == ["read", "sign", "decrypt", "key-exchange"])
        #expect(list.map(\.ageSeconds) == [5, 0])
        #expect(list.map(\.secondsLeft) == [25, nil])
        #expect(list.map(\.usesLeft) == [3, nil])
        #expect(list.allSatisfy { $0.processID == UInt32(getpid()) && $0.program.hasPrefix("/") })
        #expect(Set(list.map(\.grantID)).count == 2)
    }

    @Test func `shows what a context keeps, a policy and a requirement`() throws {
        let context = try client.openContext(keepingFactors: true)
        fixture.prompter.prepare([.text(BrokerFixture.passcode)])
        try client.evaluatePolicy(2, in: context)
        try client.authorize(.passcode, in: context, limits: .with { $0.uses = 2 })
        try client.authorize(.passcode, in: context, interactive: false)
        let list = try list()
        #expect(Set(list.map(\.kind)) == ["policy", "requirement", "factors"])
        #expect(list.first { $0.kind == "requirement" }?.usesLeft == 1)
        #expect(list.first { $0.kind == "factors" }?.secondsLeft == 600)
    }

    @Test func `shows nothing that has ended`() throws {
        let context = try authorized("limited")
        for _ in 1...3 { #expect(try signatureCause("limited", context) == nil) }
        let other = try authorized("limited")
        fixture.clock.advance(by: .seconds(30))
        #expect(try list() == [])
        try client.close(other)
        try client.lock()
        #expect(try list() == [])
    }

    // MARK: revoking

    @Test func `one grant ends by its number, and says so`() throws {
        let (first, second) = (try authorized("limited"), try authorized("free"))
        let id = try #require(try list().first { $0.object == "limited" }?.grantID)
        #expect(try revoke(.grantID(id)) == 1)
        #expect(try signatureCause("limited", first) == "grant.revoked")
        #expect(try signatureCause("free", second) == nil)
        fixture.broker.services.grantEnds.finish()
        let log = try owner.log().map { "\($0.event) \($0.object) \($0.reason)" }
        #expect(log.contains("grant-end limited grant.revoked"))
        #expect(log.contains { $0.hasPrefix("grants-revoke \(String(id, radix: 16))") })
    }

    @Test func `all grants end, and those of one program`() throws {
        for which in [.all(.init()), .program(try ownPath())] as [WireRevokeGrantsRequest.OneOf_Which] {
            let contexts = try [authorized("limited"), authorized("free")]
            #expect(try revoke(which) == 2)
            #expect(try signatureCause("limited", contexts[0]) == "grant.revoked")
            #expect(try signatureCause("free", contexts[1]) == "grant.revoked")
        }
        #expect(try revoke(.all(.init())) == 0)
    }

    private func ownPath() throws -> String {
        try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
    }

    @Test func `a grant or program that is not there is not found, and nothing ends`() throws {
        let context = try authorized("free")
        #expect(try refusal { try revoke(.grantID(1)) } == .notFound)
        #expect(try refusal { try revoke(.program("/usr/bin/nothing")) } == .notFound)
        #expect(try refusal { _ = try owner.call(.revokeGrants(.init())) } == .malformed)
        #expect(try signatureCause("free", context) == nil)
    }

    @Test func `what a context keeps ends with the grant`() throws {
        let context = try client.openContext(keepingFactors: true)
        fixture.prompter.prepare([.text(BrokerFixture.passcode)])
        _ = try client.authorize(client.find("free"), in: context)
        let id = try #require(try list().first { $0.kind == "right" }?.grantID)
        try revoke(.grantID(id))
        fixture.prompter.prepare([.cancel])
        #expect(try refusal { _ = try client.authorize(client.find("free"), in: context) } == .userCancel)
    }

    @Test func `an authorization that is under way ends too`() throws {
        let path = fixture.socketPath
        let context = try client.openContext()
        fixture.prompter.prepare([.text(BrokerFixture.passcode)])
        fixture.prompter.duringNextQuestion {
            _ = try? TestClient(socketPath: path).call(.revokeGrants(.with { $0.which = .all(.init()) }))
        }
        #expect(try refusal { _ = try client.authorize(client.find("free"), in: context) } == .systemCancel)
    }

    // MARK: a program's own

    private func wait(for nonce: Data, unless known: UInt64?, _ listener: TestClient) throws -> UInt64 {
        let request = WireAwaitGrantEndRequest.with { ($0.connection, $0.known) = (nonce, known) }
        guard case .grantEnds(let ends) = try listener.call(.awaitGrantEnd(request)).body else {
            throw TestClient.UnexpectedAnswer()
        }
        return ends.number
    }

    private func held() throws -> [UInt64] {
        guard case .heldGrants(let held) = try client.call(.heldGrants(.init())).body else {
            throw TestClient.UnexpectedAnswer()
        }
        return held.contextIDs
    }

    enum End: CaseIterable { case use, revocation, lock, removal, deauthorization }

    @Test(.timeLimit(.minutes(10)), arguments: End.allCases)
    func `a program is told of each end, and asks which grants stand`(_ end: End) throws {
        let (context, other) = (try authorized("limited"), try authorized("free"))
        #expect(try held() == [context, other].sorted())
        let listener = try fixture.client()
        let known = try wait(for: client.nonce, unless: nil, listener)
        try listener.send(.awaitGrantEnd(.with { ($0.connection, $0.known) = (client.nonce, known) }))
        switch end {
        case .use: for _ in 1...3 { _ = try client.sign(client.find("limited"), in: context) }
        case .revocation: try revoke(.grantID(try #require(try list().first { $0.object == "limited" }?.grantID)))
        case .lock: try owner.lock()
        case .removal: try owner.remove("limited")
        case .deauthorization: try client.deauthorize(context)
        }
        guard case .grantEnds(let ends) = try listener.answer().body else { throw TestClient.UnexpectedAnswer() }
        #expect(ends.number != known)
        #expect(try held() == (end == .lock ? [] : [other]))
    }

    @Test(.timeLimit(.minutes(10))) func `a wait ends with its cancel and with the connection that it is for`() throws {
        let listener = try fixture.client()
        let known = try wait(for: client.nonce, unless: nil, listener)
        let body = WireRequest.OneOf_Body.awaitGrantEnd(
            .with { ($0.connection, $0.known) = (client.nonce, known) })
        let id = try listener.send(body)
        let cancel = try listener.send(.cancel(.with { $0.requestID = id }))
        let answers = try [listener.answer(), listener.answer()]
        #expect(answers.first { $0.id == id }?.refused?.code == .appCancel)
        #expect(answers.first { $0.id == cancel }?.refused == nil)
        try listener.send(body)
        client.end()
        #expect(try listener.answer().refused?.code == .unknownContext)
    }

    @Test(.timeLimit(.minutes(10))) func `a connection has one wait, beside its slow requests`() throws {
        let listener = try fixture.client()
        let known = try wait(for: client.nonce, unless: nil, listener)
        let body = WireRequest.OneOf_Body.awaitGrantEnd(
            .with { ($0.connection, $0.known) = (client.nonce, known) })
        let id = try listener.send(body)
        #expect(try refusal { _ = try listener.call(body) } == .tooMany)
        // A lock ends questions, and no wait for a connection on which nothing was granted.
        try owner.lock()
        try listener.send(.cancel(.with { $0.requestID = id }))
        #expect(try [listener.answer(), listener.answer()].first { $0.id == id }?.refused?.code == .appCancel)
    }

    @Test func `nobody waits for a connection that they cannot name`() throws {
        let listener = try fixture.client()
        for nonce in [Data(), Data(count: 16), client.nonce + [0]] {
            #expect(try refusal { _ = try wait(for: nonce, unless: nil, listener) } == .unknownContext)
        }
    }
}
