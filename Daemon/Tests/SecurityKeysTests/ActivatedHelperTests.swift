import AuthenticatorRequests
import Cancellations
import Dispatch
import Foundation
import Glibc
import HelperProcesses
import HelperTestSupport
import SecurityKeyTestSupport
import StoreTestSupport
import Synchronization
import TerminalTestSupport
import Testing
import UnixSocket

@testable import SecurityKeys

/// The real `ostiary-fido` behind a socket of the service manager. It gets its key over its connection.
@Suite("Security keys in an activated helper", .timeLimit(.minutes(10)))
struct ActivatedHelperTests {
    let fixture: KeyFixture
    let helper: ActivatedHelper

    init() throws {
        fixture = try KeyFixture()
        helper = try ActivatedHelper(Build.program("ostiary-fido"))
    }

    private func keys(_ road: HelperRoad) -> SecurityKeys {
        SecurityKeys(road, ports: SocketPorts(folder: fixture.folder.path), limit: .seconds(60))
    }

    @Test func `a credential is made with a touch, and signs with another`() throws {
        let engine = FIDO2Engine(TestFinger())
        let key = try fixture.plugIn(engine)
        let created = try keys(helper.road).create(
            KeyFixture.creation(), with: ScriptedQuestion(), until: fixture.cancellation)
        let asserted = try keys(helper.road).assert(
            KeyFixture.assertion(allowing: [created.credentialIdentifier]), with: ScriptedQuestion(),
            until: fixture.cancellation)
        #expect(verifies(asserted, with: engine.memory.publicKey(of: created.credentialIdentifier)))
        try eventually("no helper outlives its question") { helper.helpers().isEmpty }
        withExtendedLifetime(key) {}
    }

    @Test func `it gains no rights, from before it is given anything`() throws {
        let connection = try HelperSocket.connect(
            to: helper.socket.path, CInt(SOCK_SEQPACKET.rawValue), listener: [getuid()])
        var byte: UInt8 = 0
        #expect(recv(connection.number, &byte, 1, 0) == 1)
        let process = try #require(helper.helpers().last)
        let status = try String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)
        #expect(status.contains("NoNewPrivs:\t1"))
        withExtendedLifetime(connection) {}
    }

    @Test func `a key stays taken while its helper lives`() throws {
        let finger = TestFinger(touches: 0)
        let engine = FIDO2Engine(finger)
        let key = try fixture.plugIn(engine)
        let (keys, helper, cancellation) = (keys(helper.road), helper, Cancellation())
        let first = ScriptedQuestion(onStep: { step in
            guard case .touch = step else { return }
            Thread.detachNewThread {
                while finger.waitCount == 0 { usleep(5_000) }
                // Nothing ends it now, and the daemon may not kill it.
                for process in helper.helpers() { kill(process, SIGSTOP) }
                cancellation.cancel()
            }
        })
        #expect(throws: CredentialRefusal.cancelled) {
            try keys.create(KeyFixture.creation(), with: first, until: cancellation)
        }
        let second = ScriptedQuestion(onStep: { step in
            switch step {
            case .waiting: for process in helper.helpers() { kill(process, SIGCONT) }
            case .touch: finger.touch()
            default: break
            }
        })
        _ = try keys.create(KeyFixture.creation(), with: second, until: fixture.cancellation)
        #expect(second.steps.first == .waiting)
        #expect(engine.memory.count == 1)
        withExtendedLifetime(key) {}
    }

    @Test(.enabled(if: geteuid() == 0, "only root stops a thread of a program that forbids it"))
    func `a helper whose first thread is stuck ends after its connection`() throws {
        let finger = TestFinger(touches: 0)
        let key = try fixture.plugIn(FIDO2Engine(finger))
        let (helper, cancellation) = (helper, Cancellation())
        let asked = DispatchSemaphore(value: 0)
        let question = ScriptedQuestion(onStep: { step in
            guard case .touch = step else { return }
            Thread.detachNewThread {
                while finger.waitCount == 0 { usleep(5_000) }
                asked.signal()
            }
        })
        let (keys, ended) = (keys(helper.road), DispatchSemaphore(value: 0))
        Thread.detachNewThread {
            _ = try? keys.create(KeyFixture.creation(), with: question, until: cancellation)
            ended.signal()
        }
        try #require(asked.wait(timeout: .now() + 60) == .success)
        // The helper that looked at the key before may still be ending.
        try eventually("one is left") { helper.helpers().count == 1 }
        let frozen = try FrozenThread(of: #require(helper.helpers().first))
        cancellation.cancel()
        #expect(ended.wait(timeout: .now() + 60) == .success)
        try eventually("it is gone") { helper.helpers().isEmpty }
        withExtendedLifetime((key, frozen)) {}
    }

    @Test func `helpers that do not end are waited for together`() throws {
        let fingers = (1...6).map { _ in TestFinger(touches: 0) }
        let plugged = try fingers.enumerated().map { number, finger in
            try fixture.plugIn(FIDO2Engine(finger), named: "key\(number)")
        }
        let (helper, cancellation) = (helper, Cancellation())
        let end = Ended()
        let question = ScriptedQuestion(onStep: { step in
            guard step == .touch(device: nil) else { return }
            Thread.detachNewThread {
                while fingers.contains(where: { $0.waitCount == 0 }) { usleep(5_000) }
                // Nothing ends them now, and the daemon may not kill them.
                for process in helper.helpers() { kill(process, SIGSTOP) }
                end.begin()
                cancellation.cancel()
            }
        })
        #expect(throws: CredentialRefusal.cancelled) {
            try keys(helper.road).create(KeyFixture.creation(), with: question, until: cancellation)
        }
        // One after the other they would take six times the limit.
        #expect(try #require(end.duration) < HelperProcessLimits.end * 4)
        #expect(helper.helpers().count == 6, "none of them has ended")
        for process in helper.helpers() { kill(process, SIGCONT) }
        try eventually("they end after their connections") { helper.helpers().isEmpty }
        withExtendedLifetime(plugged) {}
    }

    /// When the end of a question began.
    private final class Ended: Sendable {
        private let begun = Mutex<ContinuousClock.Instant?>(nil)
        func begin() { begun.withLock { $0 = .now } }
        var duration: Duration? { begun.withLock { $0 }.map { $0.duration(to: .now) } }
    }

    @Test func `a further key without a helper is left out, and the first one goes on`() throws {
        let (left, right) = (FIDO2Engine(TestFinger()), FIDO2Engine(TestFinger()))
        let leftKey = try fixture.plugIn(left, named: "a")
        let rightKey = try fixture.plugIn(right, named: "b")
        let helper = helper
        let ports = WatchedPorts(ports: SocketPorts(folder: fixture.folder.path)) { port in
            // The listener goes on, and with it the helper of the first key.
            if port.name == "b" { unlink(helper.socket.path) }
        }
        _ = try SecurityKeys(helper.road, ports: ports, limit: .seconds(60))
            .create(KeyFixture.creation(), with: ScriptedQuestion(), until: fixture.cancellation)
        #expect(left.memory.count == 1)
        #expect(right.memory.count == 0)
        withExtendedLifetime((leftKey, rightKey)) {}
    }

    @Test func `the PIN reaches a helper of the right account alone`() throws {
        let memory = KeyMemory(pin: "1234")
        let key = try fixture.plugIn(FIDO2Engine(TestFinger(), memory: memory))
        let creation = KeyFixture.creation { $0.userVerification = .required }
        let question = ScriptedQuestion(pins: ["1234"])
        _ = try keys(helper.road).create(creation, with: question, until: fixture.cancellation)
        #expect(memory.count == 1)
        let other = HelperSocket(path: helper.socket.path, helperUserID: getuid() + 1, managerUserID: getuid())
        let late = ScriptedQuestion(pins: ["1234"])
        #expect(
            throws: CredentialRefusal.helperFailed(
                reason: "the helper at \(helper.socket.path) runs as user \(getuid()), and must not")
        ) { try keys(.activated(other)).create(creation, with: late, until: fixture.cancellation) }
        #expect(late.pinRequests.isEmpty)
        withExtendedLifetime(key) {}
    }

    @Test func `a helper that is killed after the PIN is a failure`() throws {
        let finger = TestFinger(touches: 0)
        let memory = KeyMemory(pin: "1234")
        let key = try fixture.plugIn(FIDO2Engine(finger, memory: memory))
        let helper = helper
        let question = ScriptedQuestion(
            pins: ["1234"],
            onPIN: {
                Thread.detachNewThread {
                    while finger.waitCount == 0 { usleep(5_000) }
                    for process in helper.helpers() { kill(process, SIGKILL) }
                }
            })
        #expect(throws: CredentialRefusal.helperFailed(reason: "the helper ended")) {
            try keys(helper.road).create(
                KeyFixture.creation { $0.userVerification = .required }, with: question, until: fixture.cancellation)
        }
        #expect(memory.count == 0)
        withExtendedLifetime(key) {}
    }
}
