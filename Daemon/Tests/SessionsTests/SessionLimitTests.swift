import AccessControl
import Authenticators
import ExactNames
import Foundation
import Glibc
import OstiaryMessages
import OstiaryWire
import OwnerKeys
import Owners
import StoreTestSupport
import Testing
import UnixSocket

@testable import Broker
@testable import BrokerTestSupport
@testable import ProtectedObjects
@testable import Refusals
@testable import Sessions

/// What programs can make the daemon hold, together and each.
@Suite("Limits of connections", .timeLimit(.minutes(10)))
struct SessionLimitTests {
    private let fixture: BrokerFixture
    private let limits = SessionLimits.ofOneUser

    init() throws { fixture = try BrokerFixture() }

    // MARK: before the greeting

    private func header(_ messageByteCount: Int, _ tailByteCount: Int) -> [UInt8] {
        [messageByteCount, tailByteCount].flatMap { count in
            withUnsafeBytes(of: UInt32(count).bigEndian) { Array($0) }
        }
    }

    /// Announces a frame without sending it; whether the daemon waits for it.
    private func isWaitedFor(_ header: [UInt8]) throws -> Bool {
        let socket = try UnixSocket.connect(to: fixture.socketPath)
        var reader = FrameReader(socket: socket)
        _ = try reader.next(WireGreeting.self)
        try header.withUnsafeBytes { try socket.send($0) }
        try socket.setReceiveTimeout(seconds: 1)
        do {
            _ = try reader.next(WireReply.self)
            throw TestClient.UnexpectedAnswer()
        } catch FrameReadError.closed { return false } catch FrameReadError.system(let error) {
            // What was not read when the daemon closed makes it a reset.
            return error.code == EAGAIN
        }
    }

    @Test(arguments: [(4097, 0), (1, 4096), (4096, 1), (WireLimits.messageByteCount, 0), (1, WireLimits.tailByteCount)])
    func `no more than a small frame may be announced before the greeting`(message: Int, tail: Int) throws {
        #expect(try !isWaitedFor(header(message, tail)))
    }

    @Test(arguments: [(4096, 0), (1, 4095)])
    func `a small frame is waited for`(message: Int, tail: Int) throws {
        #expect(try isWaitedFor(header(message, tail)))
    }

    @Test func `after the greeting a frame may be large`() throws {
        let open = AccessControl(availability: .always, using: .unrestricted)
        #expect(try fixture.client().create("right", open, secret: String(repeating: "x", count: 60_000)).hasSecret_p)
    }

    // MARK: slow requests

    /// What a person is asked for in a new context of `client`.
    private func policy(_ client: TestClient) throws -> WireRequest.OneOf_Body {
        let context = try client.openContext()
        return .evaluatePolicy(
            .with {
                $0.contextID = context
                $0.policy = 2
                $0.question = TestClient.question
            })
    }

    @Test func `slow requests of a connection are bounded, and quick ones and other connections go on`() throws {
        try fixture.setPasscode()
        let gate = DispatchSemaphore(value: 0)
        fixture.prompter.prepare([])
        fixture.prompter.always { _ in
            gate.wait()
            return .cancel
        }
        let client = try fixture.client()
        for _ in 0..<SessionLimits.slowRequestCount { try client.send(policy(client)) }
        let question = try policy(client)
        while fixture.prompter.asked.count < SessionLimits.slowRequestCount { usleep(1_000) }

        #expect(try refusal { try client.call(question) } == .tooMany)
        #expect(try refusal { try client.removeAll() } == .tooMany)
        #expect(try client.list().isEmpty, "reading takes no place of a question")
        #expect(try client.openContext() > 0)
        #expect(try fixture.client().list().isEmpty)

        fixture.prompter.always(nil)
        for _ in 0..<SessionLimits.slowRequestCount { gate.signal() }
        for _ in 0..<SessionLimits.slowRequestCount { #expect(try client.answer().refused?.code == .userCancel) }
        // A place is free when its request has finished, a moment after its answer.
        while try refusal({ try client.removeAll() }) == .tooMany { usleep(1_000) }
        #expect(try client.list().isEmpty)
    }

    @Test func `slow requests of a program are bounded, quick ones go on, and each place becomes free again`()
        throws
    {
        try fixture.setPasscode()
        let gate = DispatchSemaphore(value: 0)
        fixture.prompter.prepare([])
        fixture.prompter.always { _ in
            gate.wait()
            return .cancel
        }
        var clients: [TestClient] = []
        for _ in 0..<limits.slowRequests.ofProgram / SessionLimits.slowRequestCount {
            let client = try fixture.client()
            for _ in 0..<SessionLimits.slowRequestCount { try client.send(policy(client)) }
            clients.append(client)
        }
        while fixture.prompter.asked.count < limits.slowRequests.ofProgram { usleep(1_000) }

        let late = try fixture.client()
        let question = try policy(late)
        #expect(throws: Refused.self) { try late.call(question) }
        do { try late.call(question) } catch let refused as Refused {
            #expect(refused.code == .tooMany && refused.cause == "request.too-many-of-program")
        }
        #expect(try refusal { try late.removeAll() } == .tooMany)
        #expect(try late.list().isEmpty)
        #expect(try late.openContext() > 0)

        // Half of the callers go away, the others get their answers.
        clients.removeFirst(clients.count / 2)
        for _ in 0..<limits.slowRequests.ofProgram { gate.signal() }
        for client in clients {
            for _ in 0..<SessionLimits.slowRequestCount { #expect(try client.answer().refused?.code == .userCancel) }
        }
        fixture.prompter.always(nil)
        for _ in 0..<limits.slowRequests.ofProgram + 1 {
            // A place is free when its thread has ended, a moment after its answer.
            while try refusal({ try late.removeAll() }) == .tooMany { usleep(1_000) }
        }
        #expect(try late.list().isEmpty)
    }

    /// What the quota refuses a request of `program` with; nil when it takes it.
    private func cause(_ quota: SlowRequestQuota, _ program: ProgramOfOwner) -> String? {
        do throws(Refusal) { try quota.take(for: program) } catch { return error.cause }
        return nil
    }

    @Test func `a program that keeps all its requests in flight leaves places to another one`() {
        let quota = SlowRequestQuota(limits.slowRequests)
        for _ in 0..<limits.slowRequests.ofProgram { #expect(cause(quota, "flood") == nil) }
        #expect(limits.slowRequests.total >= 2 * limits.slowRequests.ofProgram)
        for _ in 0..<limits.slowRequests.ofProgram {
            #expect(cause(quota, "flood") == "request.too-many-of-program")
            #expect(cause(quota, "other") == nil)
        }
    }

    @Test func `a quota that is used up refuses until something is given back`() {
        let quota = SlowRequestQuota(ShareLimits(ofProgram: 2, total: 3))
        #expect(cause(quota, "one") == nil)
        #expect(cause(quota, "one") == nil)
        #expect(cause(quota, "one") == "request.too-many-of-program")
        #expect(cause(quota, "two") == nil)
        #expect(cause(quota, "two") == "request.too-many-in-all")
        #expect(cause(quota, "three") == "request.too-many-in-all")
        quota.giveBack("one")
        #expect(cause(quota, "three") == nil)
        #expect(cause(quota, "one") == "request.too-many-in-all")
        quota.giveBack("three")
        #expect(cause(quota, "one") == nil)
    }

    private let sameOfOtherOwner = ProgramOfOwner(owner: .numbered(1), program: "one")

    @Test func `another owner's program of the same name is not held up`() {
        let quota = SlowRequestQuota(ShareLimits(ofProgram: 1, total: 4))
        #expect(cause(quota, "one") == nil)
        #expect(cause(quota, "one") == "request.too-many-of-program")
        #expect(cause(quota, sameOfOtherOwner) == nil)
        #expect(cause(quota, sameOfOtherOwner) == "request.too-many-of-program")
        quota.giveBack("one")
        #expect(cause(quota, sameOfOtherOwner) == "request.too-many-of-program")
        #expect(cause(quota, "one") == nil)
    }

    @Test func `an owner with many programs leaves places to another owner`() {
        let quota = SlowRequestQuota(ShareLimits(ofProgram: 2, ofOwner: 3, total: 5))
        for program in ["one", "two", "three"] as [ProgramOfOwner] { #expect(cause(quota, program) == nil) }
        #expect(cause(quota, "four") == "request.too-many-of-owner")
        #expect(cause(quota, sameOfOtherOwner) == nil)
        #expect(cause(quota, sameOfOtherOwner) == nil)
        #expect(cause(quota, "four") == "request.too-many-of-owner", "its own share is named first")
        quota.giveBack("two")
        #expect(cause(quota, "four") == nil)
    }

    @Test func `a refusal does not tell how many requests of others wait`() {
        let quota = SlowRequestQuota(ShareLimits(ofProgram: 2, total: 3))
        for program in ["one", "two", "three"] as [ProgramOfOwner] { #expect(cause(quota, program) == nil) }
        var refused: Refusal?
        do { try quota.take(for: sameOfOtherOwner) } catch { refused = error }
        #expect(refused?.cause == "request.too-many-in-all")
        #expect(refused?.explanation.contains(where: \.isNumber) == false)
    }

    // MARK: connections

    private func caller(_ processID: Int, of userID: UInt32 = 1000) -> PeerCredentials {
        PeerCredentials(processID: Int32(processID), userID: userID, groupID: userID)
    }

    @Test func `a process has so many connections, and another one is served`() {
        let sessions = SessionRegistry(limits.connections)
        for _ in 0..<limits.connections.ofProgram { #expect(sessions.takePlace(of: caller(1))) }
        #expect(!sessions.takePlace(of: caller(1)))
        #expect(sessions.takePlace(of: caller(2)))
        sessions.leavePlace(of: caller(1))
        #expect(sessions.takePlace(of: caller(1)))
        #expect(!sessions.takePlace(of: caller(1)))
    }

    @Test func `all processes together have so many connections`() {
        let sessions = SessionRegistry(limits.connections)
        for number in 0..<limits.connections.total {
            #expect(sessions.takePlace(of: caller(1 + number / limits.connections.ofProgram)))
        }
        #expect(!sessions.takePlace(of: caller(100)))
    }

    @Test func `a user with many processes has so many connections, and another user is served`() {
        let sessions = SessionRegistry(ShareLimits(ofProgram: 2, ofOwner: 3, total: 5))
        #expect((1...3).allSatisfy { sessions.takePlace(of: caller($0)) })
        #expect(!sessions.takePlace(of: caller(4)))
        // The numbers of processes are those of another user by now.
        #expect((1...2).allSatisfy { sessions.takePlace(of: caller($0 + 10, of: 1001)) })
        #expect(!sessions.takePlace(of: caller(13, of: 1001)), "the total")
        for number in 1...3 { sessions.leavePlace(of: caller(number)) }
        #expect(sessions.takePlace(of: caller(13, of: 1001)))
        #expect(!sessions.takePlace(of: caller(14, of: 1001)), "the other user's share")
        #expect(sessions.takePlace(of: caller(4)))
        for number in [11, 12, 13] { sessions.leavePlace(of: caller(number, of: 1001)) }
        sessions.leavePlace(of: caller(4))
        #expect(sessions.isEmpty)
    }

    // MARK: how many users are served

    /// All limits that connections share.
    private func all(_ limits: SessionLimits) -> [ShareLimits] {
        [
            limits.connections, limits.slowRequests, limits.readings, limits.watches, limits.credentials,
            limits.grants, limits.associations,
        ]
    }

    @Test func `one user may hold all, in the numbers of before`() {
        #expect(all(limits).map(\.ofProgram) == [64, 48, 16, 32, 256, 4096, 4])
        #expect(all(limits).map(\.ofOwner) == all(limits).map(\.total))
        #expect(all(limits).map(\.total) == [256, 128, 64, 128, 1024, 16_384, 16])
    }

    @Test(arguments: [
        (1024, [64, 32, 16, 32, 256, 8192, 4], [256, 128, 64, 128, 1024, 32_768, 16]),
        (4096, [256, 128, 64, 128, 256, 8192, 4], [1024, 512, 256, 512, 1024, 32_768, 16]),
        (8192, [256, 128, 64, 128, 256, 8192, 4], [2048, 1024, 512, 1024, 1024, 32_768, 16]),
        (Int.max, [256, 128, 64, 128, 256, 8192, 4], [2048, 1024, 512, 1024, 1024, 32_768, 16]),
    ])
    func `of many users each has a quarter of all at most, and no more than one user`(
        _ descriptorCount: Int, _ ofOwner: [Int], _ total: [Int]
    ) {
        let many = all(.ofMany(descriptorCount: descriptorCount))
        #expect(many.map(\.ofOwner) == ofOwner)
        #expect(many.map(\.total) == total)
    }

    @Test(arguments: [0, 1, 64, 1024, 65_536, Int.max])
    func `of many users each program and each user has a place, and a program leaves some to others`(
        _ descriptorCount: Int
    ) {
        for limits in all(.ofMany(descriptorCount: descriptorCount)) {
            #expect(limits.ofProgram >= 1 && limits.ofProgram <= limits.ofOwner && limits.ofOwner <= limits.total)
            guard descriptorCount >= 1024 else { continue }
            #expect(limits.ofProgram < limits.ofOwner && limits.ofOwner * 4 <= limits.total)
        }
    }

    /// Each connection holds two descriptors, each slow request three and each reading one.
    @Test(arguments: [1024, 4096, 8192, Int.max])
    func `all places together leave descriptors to the daemon`(_ descriptorCount: Int) {
        let many = SessionLimits.ofMany(descriptorCount: descriptorCount)
        #expect(2 * many.connections.total + 3 * many.slowRequests.total + many.readings.total < descriptorCount)
    }

    // MARK: the end

    @Test func `the store is not closed under a session that did not end in time`() throws {
        let open = AccessControl(availability: .always, using: .unrestricted)
        try fixture.client().create("right", open)
        let own = caller(Int(getpid()), of: getuid())
        #expect(fixture.broker.sessions.takePlace(of: own))
        fixture.broker.close()
        #expect(try fixture.account.rights.list(application: nil, as: .daemon).count == 1)
        fixture.broker.sessions.leavePlace(of: own)
    }
}
