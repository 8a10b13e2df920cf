import AccessControl
import BrokerTestSupport
import ExactNames
import Foundation
import Glibc
import OstiaryMessages
import OstiaryWire
import Owners
import StoreTestSupport
import Testing
import UnixSocket

@testable import Broker
@testable import ProtectedObjects
@testable import Refusals

/// What programs can make the daemon hold, together and each.
@Suite("Limits of connections", .timeLimit(.minutes(10)))
struct SessionLimitTests {
    private let fixture: BrokerFixture

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
        for _ in 0..<SessionLimits.slowRequestCountOfProgram / SessionLimits.slowRequestCount {
            let client = try fixture.client()
            for _ in 0..<SessionLimits.slowRequestCount { try client.send(policy(client)) }
            clients.append(client)
        }
        while fixture.prompter.asked.count < SessionLimits.slowRequestCountOfProgram { usleep(1_000) }

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
        for _ in 0..<SessionLimits.slowRequestCountOfProgram { gate.signal() }
        for client in clients {
            for _ in 0..<SessionLimits.slowRequestCount { #expect(try client.answer().refused?.code == .userCancel) }
        }
        fixture.prompter.always(nil)
        for _ in 0..<SessionLimits.slowRequestCountOfProgram + 1 {
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
        let quota = SlowRequestQuota()
        for _ in 0..<SessionLimits.slowRequestCountOfProgram { #expect(cause(quota, "flood") == nil) }
        #expect(SessionLimits.slowRequestTotal >= 2 * SessionLimits.slowRequestCountOfProgram)
        for _ in 0..<SessionLimits.slowRequestCountOfProgram {
            #expect(cause(quota, "flood") == "request.too-many-of-program")
            #expect(cause(quota, "other") == nil)
        }
    }

    @Test func `a quota that is used up refuses until something is given back`() {
        let quota = SlowRequestQuota(ofProgram: 2, total: 3)
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
        let quota = SlowRequestQuota(ofProgram: 1, total: 4)
        #expect(cause(quota, "one") == nil)
        #expect(cause(quota, "one") == "request.too-many-of-program")
        #expect(cause(quota, sameOfOtherOwner) == nil)
        #expect(cause(quota, sameOfOtherOwner) == "request.too-many-of-program")
        quota.giveBack("one")
        #expect(cause(quota, sameOfOtherOwner) == "request.too-many-of-program")
        #expect(cause(quota, "one") == nil)
    }

    @Test func `an owner with many programs leaves places to another owner`() {
        let quota = SlowRequestQuota(ofProgram: 2, ofOwner: 3, total: 5)
        for program in ["one", "two", "three"] as [ProgramOfOwner] { #expect(cause(quota, program) == nil) }
        #expect(cause(quota, "four") == "request.too-many-of-owner")
        #expect(cause(quota, sameOfOtherOwner) == nil)
        #expect(cause(quota, sameOfOtherOwner) == nil)
        quota.giveBack("two")
        #expect(cause(quota, "four") == nil)
    }

    @Test func `a refusal does not tell how many requests of others wait`() {
        let quota = SlowRequestQuota(ofProgram: 2, total: 3)
        for program in ["one", "two", "three"] as [ProgramOfOwner] { #expect(cause(quota, program) == nil) }
        var refused: Refusal?
        do { try quota.take(for: sameOfOtherOwner) } catch { refused = error }
        #expect(refused?.cause == "request.too-many-in-all")
        #expect(refused?.explanation.contains(where: \.isNumber) == false)
    }

    @Test func `a process has so many connections, and another one is served`() throws {
        let sessions = SessionRegistry()
        for _ in 0..<SessionLimits.connectionCountOfProcess { #expect(sessions.takePlace(ofProcess: 1)) }
        #expect(!sessions.takePlace(ofProcess: 1))
        #expect(sessions.takePlace(ofProcess: 2))
        sessions.leavePlace(ofProcess: 1)
        #expect(sessions.takePlace(ofProcess: 1))
        #expect(!sessions.takePlace(ofProcess: 1))
    }

    @Test func `all processes together have so many connections`() throws {
        let sessions = SessionRegistry()
        let perProcess = SessionLimits.connectionCountOfProcess
        for number in 0..<SessionLimits.connectionCount {
            #expect(sessions.takePlace(ofProcess: Int32(1 + number / perProcess)))
        }
        #expect(!sessions.takePlace(ofProcess: 100))
    }

    // MARK: the end

    @Test func `the store is not closed under a session that did not end in time`() throws {
        let open = AccessControl(availability: .always, using: .unrestricted)
        try fixture.client().create("right", open)
        #expect(fixture.broker.sessions.takePlace(ofProcess: getpid()))
        fixture.broker.close()
        #expect(try fixture.account.rights.list(application: nil).count == 1)
        fixture.broker.sessions.leavePlace(ofProcess: getpid())
    }
}
