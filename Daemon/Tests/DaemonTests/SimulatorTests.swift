import Foundation
import Glibc
import OstiaryMessages
import SimulatorMessages
import StoreTestSupport
import TerminalTestSupport
import Testing
import UnixSocket

/// The simulator beside the programs that are shipped: its door is in no other program, and leads to no existing store.
@Suite(.timeLimit(.minutes(10))) struct SimulatorTests {
    /// A simulator and the test's end of its channel.
    private final class RunningSimulator {
        let channel: SimulatorChannel
        let process: SpawnedProcess
        let folder: String

        init(environment: [String] = []) throws {
            let ends = try SocketPair()
            process = try SpawnedProcess(
                Build.program("ostiary-simulator"), environment: ["TMPDIR=/tmp"] + environment,
                descriptors: [ends.other.number, -1, STDERR_FILENO])
            channel = SimulatorChannel(ends.takeOwn())
            guard case .ready(let folder, SimulatorAnswer.version) = try channel.receive(SimulatorAnswer.self) else {
                throw Unanswered()
            }
            self.folder = folder
        }

        /// In order, so that it removes its folder.
        deinit {
            channel.close()
            _ = process.wait()
        }

        func connect() throws -> RawClient {
            try RawClient(UnixSocket.connect(to: SimulatorFolders.runtime(in: folder) + "/ostiaryd.socket"))
        }
    }

    /// The simulator did not answer, or not what it must.
    private struct Unanswered: Error {}

    /// Both ends of a connection; the other one is open until this value goes.
    private final class SocketPair {
        private let own: UnixSocket
        let other: SharedDescriptor

        init() throws {
            var ends: [CInt] = [-1, -1]
            guard socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) == 0 else {
                throw SystemCallError("socketpair")
            }
            own = UnixSocket(owning: Descriptor(owning: ends[0]))
            other = SharedDescriptor(Descriptor(owning: ends[1]))
        }

        func takeOwn() -> UnixSocket { own }
    }

    // MARK: the shipped programs

    /// How the compiler writes the names of the simulator's modules in symbols.
    private static let marks = ["10Simulation", "17SimulatorMessages"]

    private func contains(_ mark: String, _ program: String) throws -> Bool {
        let bytes = try Data(contentsOf: URL(fileURLWithPath: Build.program(program)), options: .alwaysMapped)
        return bytes.range(of: Data(mark.utf8)) != nil
    }

    @Test(arguments: ["ostiaryd", "ostiary-prompt", "ostiary-sheet", "ostiary-templates", "ostiary-pam"])
    func `no shipped program holds a part of the simulator`(program: String) throws {
        for mark in Self.marks {
            #expect(try contains(mark, "ostiary-simulator"), "the mark shows nothing where it must be")
            #expect(try !contains(mark, program), "\(mark) is in \(program)")
        }
    }

    @Test func `the daemon refuses the simulator's requests at its socket`() throws {
        let daemon = try DaemonProcess(in: DaemonFolders())
        for request in [SimulatorRequest.report, .enroll(.rightIndex), .advance(.seconds(1)), .restart] {
            let socket = try UnixSocket.connect(to: daemon.folders.socket)
            let client = try RawClient(socket)
            try client.greet()
            try SimulatorChannel(socket).send(request)
            #expect(try client.isEndedByDaemon)
        }
        #expect(try daemon.client().status().mode == .userForTests)
    }

    @Test func `the daemon reads nothing from its standard input`() throws {
        let folders = try DaemonFolders()
        let ends = try SocketPair()
        let process = try SpawnedProcess(
            Build.program("ostiaryd"), folders.options, descriptors: [ends.other.number, -1, -1])
        defer { process.end() }
        let channel = ends.takeOwn()
        try SimulatorChannel(channel).send(SimulatorRequest.report)
        try eventually("the daemon listens") { (try? UnixSocket.connect(to: folders.socket)) != nil }
        let client = try RawClient(UnixSocket.connect(to: folders.socket))
        try client.greet()
        #expect(try client.status().mode == .userForTests)
        var polled = pollfd(fd: channel.number, events: Int16(POLLIN), revents: 0)
        #expect(poll(&polled, 1, 0) == 0)
        // What was sent lies there still.
        var count: CInt = 0
        #expect(ioctl(ends.other.number, UInt(FIONREAD), &count) == 0 && count > 0)
    }

    // MARK: the simulator's store

    @Test func `the simulator takes no folder, so no existing store is in its reach`() throws {
        let folders = try DaemonFolders()
        _ = try DaemonProcess(in: folders)
        let before = try folders.snapshot()
        for arguments in [folders.options, ["--state-directory", folders.state], [folders.state], ["--help"]] {
            let ends = try SocketPair()
            let process = try SpawnedProcess(
                Build.program("ostiary-simulator"), arguments, descriptors: [ends.other.number, -1, -1])
            #expect(process.wait() == .exited(2))
        }
        #expect(try folders.snapshot() == before)
    }

    @Test func `the simulator's environment names no folder of a store`() throws {
        let folders = try DaemonFolders()
        let root = folders.root.path
        let simulator = try RunningSimulator(environment: [
            "XDG_STATE_HOME=\(root)/state", "XDG_RUNTIME_DIR=\(root)/run", "HOME=\(root)",
        ])
        #expect(simulator.folder.hasPrefix("/tmp/ostiary-sim-"))
        #expect(try FileManager.default.contentsOfDirectory(atPath: root + "/state").isEmpty)
        #expect(try FileManager.default.contentsOfDirectory(atPath: root + "/run").isEmpty)
    }

    @Test func `without a socket of a test it does nothing`() throws {
        #expect(try SpawnedProcess(Build.program("ostiary-simulator")).wait() == .exited(2))
        let folder = try TestFolder()
        let file = open(folder.path("file"), O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        defer { close(file) }
        let process = try SpawnedProcess(Build.program("ostiary-simulator"), descriptors: [file, -1, -1])
        #expect(process.wait() == .exited(2))
    }

    // MARK: its doors

    @Test func `the folder is closed, and one socket is in it, which speaks the daemon's protocol alone`() throws {
        let simulator = try RunningSimulator()
        #expect(DaemonFolders.mode(of: simulator.folder) == 0o700)
        let names = try FileManager.default.subpathsOfDirectory(atPath: simulator.folder)
        let sockets = names.filter {
            DaemonFolders.status(of: simulator.folder + "/" + $0).st_mode & S_IFMT == S_IFSOCK
        }
        #expect(sockets == ["run/ostiaryd.socket"])
        #expect(DaemonFolders.mode(of: simulator.folder + "/run/ostiaryd.socket") == 0o600)
        let socket = try UnixSocket.connect(to: simulator.folder + "/run/ostiaryd.socket")
        let client = try RawClient(socket)
        try client.greet()
        try SimulatorChannel(socket).send(SimulatorRequest.enroll(.rightIndex))
        #expect(try client.isEndedByDaemon)
        try simulator.channel.send(SimulatorRequest.report)
        guard case .report = try simulator.channel.receive(SimulatorAnswer.self) else {
            throw Unanswered()
        }
    }

    @Test(.enabled(if: Account.isRoot, Account.needsRoot))
    func `another user is refused, whatever the modes of socket and folders`() throws {
        let simulator = try RunningSimulator()
        let runtime = SimulatorFolders.runtime(in: simulator.folder)
        let socket = runtime + "/ostiaryd.socket"
        for path in [simulator.folder, runtime] { #expect(chmod(path, 0o755) == 0) }
        #expect(chmod(socket, 0o666) == 0)
        try simulator.connect().greet()
        let script =
            "import socket,sys; s=socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); "
            + "sys.exit(7 if s.recv(1) == b'' else 8)"
        let command = Account.asNobody + ["/usr/bin/python3", "-c", script, socket]
        let stranger = try SpawnedProcess(command[0], Array(command.dropFirst()))
        #expect(stranger.wait() == .exited(7), "not even a greeting")
    }

    @Test(.enabled(if: Account.isRoot, Account.needsRoot), arguments: [(0, 0), (65534, 2)] as [(Int, CInt)])
    func `the orders of a pair of sockets that another user made are refused`(user: Int, status: CInt) throws {
        let script =
            "import os, socket, subprocess, sys; os.seteuid(int(sys.argv[2])); a, b = socket.socketpair(); os.seteuid(0); "
            + "p = subprocess.Popen([sys.argv[1]], stdin=b); b.close(); a.recv(4096); a.close(); sys.exit(p.wait())"
        let process = try SpawnedProcess(
            "/usr/bin/python3", ["-c", script, Build.program("ostiary-simulator"), "\(user)"],
            environment: ["TMPDIR=/tmp"])
        #expect(process.wait() == .exited(status))
    }

    // MARK: its end

    @Test func `it ends with the test, and leaves nothing`() throws {
        let simulator = try RunningSimulator()
        for number in [SIGTERM, SIGHUP, SIGINT] { simulator.process.signal(number) }
        #expect(FileManager.default.fileExists(atPath: simulator.folder))
        try simulator.connect().greet()
        simulator.channel.close()
        #expect(simulator.process.wait() == .exited(0))
        #expect(!FileManager.default.fileExists(atPath: simulator.folder))
    }

    @Test(arguments: [[0xFF, 0xFF, 0xFF, 0xFF], [0, 0, 0, 2, 0x7B, 0x5D], [0, 0, 0, 9, 0x7B]] as [[UInt8]])
    func `what is no request ends it, and leaves nothing`(bytes: [UInt8]) throws {
        let ends = try SocketPair()
        let process = try SpawnedProcess(
            Build.program("ostiary-simulator"), environment: ["TMPDIR=/tmp"],
            descriptors: [ends.other.number, -1, -1])
        let socket = ends.takeOwn()
        let channel = SimulatorChannel(socket)
        guard case .ready(let folder, _) = try channel.receive(SimulatorAnswer.self) else {
            throw Unanswered()
        }
        try bytes.withUnsafeBytes { try socket.send($0) }
        _ = shutdown(socket.number, CInt(SHUT_WR))
        #expect(process.wait() == .exited(1))
        #expect(!FileManager.default.fileExists(atPath: folder))
    }
}
