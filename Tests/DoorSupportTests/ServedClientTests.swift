import CLinuxShims
import Cancellations
import CommandFailures
import DoorSupport
import Foundation
import Glibc
import OstiaryClient
import SecretMemory
import SocketTestSupport
import Testing
import UnixSocket

/// A client of a door, from its connection to its end. No daemon is asked here.
@Suite("A door's client", .timeLimit(.minutes(5)))
struct ServedClientTests {
    private static let nowhere = OstiaryClient(
        location: DaemonLocation(runtimeDirectory: "/nonexistent/run", stateDirectory: "/nonexistent/state"))

    private static func pair() throws -> (accepted: UnixSocket, client: UnixSocket) {
        var ends: [CInt] = [-1, -1]
        guard socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0, &ends) == 0 else {
            throw SystemCallError("socketpair")
        }
        return (UnixSocket(owning: Descriptor(owning: ends[0])), UnixSocket(owning: Descriptor(owning: ends[1])))
    }

    private static func send(_ text: String, on socket: UnixSocket) throws {
        try Array(text.utf8).withUnsafeBytes { try socket.send($0) }
    }

    private static func text(_ secret: consuming SecretBytes?) -> String? {
        guard let secret else { return nil }
        return secret.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
    }

    @Test func `bytes come whole, and nothing after the client's end`() throws {
        let (accepted, socket) = try Self.pair()
        let client = try ServedClient(accepted: accepted, ostiary: Self.nowhere)
        #expect(client.processID == getpid())
        try Self.send("abc", on: socket)
        try Self.send("de", on: socket)
        #expect(Self.text(try client.read(5)) == "abcde")
        let bytes = SecretBytes(zeroed: 3)
        try client.write(bytes)
        var answer = [UInt8](repeating: 1, count: 3)
        #expect(try answer.withUnsafeMutableBytes { try socket.receive(into: $0, expecting: []).count } == 3)
        #expect(answer == [0, 0, 0])
        socket.shutdown()
        #expect(Self.text(try client.read(1)) == nil)
    }

    @Test func `a message that is cut off is no message`() throws {
        let (accepted, socket) = try Self.pair()
        let client = try ServedClient(accepted: accepted, ostiary: Self.nowhere)
        try Self.send("ab", on: socket)
        socket.shutdown()
        let error = #expect(throws: DoorFailure.self) { _ = try client.read(3) }
        #expect(error?.code == -153 && error?.failureClass.name == "clientGone")
    }

    @Test func `bytes of another process than the one that connected end the connection`() throws {
        let (accepted, socket) = try Self.pair()
        let client = try ServedClient(accepted: accepted, ostiary: Self.nowhere)
        // A child has the client's end as its output.
        let child = Process()
        child.executableURL = URL(fileURLWithPath: "/bin/sh")
        child.arguments = ["-c", "printf abc"]
        child.standardOutput = FileHandle(fileDescriptor: socket.number, closeOnDealloc: false)
        try child.run()
        child.waitUntilExit()
        let error = #expect(throws: DoorFailure.self) { _ = try client.read(3) }
        #expect(error?.code == -154 && error?.failureClass.name == "foreignSender")
    }

    @Test func `descriptors that a client sends are not taken`() throws {
        let (accepted, socket) = try Self.pair()
        let client = try ServedClient(accepted: accepted, ostiary: Self.nowhere)
        var ends: [CInt] = [-1, -1]
        try #require(pipe(&ends) == 0)
        defer { close(ends[0]) }
        try socket.sendRaw(descriptors: [ends[1], ends[1]], with: UInt8(ascii: "a"))
        #expect(Self.text(try client.read(1)) == "a")
        close(ends[1])
        // The pipe's end is seen once nobody has its writing side.
        var reader = pollfd(fd: ends[0], events: Int16(POLLIN), revents: 0)
        #expect(poll(&reader, 1, 60_000) == 1 && reader.revents & Int16(POLLHUP) != 0)
    }

    /// The daemon is not there, so `begin` fails; by then the client is watched.
    @Test func `a client that closes its connection is cancelled, and one that closes half of it is not`() throws {
        let (accepted, socket) = try Self.pair()
        let client = try ServedClient(accepted: accepted, ostiary: Self.nowhere)
        let isCancelled = DispatchSemaphore(value: 0)
        client.cancellation.whenCancelled { isCancelled.signal() }
        #expect(throws: DoorFailure.self) { try client.begin() }
        #expect(shutdown(socket.number, CInt(SHUT_WR)) == 0)
        #expect(isCancelled.wait(timeout: .now() + 0.3) == .timedOut)
        #expect(!client.cancellation.isCancelled)
        socket.shutdown()
        #expect(isCancelled.wait(timeout: .now() + 60) == .success)
    }

    @Test func `a client that leaves is cancelled and its connection closed, and no thread stays`() throws {
        let (accepted, socket) = try Self.pair()
        do {
            let client = try ServedClient(accepted: accepted, ostiary: Self.nowhere)
            #expect(throws: DoorFailure.self) { try client.begin() }
        }
        var byte: [UInt8] = [0]
        #expect(try byte.withUnsafeMutableBytes { try socket.receive(into: $0, expecting: []).count } == 0)
    }

    @Test func `a daemon that does not run is said so, by its own number`() throws {
        let (accepted, socket) = try Self.pair()
        let client = try ServedClient(accepted: accepted, ostiary: Self.nowhere)
        let error = #expect(throws: DoorFailure.self) { try client.begin() }
        #expect(error?.code == -1 && error?.failureClass.name == "daemonUnavailable" && error?.exitStatus == .failed)
        withExtendedLifetime(socket) {}
    }

    @Test(.enabled(if: geteuid() == 0, "only root can be another user"))
    func `a process of another user is no client`() throws {
        let path = FileManager.default.temporaryDirectory.path + "/ostiary-\(UUID().uuidString.prefix(8)).sock"
        let listener = try UnixSocket.listen(at: path)
        #expect(chmod(path, 0o777) == 0)
        defer { unlink(path) }
        let child = Process()
        child.executableURL = URL(fileURLWithPath: "/usr/bin/setpriv")
        child.arguments = [
            "--reuid=65534", "--clear-groups", "/usr/bin/python3", "-c",
            "import socket, sys; s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); s.recv(1)", path,
        ]
        try child.run()
        let accepted = try listener.accept()
        let error = #expect(throws: DoorFailure.self) {
            try ServedClient(accepted: accepted, ostiary: Self.nowhere)
        }
        #expect(error?.code == -155 && error?.failureClass.name == "foreignUser" && error?.exitStatus == .refused)
        accepted.shutdown()
        child.waitUntilExit()
    }
}
