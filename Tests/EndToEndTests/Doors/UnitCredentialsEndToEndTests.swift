import DaemonTestSupport
import Foundation
import Glibc
import SocketTestSupport
import Testing
import UnitCredentials
import UnixSocket

/// `ostiary-credentials` as a registered door of a real daemon. A program of the test, in a unit, takes the service manager's place.
@Suite(
    "Credentials of units, end to end", .serialized,
    .enabled(
        if: PlayedManager.isPossible,
        "no service manager is in charge of this process, and only root can make control groups"))
final class UnitCredentialsEndToEndTests {
    private static let ostiary = BuiltProgram.named("ostiary")
    private static let door = BuiltProgram.named("ostiary-credentials")
    private static let group = "ostiary.doors"

    private let daemon: PrivateDaemon
    private let process = Process()
    private let manager: PlayedManager
    private var unit: String { manager.unit }

    init() throws {
        daemon = try PrivateDaemon()
        manager = try PlayedManager(in: daemon)
        try register(Self.door, "org.ostiary.credentials", ["--door"])
        try register(Self.ostiary, "org.ostiary.command")
        try add("backup", "secret of a unit")
        try rules("\(unit) key = backup\n\(unit) absent = nothing\nother.service key = backup\n")
        try start()
    }

    deinit { if process.isRunning { kill(process.processIdentifier, SIGKILL) } }

    private func register(_ program: URL, _ id: String, _ options: [String] = []) throws {
        let run = try PlayedTerminal(
            Self.ostiary, ["app", "register", program.path, "--id", id, "--group", Self.group] + options,
            answers: ["yes"],
            in: daemon)
        try #require(run.status == 0, "\(run.screen)")
    }

    private func add(_ service: String, _ value: String, _ rule: [String] = ["--unguarded"]) throws {
        let run = try BoundedRun(
            Self.ostiary, ["item", "add", "--service", service, "--group", Self.group] + rule,
            input: Data(value.utf8),
            in: daemon)
        try #require(run.waitForStatus() == 0, "\(run.errors)")
    }

    private func rules(_ text: String) throws {
        try Data(text.utf8).write(to: URL(fileURLWithPath: daemon.path("rules")))
    }

    private func start() throws {
        process.executableURL = Self.door
        process.arguments = ["--rules", daemon.path("rules"), "--manager", PlayedManager.program]
        process.environment = daemon.environment
        process.standardInput = FileHandle.nullDevice
        let log = daemon.folder.appendingPathComponent("door.log")
        try Data().write(to: log)
        process.standardError = try FileHandle(forWritingTo: log)
        try process.run()
        try BoundedRun.wait("the door does not listen: \(self.log)") {
            (try? UnixSocket.connect(to: self.socket)) != nil
        }
    }

    private var socket: String { daemon.runtimeDirectory + "/credentials.sock" }
    private var log: String { (try? String(contentsOfFile: daemon.path("door.log"), encoding: .utf8)) ?? "" }

    private func answer(to unit: String, _ credential: String) throws -> [UInt8] {
        try manager.answer(from: socket, to: name(unit, credential))
    }

    /// What this process gets, which runs another program than the manager's.
    private func answerToOther(_ unit: String, _ credential: String) throws -> [UInt8] {
        try UnixSocket.connect(to: socket, boundTo: Array(name(unit, credential).utf8)).receiveAll()
    }

    private func name(_ unit: String, _ credential: String) -> String {
        "\(UUID().uuidString.replacingOccurrences(of: "-", with: ""))/unit/\(unit)/\(credential)"
    }

    private func isRefusal(_ answer: [UInt8]) -> Bool { answer.count > 1 << 20 && answer.allSatisfy { $0 == 0 } }

    /// The note comes behind the answer.
    private func waitForNote(_ text: String) throws {
        try BoundedRun.wait("no “\(text)” in \(self.log)") { self.log.contains(text) }
    }

    @Test func `a unit gets what its rule names, and the log says so`() throws {
        #expect(try answer(to: unit, "key") == Array("secret of a unit".utf8))
        try waitForNote("\(unit) got key.")
        #expect(try answer(to: unit, "key") == Array("secret of a unit".utf8), "each start gets it again")
        let run = try BoundedRun(Self.ostiary, ["log", "--last", "20"], in: daemon)
        #expect(try run.waitForStatus() == 0)
        #expect(
            run.output.contains("through ostiary-credentials") || run.output.contains("ostiary-credentials"),
            "\(run.output)")
        #expect(!log.contains("secret of a unit") && !run.output.contains("secret of a unit"))
    }

    @Test func `no rule, no item, no name: refused, and noted`() throws {
        #expect(try isRefusal(answer(to: unit, "other")))
        try waitForNote("no rule gives it that")
        #expect(try isRefusal(answer(to: unit, "absent")))
        try waitForNote("names no item")
        #expect(try isRefusal(UnixSocket.connect(to: socket).receiveAll()))
        try waitForNote("does not say for which unit")
    }

    @Test func `a process of one unit gets nothing in the name of another`() throws {
        #expect(try isRefusal(answer(to: "other.service", "key")))
        try waitForNote("\(unit) asked in the name of other.service")
    }

    @Test func `a program that is no service manager gets nothing`() throws {
        #expect(try isRefusal(answerToOther(unit, "key")))
        try waitForNote("Process \(getpid()) asked for a credential and is not systemd")
    }

    @Test(.enabled(if: PlayedManager.ownUnit == nil, "this process runs in a unit, and so does what it starts"))
    func `a process that runs in no unit gets nothing`() throws {
        #expect(try isRefusal(manager.answer(from: socket, to: name(unit, "key"), isInUnit: false)))
        try waitForNote("A process of no unit asked in the name of \(unit)")
    }

    @Test func `a rule that changes counts from the next connection on`() throws {
        #expect(try !isRefusal(answer(to: unit, "key")))
        try rules("\(unit) second = backup\n")
        #expect(try isRefusal(answer(to: unit, "key")))
        #expect(try answer(to: unit, "second") == Array("secret of a unit".utf8))
        try rules("\(unit) second = backup\nwrong\n")
        #expect(try isRefusal(answer(to: unit, "second")))
        try waitForNote("line 2")
    }

    @Test func `a door that is not registered gets nothing for anybody`() throws {
        let removed = try PlayedTerminal(
            Self.ostiary, ["app", "remove", "org.ostiary.credentials"], answers: ["yes"], in: daemon)
        try #require(removed.status == 0, "\(removed.screen)")
        #expect(try isRefusal(answer(to: unit, "key")))
    }

    @Test func `a door that a signal ends while a question stands refuses, and ends well`() throws {
        try daemon.setPasscode()
        try add("guarded", "secret behind a question", ["--require", "passcode"])
        try rules("\(unit) key = guarded\n")
        let door = process.processIdentifier
        let answer = try manager.answer(from: socket, to: name(unit, "key"), in: daemon) { kill(door, SIGTERM) }
        #expect(isRefusal(answer), "\(log)")
        process.waitUntilExit()
        #expect(process.terminationReason == .exit && process.terminationStatus == 0)
        try waitForNote("\(unit) did not get key, because this program ends.")
    }

    @Test func `the rules can be checked without serving anybody`() throws {
        let good = try BoundedRun(Self.door, ["--check", "--rules", daemon.path("rules")], in: daemon)
        #expect(try good.waitForStatus() == 0 && good.errors.contains("has 3 rules"))
        try rules("wrong\n")
        let bad = try BoundedRun(Self.door, ["--check", "--json", "--rules", daemon.path("rules")], in: daemon)
        #expect(try bad.waitForStatus() == 1)
        #expect(bad.errors.contains(#""name":"rulesUnusable""#))
    }
}

/// A program that asks as a service manager does: from a process of its own, which lies in a unit's control group.
private final class PlayedManager {
    /// Debian's Python, without links.
    static let program = URL(fileURLWithPath: "/usr/bin/python3").resolvingSymlinksInPath().path
    /// The unit of this process, which each process that it starts is in.
    static let ownUnit: String? = try? CredentialServer.unit(of: getpid())
    static var isPossible: Bool { ownUnit != nil || groups != nil }

    /// The folder of control groups that says which unit a process is in, if this process may make groups there.
    private static let groups: String? = ["/sys/fs/cgroup/systemd", "/sys/fs/cgroup/unified", "/sys/fs/cgroup"].first {
        access($0 + "/cgroup.procs", W_OK) == 0
    }

    private static let script = """
        import socket, sys
        connection = socket.socket(socket.AF_UNIX)
        connection.bind(b"\\0" + sys.argv[2].encode())
        connection.connect(sys.argv[1])
        while part := connection.recv(1 << 16):
            sys.stdout.buffer.write(part)
        """

    let unit: String
    private let group: String?
    private let output: URL

    init(in daemon: PrivateDaemon) throws {
        output = daemon.folder.appendingPathComponent("credential")
        if let own = Self.ownUnit {
            (unit, group) = (own, nil)
        } else {
            let groups = try #require(Self.groups)
            let name = "ostiary-test-\(UUID().uuidString.prefix(8)).service"
            try #require(mkdir("\(groups)/\(name)", 0o755) == 0)
            (unit, group) = (name, "\(groups)/\(name)")
        }
    }

    deinit { if let group { rmdir(group) } }

    /// What a service manager gets from the socket, if its own socket has this name.
    ///
    /// - Parameter isInUnit: whether it moves into the unit's group. Without effect where this process is in a unit.
    func answer(from socket: String, to name: String, isInUnit: Bool = true) throws -> [UInt8] {
        try Data().write(to: output)
        let process = Process()
        process.executableURL = Self.shell
        process.arguments = arguments(socket, name, isInUnit: isInUnit)
        process.standardInput = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        return try Array(Data(contentsOf: output))
    }

    /// The same on a terminal, where a question can appear.
    ///
    /// - Parameter act: done while the question stands. Nobody answers it.
    func answer(
        from socket: String, to name: String, in daemon: PrivateDaemon, whileAsked act: @escaping () -> Void
    ) throws -> [UInt8] {
        try Data().write(to: output)
        let run = try PlayedTerminal(
            Self.shell, arguments(socket, name, isInUnit: true), in: daemon, timeout: 300,
            atFirstPrompt: { _ in act() })
        #expect(run.status == 0, "\(run.screen)")
        return try Array(Data(contentsOf: output))
    }

    private static let shell = URL(fileURLWithPath: "/bin/sh")

    /// The shell moves itself, and becomes the program.
    private func arguments(_ socket: String, _ name: String, isInUnit: Bool) -> [String] {
        [
            "-c", #"[ -z "$1" ] || echo $$ > "$1/cgroup.procs"; output=$2; shift 2; exec "$@" > "$output""#, "sh",
            isInUnit ? group ?? "" : "", output.path, Self.program, "-I", "-c", Self.script, socket, name,
        ]
    }
}
