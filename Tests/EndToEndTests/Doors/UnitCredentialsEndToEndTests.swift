import DaemonTestSupport
import Foundation
import Glibc
import SocketTestSupport
import Testing
import UnitCredentials
import UnixSocket

/// `ostiary-credentials` as a registered door of a real daemon. The test takes the service manager's place.
@Suite("Credentials of units, end to end", .serialized)
final class UnitCredentialsEndToEndTests {
    private static let ostiary = BuiltProgram.named("ostiary")
    private static let door = BuiltProgram.named("ostiary-credentials")
    private static let group = "ostiary.doors"

    private let daemon: PrivateDaemon
    private let process = Process()
    /// The unit that this test runs in; where systemd is in charge of it, it can ask for no other one.
    private let unit: String

    init() throws {
        daemon = try PrivateDaemon()
        unit = try CredentialServer.unit(of: getpid()) ?? "backup.service"
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

    private func add(_ service: String, _ value: String) throws {
        let run = try BoundedRun(
            Self.ostiary, ["item", "add", "--service", service, "--group", Self.group, "--unguarded"],
            input: Data(value.utf8),
            in: daemon)
        try #require(run.waitForStatus() == 0, "\(run.errors)")
    }

    private func rules(_ text: String) throws {
        try Data(text.utf8).write(to: URL(fileURLWithPath: daemon.path("rules")))
    }

    private func start() throws {
        process.executableURL = Self.door
        process.arguments = ["--rules", daemon.path("rules")]
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
        let random = UUID().uuidString.replacingOccurrences(of: "-", with: "")
        return try UnixSocket.connect(to: socket, boundTo: Array("\(random)/unit/\(unit)/\(credential)".utf8))
            .receiveAll()
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

    @Test(
        .enabled(
            if: (try? CredentialServer.unit(of: getpid())) != nil, "no service manager is in charge of this process"))
    func `a process of one unit gets nothing in the name of another`() throws {
        #expect(try isRefusal(answer(to: "other.service", "key")))
        try waitForNote("\(unit) asked in the name of other.service")
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

    @Test func `the rules can be checked without serving anybody`() throws {
        let good = try BoundedRun(Self.door, ["--check", "--rules", daemon.path("rules")], in: daemon)
        #expect(try good.waitForStatus() == 0 && good.errors.contains("has 3 rules"))
        try rules("wrong\n")
        let bad = try BoundedRun(Self.door, ["--check", "--json", "--rules", daemon.path("rules")], in: daemon)
        #expect(try bad.waitForStatus() == 1)
        #expect(bad.errors.contains(#""name":"rulesUnusable""#))
    }
}
