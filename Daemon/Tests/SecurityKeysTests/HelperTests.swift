import Foundation
import Glibc
import SecretMemory
import SecurityKeyProtocol
import SecurityKeyTestSupport
import StoreTestSupport
import TerminalTestSupport
import Testing
import UnixSocket

@testable import SecurityKeys

/// `ostiary-fido` itself.
@Suite(.timeLimit(.minutes(10))) struct HelperTests {
    let fixture: KeyFixture
    let key: SoftwareKey
    let channel: SharedDescriptor
    let helper: SpawnedProcess

    init() throws {
        fixture = try KeyFixture()
        key = try fixture.plugIn(FIDO2Engine(TestFinger(touches: 0)))
        let ports = SocketPorts(folder: fixture.folder.path)
        let device = try ports.open(try #require(ports.present(to: nil).first), for: nil)
        var ends: [CInt] = [-1, -1]
        try #require(socketpair(AF_UNIX, CInt(SOCK_SEQPACKET.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) == 0)
        channel = SharedDescriptor(Descriptor(owning: ends[0]))
        helper = try SpawnedProcess(
            Build.program("ostiary-fido"), descriptors: [-1, -1, -1, ends[1], device.number])
        close(ends[1])
    }

    private func ask(_ request: KeyRequest) -> KeyReport? {
        guard send(request) else { return nil }
        return next()
    }

    private func send(_ request: KeyRequest) -> Bool { SecurityKeyFrame(request.bytes).send(on: channel.number) }

    private func next() -> KeyReport? {
        guard let frame = SecurityKeyFrame.receive(on: channel.number) else { return nil }
        return KeyReport(decoding: frame.message)
    }

    @Test func `it filters its system calls and gains no rights`() throws {
        guard case .description(let description)? = ask(.describe) else { throw NoAnswer() }
        #expect(description.isFIDO2)
        #expect(description.aaguid == FIDO2Engine.identifier)
        let status = try String(contentsOfFile: "/proc/\(helper.processID)/status", encoding: .utf8)
        #expect(status.contains("NoNewPrivs:\t1"))
        #expect(status.contains("Seccomp:\t2"))
        // All of its threads.
        for thread in try FileManager.default.contentsOfDirectory(atPath: "/proc/\(helper.processID)/task") {
            let path = "/proc/\(helper.processID)/task/\(thread)/status"
            #expect(try String(contentsOfFile: path, encoding: .utf8).contains("Seccomp:\t2"))
        }
    }

    @Test(.enabled(if: geteuid() == 0, "only root sees the descriptors of a process that cannot be dumped"))
    func `it has no descriptors but its own`() throws {
        guard case .description? = ask(.describe) else { throw NoAnswer() }
        let descriptors = try FileManager.default.contentsOfDirectory(atPath: "/proc/\(helper.processID)/fd")
        #expect(descriptors.sorted() == ["0", "1", "2", "3", "4"])
    }

    @Test(arguments: [[], [0], [1, 9], [2, 1], [1, 1, 0], [1, 6]] as [[UInt8]])
    func `it ends when the daemon sends something else`(_ bytes: [UInt8]) {
        _ = SecurityKeyFrame(bytes).send(on: channel.number)
        #expect(helper.wait() == .exited(0))
    }

    @Test func `with a key it opens no other one`() throws {
        let name = try #require(HIDRawName("hidraw3".utf8))
        let opening = KeyOpening(name, for: getuid()).bytes
        #expect(Glibc.send(channel.number, opening, opening.count, 0) == opening.count)
        #expect(helper.wait() == .exited(0))
    }

    @Test func `it ends when a second request comes before the first is answered`() throws {
        #expect(send(.select))
        #expect(send(.describe))
        #expect(helper.wait() == .exited(0))
    }

    @Test func `it ends with the daemon, and the key stops blinking`() throws {
        guard case .description? = ask(.describe) else { throw NoAnswer() }
        #expect(send(.select))
        try eventually("the key blinks") { key.requests.count >= 4 }
        shutdown(channel.number, CInt(SHUT_RDWR))
        #expect(helper.wait() == .exited(0))
        #expect(key.cancelCount > 0)
    }

    @Test func `a cancel ends a request, and the next one is answered`() throws {
        guard case .description? = ask(.describe) else { throw NoAnswer() }
        #expect(send(.select))
        try eventually("the key blinks") { key.requests.count >= 4 }
        #expect(send(.cancel))
        #expect(next() == .failed(KeyFailure(code: 0x2D)))
        guard case .description? = ask(.describe) else { throw NoAnswer() }
    }

    @Test func `a cancel without a request is nothing`() throws {
        #expect(send(.cancel))
        guard case .description? = ask(.describe) else { throw NoAnswer() }
    }

    @Test func `a key that is gone is told as gone`() {
        key.unplug()
        guard case .failed(let failure)? = ask(.describe) else {
            Issue.record("no failure came")
            return
        }
        #expect(failure.isGone)
    }

    struct NoAnswer: Error {}
}

/// The filter, in a program that makes forbidden calls.
@Suite(.timeLimit(.minutes(10))) struct SystemCallFilterTests {
    @Test func `allowed calls go on`() throws {
        let process = try SpawnedProcess(Build.program("filter-breaker"), ["nothing"])
        #expect(process.wait() == .exited(0))
    }

    @Test(arguments: ["open", "socket", "execute", "fork", "trace", "map-executable", "protect-executable", "thread"])
    func `any other call ends the process`(_ deed: String) throws {
        let process = try SpawnedProcess(Build.program("filter-breaker"), [deed])
        #expect(process.wait() == .killed(signal: SIGSYS, leftCore: false))
    }
}

/// The calls that the daemon of the machine gives up, in a program that gives up the same.
@Suite(.timeLimit(.minutes(10))) struct DeniedCallsTests {
    @Test(arguments: ["spawn", "execute", "spawn-in-older-thread"])
    func `no program is started any more`(_ deed: String) throws {
        let process = try SpawnedProcess(Build.program("filter-breaker"), ["denied", deed])
        #expect(process.wait() == .exited(EPERM))
    }

    @Test func `other calls go on`() throws {
        let process = try SpawnedProcess(Build.program("filter-breaker"), ["denied", "open"])
        #expect(process.wait() == .exited(0))
    }
}
