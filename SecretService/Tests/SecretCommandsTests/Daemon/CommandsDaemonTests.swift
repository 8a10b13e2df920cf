import DaemonTestSupport
import Foundation
import Glibc
import SecretProgramSupport
import Testing

/// `ostiary secrets` in front of a real daemon, with `ostiary-secrets` as a registered door.
@Suite("ostiary secrets, end to end", .serialized, .timeLimit(.minutes(20))) struct CommandsDaemonTests {
    private let daemon: PrivateDaemon
    private let command: ProgramCopy
    private let door: ProgramCopy

    init() throws {
        daemon = try PrivateDaemon(.withPasscode)
        // The command finds the door beside itself.
        command = try ProgramCopy(of: "ostiary", as: "ostiary", in: daemon)
        door = try ProgramCopy(of: "ostiary-secrets", as: "ostiary-secrets", in: daemon)
        let run = try PlayedTerminal(
            command.url,
            ["app", "register", door.url.path, "--id", "org.ostiary.secrets", "--group", "ostiary.doors", "--door"],
            answers: [PrivateDaemon.passcode], in: daemon)
        guard run.status == 0 else { throw TestSupportError("ostiary app register: \(run.screen)") }
        try daemon.unlock()
    }

    private func play(_ arguments: String..., answers: [String] = []) throws -> PlayedTerminal {
        try PlayedTerminal(command.url, ["secrets"] + arguments, answers: answers, in: daemon)
    }

    /// Runs it where nobody can be asked.
    private func run(
        _ arguments: [String], _ environment: [String: String] = [:]
    ) throws -> (status: Int32, output: String, errors: String) {
        let run = try BoundedRun(command.url, ["secrets"] + arguments, environment: environment, in: daemon)
        return (try run.waitForStatus(), run.output, run.errors)
    }

    private struct Listed: Decodable {
        struct Item: Decodable {
            let label: String
            let collection: String
            let attributes: [String: String]
            let requires: String?
            let only: [String]
        }

        let items: [Item]
        let lockedCount: Int
    }

    private func list() throws -> Listed {
        let run = try run(["list", "--json"])
        guard run.status == 0 else { throw TestSupportError("list: \(run.errors)") }
        return try JSONDecoder().decode(Listed.self, from: Data(run.output.utf8))
    }

    // MARK: import, list and rule

    @Test(.enabled(if: PrivateGnomeKeyring.isInstalled, "gnome-keyring is not installed"))
    func `a killed import is gone on with, and a rule asks for itself before it goes`() throws {
        let gnome = try PrivateGnomeKeyring()
        try gnome.fill(200)
        let killed = Process()
        killed.executableURL = door.url
        killed.arguments = ["import"]
        killed.environment = daemon.environment.merging(["DBUS_SESSION_BUS_ADDRESS": gnome.address]) { $1 }
        killed.standardInput = FileHandle.nullDevice
        killed.standardError = FileHandle.nullDevice
        try killed.run()
        try eventually("an item is there") { try !list().items.isEmpty }
        kill(killed.processIdentifier, SIGKILL)
        killed.waitUntilExit()
        let run = try run(["import", "--from-bus", gnome.address, "--json"])
        #expect(run.status == 0 && run.errors == "", "\(run.errors)")
        let listed = try list()
        #expect(listed.items.count == 200 && listed.lockedCount == 0)
        #expect(Set(listed.items.map(\.label)).count == 200, "none is there twice")
        #expect(listed.items.allSatisfy { $0.collection == "login" && $0.requires == nil && $0.only.isEmpty })

        let guarded = try play("rule", "number=7", "--require", "passcode", "--only", door.url.path)
        #expect(guarded.status == 0 && guarded.shows("1 item matches: “Label 7”."), "\(guarded.screen)")
        let item = try #require(try list().items.first { $0.label == "Label 7" })
        #expect(item.requires == "passcode" && item.only == [door.url.path])
        let unattended = try self.run(["rule", "number=7", "--require", "none"])
        #expect(unattended.status == 3, "\(unattended.errors)")
        let wrong = try play("rule", "number=7", "--require", "none", answers: ["wrong", "wrong", "wrong"])
        #expect(wrong.status == 3, "\(wrong.screen)")
        #expect(try list().items.first { $0.label == "Label 7" }?.requires == "passcode")
    }

    @Test func `nothing that matches is a failure, and locked items show only their number`() throws {
        let none = try run(["rule", "a=1", "--require", "passcode", "--json"])
        #expect(
            none.status == 1 && none.output == "" && none.errors.hasPrefix(#"{"error":{"code":60,"#), "\(none.errors)")
        let empty = try run(["list"])
        #expect(empty.status == 0 && empty.output == "" && empty.errors.contains("There are no such items."))
        let usage = try run(["list", "a"])
        #expect(usage.status == 2 && usage.errors.contains("NAME=VALUE"), "\(usage.errors)")
    }

    @Test func `a rule for new items that none could have is refused, and another one stands in the row`() throws {
        let refused = try run(["rule", "--default", "--require", "passcode", "--only", "/usr/bin/perl"])
        #expect(refused.status != 0, "an interpreter has no name of its own")
        let set = try run(["rule", "--default", "--require", "passcode", "--only", door.url.path, "--json"])
        #expect(set.status == 0 && set.output.contains("\"requires\" : \"passcode\""), "\(set.errors)")
        #expect(try list().items.isEmpty)
        let status = try run(["status", "--json"], ["HOME": daemon.folder.path])
        #expect(status.status == 0 && status.output.contains("\"collections\" : 1"), "\(status.errors)")
    }

    // MARK: enable and disable

    @Test func `the bus starts the service after enable, and not after disable`() throws {
        let home = daemon.path("home")
        try FileManager.default.createDirectory(atPath: home, withIntermediateDirectories: false)
        let bus = try ActivatingBus(in: daemon, home: home)
        let environment = ["HOME": home, "DBUS_SESSION_BUS_ADDRESS": bus.address]
        #expect(throws: BusProgramError.self) { try SecretProgram(bus.address).openSession() }
        let enabled = try run(["enable"], environment)
        #expect(
            enabled.status == 0 && enabled.errors.contains("Wrote \(home)/.local/share/dbus-1"), "\(enabled.errors)")
        #expect(try SecretProgram(bus.address).openSession().hasPrefix(SecretProgram.root))
        let status = try run(["status"], environment)
        #expect(status.output.contains("ostiary-secrets (process"), "\(status.output) \(status.errors)")
        let own = try run(["import"], environment)
        #expect(own.status == 1 && own.errors.contains("Ostiary's own service"), "\(own.errors)")
        let disabled = try run(["disable", "--json"], environment)
        #expect(
            disabled.status == 0 && disabled.output.contains("Removed \(home)/.local/share/dbus-1"),
            "\(disabled.errors)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: home + "/.local/share/dbus-1/services").isEmpty)
        try bus.endOwner(of: SecretProgram.service)
        #expect(throws: BusProgramError.self) { try SecretProgram(bus.address).openSession() }
    }

    @Test func `a door that the daemon does not know displaces nobody`() throws {
        let other = daemon.path("other")
        try FileManager.default.createDirectory(atPath: other, withIntermediateDirectories: false)
        for name in ["ostiary", "ostiary-secrets"] {
            try FileManager.default.copyItem(
                at: daemon.folder.appendingPathComponent(name), to: URL(fileURLWithPath: "\(other)/\(name)"))
        }
        let run = try BoundedRun(
            URL(fileURLWithPath: other + "/ostiary"), ["secrets", "enable"], environment: ["HOME": other], in: daemon)
        #expect(try run.waitForStatus() == 1 && run.errors.contains("ostiary doors register"), "\(run.errors)")
        #expect(!FileManager.default.fileExists(atPath: other + "/.local"))
    }
}

/// A session's bus of a test's own that starts services as the files of its person say.
private final class ActivatingBus {
    let address: String
    private let process = Process()

    init(in daemon: PrivateDaemon, home: String) throws {
        address = "unix:path=\(daemon.path("session-bus"))"
        let configuration = daemon.path("session-bus.conf")
        let text = """
            <!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
             "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
            <busconfig>
              <type>session</type>
              <listen>\(address)</listen>
              <auth>EXTERNAL</auth>
              <servicedir>\(home)/.local/share/dbus-1/services</servicedir>
              <policy context="default">
                <allow user="*"/> <allow own="*"/> <allow send_destination="*"/> <allow receive_sender="*"/>
                <allow send_type="signal"/> <allow send_type="method_call"/>
              </policy>
            </busconfig>
            """
        try Data(text.utf8).write(to: URL(fileURLWithPath: configuration))
        process.executableURL = URL(fileURLWithPath: "/usr/bin/dbus-daemon")
        process.arguments = ["--config-file=\(configuration)", "--nofork", "--nopidfile"]
        // What it starts finds the daemon.
        process.environment = daemon.environment.merging(["HOME": home]) { $1 }
        process.standardInput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.run()
        try eventually("the bus listens") { (try? BusProgram(address)) != nil }
    }

    deinit {
        // What it started ends with it.
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
    }

    /// Ends the process that has a name.
    func endOwner(of name: String) throws {
        let program = try BusProgram(address)
        let driver = "org.freedesktop.DBus"
        let answer = try program.call("/", driver, "GetConnectionUnixProcessID", to: driver, [.text(name)])
        guard case .small(let number)? = answer.first else { throw TestSupportError("\(answer)") }
        kill(pid_t(number), SIGTERM)
        try eventually("the name is free") {
            let owner = try? program.call("/", driver, "GetNameOwner", to: driver, [.text(name)])
            return owner == nil
        }
    }
}
