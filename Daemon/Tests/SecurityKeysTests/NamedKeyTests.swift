import AuthenticatorRequests
import CTAPHID
import Foundation
import Glibc
import HelperProcesses
import HelperTestSupport
import SecurityKeyProtocol
import SecurityKeyTestSupport
import StoreTestSupport
import Synchronization
import TerminalTestSupport
import Testing
import UnixSocket

@testable import KeyDevices
@testable import SecurityKeys

/// The real `ostiary-fido` behind a socket of the service manager, which opens its key by its name. A test machine has no hidraw devices: the
/// debug build connects to a socket in a folder instead (`TestKeys`). All else is the road of an installed helper.
@Suite("Security keys that the helper opens", .timeLimit(.minutes(10)))
struct NamedKeyTests {
    private static let name = "hidraw3"

    /// Keys of a folder, which the helper opens.
    private struct NamedPorts: SecurityKeyPorts {
        let folder: TestFolder
        let beforeOpening: @Sendable () -> Void

        func present(to userID: UInt32?) -> [SecurityKeyPort] { SocketPorts(folder: folder.path).present(to: userID) }

        func place(of port: SecurityKeyPort, for userID: UInt32?) throws(SystemCallError) -> KeyPlace {
            beforeOpening()
            return .named(try HIDRawPorts.opening(of: port.name, in: folder.path + "/", for: userID))
        }
    }

    let fixture: KeyFixture
    let helper: ActivatedHelper

    init() throws {
        fixture = try KeyFixture()
        helper = try ActivatedHelper(Build.program("ostiary-fido"), [fixture.folder.path])
    }

    private func keys(
        _ road: HelperRoad? = nil, within limit: Duration = .seconds(60),
        _ beforeOpening: @escaping @Sendable () -> Void = {}
    ) -> SecurityKeys {
        let ports = NamedPorts(folder: fixture.folder, beforeOpening: beforeOpening)
        return SecurityKeys(road ?? helper.road, ports: ports, limit: limit)
    }

    private var descriptorPath: String { fixture.folder.path(Self.name + ".descriptor") }

    private func plugIn(
        _ engine: FIDO2Engine = FIDO2Engine(TestFinger(touches: 0)), descriptor: [UInt8] = HIDDevice.reportDescriptor
    ) throws -> SoftwareKey {
        try Data(descriptor).write(to: URL(fileURLWithPath: descriptorPath))
        return try fixture.plugIn(engine, named: Self.name)
    }

    // MARK: over the daemon's side

    @Test func `a credential is made with a touch, and signs with another`() throws {
        let engine = FIDO2Engine(TestFinger())
        let key = try plugIn(engine)
        let created = try keys().create(
            KeyFixture.creation(), with: ScriptedQuestion(), until: fixture.cancellation)
        let asserted = try keys().assert(
            KeyFixture.assertion(allowing: [created.credentialIdentifier]), with: ScriptedQuestion(),
            until: fixture.cancellation)
        #expect(verifies(asserted, with: engine.memory.publicKey(of: created.credentialIdentifier)))
        try eventually("no helper outlives its question") { helper.helpers().isEmpty }
        withExtendedLifetime(key) {}
    }

    private func expectFailure(
        _ reason: String, of keys: SecurityKeys, _ location: SourceLocation = #_sourceLocation
    ) {
        #expect(throws: CredentialRefusal.helperFailed(reason: reason), sourceLocation: location) {
            try keys.create(KeyFixture.creation(), with: ScriptedQuestion(), until: fixture.cancellation)
        }
    }

    @Test func `a device that is no security key is asked nothing, and one helper finds that out`() throws {
        // A keyboard.
        let key = try plugIn(descriptor: [0x05, 0x01, 0x09, 0x06, 0xA1, 0x01])
        let count = Mutex(0)
        expectFailure(
            "/dev/hidraw3 is no security key", of: keys(within: .seconds(5)) { count.withLock { $0 += 1 } })
        #expect(count.withLock { $0 } == 1)
        #expect(key.requests.isEmpty)
    }

    @Test func `a key that cannot be opened costs a few helpers, and not one at each look`() throws {
        // A stream, which no key is.
        let listener = try UnixSocket.listen(at: fixture.folder.path(Self.name))
        let count = Mutex(0)
        expectFailure(
            "open /dev/hidraw3: Protocol wrong type for socket",
            of: keys(within: .seconds(15)) { count.withLock { $0 += 1 } })
        #expect((2...8).contains(count.withLock { $0 }))
        withExtendedLifetime(listener) {}
    }

    @Test(arguments: ["6f00", "6e0000", "6f000000", ""])
    func `a helper that answers something else gets no request`(_ answer: String) throws {
        let program = """
            import socket
            daemon = socket.socket(fileno=3)
            daemon.send(bytes([1]))
            if daemon.recv(64) != bytes([3, 3]) or not daemon.recv(64).endswith(b"hidraw3"): raise SystemExit
            answer = bytes.fromhex("\(answer)")
            if answer: daemon.send(answer)
            """
        let helper = try ActivatedHelper("/usr/bin/python3", ["-c", program])
        let key = try plugIn()
        expectFailure("the helper at \(helper.socket.path) ended before it began", of: keys(helper.road))
        #expect(key.requests.isEmpty)
    }

    @Test func `a key that the user may not use is not even named`() throws {
        let key = try plugIn()
        try #require(chmod(fixture.folder.path(Self.name), 0o600) == 0)
        func refusal(_ name: String, _ userID: UInt32?) -> SystemCallError? {
            do throws(SystemCallError) {
                _ = try HIDRawPorts.opening(of: name, in: fixture.folder.path + "/", for: userID)
                return nil
            } catch { return error }
        }
        #expect(refusal(Self.name, nil) == nil)
        #expect(refusal(Self.name, getuid()) == nil)
        let path = fixture.folder.path(Self.name)
        #expect(refusal(Self.name, getuid() + 1) == SystemCallError("open", subject: path, code: EACCES))
        let other = fixture.folder.path("../hidraw3")
        #expect(refusal("../hidraw3", nil) == SystemCallError("name", subject: other, code: EINVAL))
        withExtendedLifetime(key) {}
    }

    // MARK: over the helper's socket

    /// A connection to a helper that was given no key.
    private func connected() throws -> UnixSocket {
        let connection = try HelperSocket.connect(
            to: helper.socket.path, CInt(SOCK_SEQPACKET.rawValue), listener: [getuid()])
        try #require(answer(on: connection) == [1])
        try send([3, UInt8(SecurityKeyDescriptor.channel)], on: connection)
        return connection
    }

    private func send(_ bytes: [UInt8], on connection: UnixSocket) throws {
        try #require(Glibc.send(connection.number, bytes, bytes.count, CInt(MSG_NOSIGNAL)) == bytes.count)
    }

    /// The helper's next message; empty when it has ended.
    private func answer(on connection: UnixSocket) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: 64)
        let count = recv(connection.number, &bytes, bytes.count, 0)
        return count > 0 ? Array(bytes[..<count]) : []
    }

    private static func opening(of name: String = NamedKeyTests.name, for userID: UInt32 = getuid()) -> [UInt8] {
        [0x4F] + [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: userID >> $0) } + [UInt8(name.utf8.count)]
            + Array(name.utf8)
    }

    @Test func `the filter is on before the first byte of the key is read`() throws {
        let key = try fixture.plugIn(FIDO2Engine(TestFinger(touches: 0)), named: Self.name)
        try #require(mkfifo(descriptorPath, 0o600) == 0)
        // For both directions, so that opening waits for nobody.
        let pipe = open(descriptorPath, O_RDWR | O_CLOEXEC)
        try #require(pipe >= 0)
        let connection = try connected()
        try send(Self.opening(), on: connection)
        let process = try #require(helper.helpers().last)
        func filters(_ path: String) throws -> Bool {
            try String(contentsOfFile: path + "/status", encoding: .utf8).contains("Seccomp:\t2")
        }
        // Nothing of the key can be read until then: the pipe is empty.
        try eventually("the helper filters its system calls") { try filters("/proc/\(process)") }
        for thread in try FileManager.default.contentsOfDirectory(atPath: "/proc/\(process)/task") {
            #expect(try filters("/proc/\(process)/task/\(thread)"))
        }
        #expect(key.requests.isEmpty)
        let descriptor = HIDDevice.reportDescriptor
        #expect(write(pipe, descriptor, descriptor.count) == descriptor.count)
        close(pipe)
        #expect(answer(on: connection) == [0x6F, 0, 0])
        let isSent = SecurityKeyFrame(KeyRequest.describe.bytes).send(on: connection.number)
        #expect(isSent)
        guard let frame = SecurityKeyFrame.receive(on: connection.number),
            case .description(let description)? = KeyReport(decoding: frame.message)
        else {
            Issue.record("no description came")
            return
        }
        #expect(description.isFIDO2)
    }

    @Test func `a user without access is refused by the opened device's list, and the helper ends`() throws {
        let key = try plugIn()
        try #require(chmod(fixture.folder.path(Self.name), 0o600) == 0)
        let connection = try connected()
        try send(Self.opening(for: getuid() + 1), on: connection)
        #expect(answer(on: connection) == [0x6F, 0, UInt8(EPERM)])
        #expect(answer(on: connection) == [])
        #expect(key.requests.isEmpty)
    }

    @Test func `a name without a device is told so, and the helper ends`() throws {
        let connection = try connected()
        try send(Self.opening(of: "hidraw7"), on: connection)
        // A file that is not there has no access list either.
        #expect(answer(on: connection) == [0x6F, 0, UInt8(EPERM)])
        #expect(answer(on: connection) == [])
    }

    static let others: [[UInt8]] = [
        [0x4F], opening(of: ""), opening(of: "../hidraw3"), opening(of: "hidraw03"), opening(of: "hidraw3/"),
        opening(of: "hidraw3") + [0], Array(opening(of: "hidraw3").dropLast()),
        // A request for a key that was never named.
        [0, 0, 0, 2, 0, 0, 0, 0, 1, 1],
    ]

    @Test(arguments: others) func `anything else than a name ends the helper before it opens anything`(
        _ bytes: [UInt8]
    ) throws {
        let key = try plugIn()
        let connection = try connected()
        try send(bytes, on: connection)
        #expect(answer(on: connection) == [])
        #expect(key.requests.isEmpty)
        try eventually("no helper is left") { helper.helpers().isEmpty }
    }
}

/// What is opened by a name, and what is not. The null device stands for a key: it is a device that each user may open.
@Suite struct NamedKeyDeviceTests {
    private func refusal(of path: String, for userID: UInt32 = getuid()) -> SystemCallError? {
        do throws(SystemCallError) {
            _ = try NamedKeyDevice.open(path, for: userID)
            return nil
        } catch { return error }
    }

    private func error(_ path: String, _ code: CInt) -> SystemCallError {
        SystemCallError("open", subject: path, code: code)
    }

    @Test func `only a device itself is opened`() throws {
        let folder = try TestFolder()
        let (file, link, pipe) = (folder.path("file"), folder.path("link"), folder.path("pipe"))
        try Data(HIDDevice.reportDescriptor).write(to: URL(fileURLWithPath: file))
        try #require(symlink("/dev/null", link) == 0 && mkfifo(pipe, 0o600) == 0)
        let listener = try UnixSocket.listen(at: folder.path("socket"))
        #expect(refusal(of: "/dev/null") == nil)
        #expect(refusal(of: "/dev/null", for: getuid() + 1) == nil)
        #expect(refusal(of: file) == error(file, ENODEV))
        #expect(refusal(of: pipe) == error(pipe, ENODEV))
        #expect(refusal(of: link) == error(link, ELOOP))
        #expect(refusal(of: folder.path) == error(folder.path, EISDIR))
        #expect(refusal(of: folder.path("socket")) == error(folder.path("socket"), ENXIO))
        #expect(refusal(of: folder.path("none")) == error(folder.path("none"), ENOENT))
        withExtendedLifetime(listener) {}
    }

    @Test(.enabled(if: geteuid() == 0, "only root makes devices"))
    func `a device without access for the user is closed again`() throws {
        let folder = try TestFolder()
        let path = folder.path("device")
        try #require(mknod(path, S_IFCHR | 0o600, 1 << 8 | 3) == 0)
        #expect(refusal(of: path) == nil)
        #expect(refusal(of: path, for: getuid() + 1) == error(path, EPERM))
    }

    @Test func `the kernel's record is found by the number of the open device`() throws {
        let folder = try TestFolder()
        let device = try NamedKeyDevice.open("/dev/null", for: getuid())
        var missing: SystemCallError?
        do throws(SystemCallError) { _ = try NamedKeyDevice.reportDescriptor(of: device, in: folder.path) } catch {
            missing = error
        }
        #expect(missing == error(folder.path("1:3/device/report_descriptor"), ENODEV))
        try FileManager.default.createDirectory(
            atPath: folder.path("1:3/device"), withIntermediateDirectories: true)
        for (bytes, isKey) in [(HIDDevice.reportDescriptor, true), ([], false), ([0x05, 0x01, 0x09, 0x06], false)] {
            try Data(bytes).write(to: URL(fileURLWithPath: folder.path("1:3/device/report_descriptor")))
            let record = try NamedKeyDevice.reportDescriptor(of: device, in: folder.path)
            let isFound = NamedKeyDevice.isSecurityKey(record.number)
            #expect(isFound == isKey)
        }
        // An empty record is none of a key.
        let isKey = NamedKeyDevice.isSecurityKey(device.number)
        #expect(!isKey)
    }
}
