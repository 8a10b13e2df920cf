import CLinuxShims
import Foundation
import Glibc
import TerminalTestSupport
import Testing
import UnixSocket

/// Another program that speaks to the daemon (`test-caller`), and the test's hand in it: requests go through that
/// process, so that the daemon sees its program, its user and its terminal; answers are read from its connection
/// directly.
final class Caller {
    let client: RawClient
    /// The process that the daemon knows as the caller.
    let processID: pid_t
    /// The caller's connection itself. What is written here comes from the test, not from the caller.
    let connection: UnixSocket

    static let program = Build.program("test-caller")

    /// Where a caller runs in its terminal.
    enum Place { case foreground, background }

    /// Starts a caller on a terminal. It connects to the daemon, or to another socket. It executes the command `next` when
    /// ``executeNext(_:)`` is called.
    convenience init(
        at folders: DaemonFolders, on terminal: PseudoTerminal, _ place: Place = .foreground,
        program: String = Caller.program, connectingTo socket: String? = nil, next: [String] = []
    ) throws {
        let command = ([program, socket ?? folders.socket] + next).map { "'\($0)'" }.joined(separator: " ")
        let script =
            switch place {
            case .foreground: "echo ready; exec \(command)"
            case .background: "set -m; echo ready; \(command) & wait"
            }
        try self.init { channel in try CallerProcess(on: terminal, script: script, descriptors: [channel]) }
    }

    /// Starts a caller without a terminal. `wrapper` is a program with arguments that executes what follows them;
    /// `arguments` come before the socket; `next` is what the caller executes when ``executeNext(_:)`` is called.
    convenience init(
        at folders: DaemonFolders, program: String = Caller.program, under wrapper: [String] = [],
        arguments: [String] = [], next: [String] = []
    ) throws {
        try self.init(
            atSocket: folders.socket, program: program, under: wrapper, arguments: arguments, next: next)
    }

    /// As the other form, at the socket of any server.
    convenience init(
        atSocket socket: String, program: String, under wrapper: [String] = [], arguments: [String] = [],
        next: [String] = []
    ) throws {
        let command = wrapper + [program] + arguments + [socket] + next
        try self.init { channel in
            try SpawnedProcess(command[0], Array(command.dropFirst()), descriptors: [-1, -1, -1, channel])
        }
    }

    /// Two callers that a shell started in one terminal, and so in one session.
    static func pair(
        on terminal: PseudoTerminal, program: String, connectingTo socket: String
    ) throws -> (Caller, Caller) {
        let command = "'\(program)' '\(socket)'"
        let script = "echo ready; \(command) 4<&- & \(command) 3<&4 4<&- & exec 3<&- 4<&-; wait"
        let (first, second) = try (channel(), channel())
        let shell = try withExtendedLifetime((first.end, second.end)) {
            try CallerProcess(on: terminal, script: script, descriptors: [first.end.number, second.end.number])
        }
        return try (Caller(first.channel, of: shell), Caller(second.channel, of: shell))
    }

    private static func channel() throws -> (channel: UnixSocket, end: SharedDescriptor) {
        var ends: [CInt] = [-1, -1]
        let type = CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
        guard socketpair(AF_UNIX, type, 0, &ends) == 0 else { throw SystemCallError("socketpair") }
        return (UnixSocket(owning: Descriptor(owning: ends[0])), SharedDescriptor(Descriptor(owning: ends[1])))
    }

    private convenience init(_ start: (_ channel: CInt) throws -> AnyObject) throws {
        let (channel, process) = try Self.started(start)
        try self.init(channel, of: process)
    }

    /// The process alone holds its end afterwards.
    private static func started(
        _ start: (_ channel: CInt) throws -> AnyObject
    ) throws -> (UnixSocket, AnyObject) {
        let (channel, end) = try Self.channel()
        return (channel, try withExtendedLifetime(end) { try start(end.number) })
    }

    /// - Parameters:
    ///   - channel: the test's end.
    ///   - process: lives as long as the caller is needed.
    private init(_ channel: UnixSocket, of process: AnyObject) throws {
        try channel.setReceiveTimeout(seconds: 30)
        var processID: pid_t = 0
        let received = try withUnsafeMutableBytes(of: &processID) { bytes in
            let received = try channel.receive(into: bytes, expecting: .descriptor)
            return (count: received.count, descriptor: received.descriptor)
        }
        guard received.count == MemoryLayout<pid_t>.size, received.descriptor >= 0 else { throw NoConnection() }
        self.processID = processID
        connection = UnixSocket(owning: Descriptor(owning: received.descriptor))
        client = try RawClient(connection, sendingOn: channel, to: process)
    }

    /// The caller could not connect.
    struct NoConnection: Error {}

    /// Greets, as every caller that behaves does first.
    func greeted() throws -> Caller {
        try client.greet()
        return self
    }

    /// The file that the caller executes.
    var executable: String? {
        try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(processID)/exe")
    }

    /// Makes the caller execute its next program, connection and all; returns when that runs.
    func executeNext(_ program: String) throws {
        client.closeSending()
        try eventually("the caller executes \(program)") { executable == program }
    }

    /// Kills the caller; the test keeps its connection open.
    func kill() { _ = Glibc.kill(processID, SIGKILL) }
}
