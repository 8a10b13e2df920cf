import DaemonTestSupport
import Foundation
import Glibc
import SecretProgramSupport

/// A daemon whose store has a passcode, a bus, and `ostiary-secrets` as a registered door.
final class SecretsStage {
    let daemon: PrivateDaemon
    let bus: TestBus
    private let door: ProgramCopy
    private var process: Process?

    init(isRegistered: Bool = true, on bus: TestBus? = nil) throws {
        daemon = try PrivateDaemon(.withPasscode)
        self.bus = try bus ?? TestBus()
        door = try ProgramCopy(of: "ostiary-secrets", as: "ostiary-secrets", in: daemon)
        if isRegistered { try register() }
        try start()
    }

    deinit { end(by: SIGKILL) }

    private func register() throws {
        let run = try PlayedTerminal(
            BuiltProgram.named("ostiary"),
            ["app", "register", door.url.path, "--id", "org.ostiary.secrets", "--group", "ostiary.doors", "--door"],
            answers: [PrivateDaemon.passcode], in: daemon)
        guard run.status == 0 else { throw TestSupportError("ostiary app register: \(run.screen)") }
    }

    /// Starts the service, as the bus does.
    func start() throws {
        let process = Process()
        process.executableURL = door.url
        process.environment = daemon.environment.merging(["DBUS_SESSION_BUS_ADDRESS": bus.address]) { $1 }
        process.standardInput = FileHandle.nullDevice
        let log = daemon.path("secrets.log")
        try Data().write(to: URL(fileURLWithPath: log))
        process.standardError = FileHandle(forWritingAtPath: log)
        try process.run()
        self.process = process
        let program = try BusProgram(bus.address)
        try eventually("the service has its name: \(self.log)") {
            let owner = try? program.call(
                "/org/freedesktop/DBus", "org.freedesktop.DBus", "GetNameOwner", to: "org.freedesktop.DBus",
                [.text(SecretProgram.service)])
            return owner != nil
        }
    }

    /// The process of the service; nil when it was seen to end.
    var processID: Int32? { process?.processIdentifier }

    /// What the service said.
    var log: String { (try? String(contentsOfFile: daemon.path("secrets.log"), encoding: .utf8)) ?? "" }

    /// Ends the service; returns its exit status.
    @discardableResult
    func end(by signal: CInt) -> Int32? {
        guard let process else { return nil }
        kill(process.processIdentifier, signal)
        return waitForEnd()
    }

    /// Waits until the service has ended by itself; returns its exit status.
    func waitForEnd() -> Int32? {
        guard let process else { return nil }
        process.waitUntilExit()
        self.process = nil
        return process.terminationReason == .exit ? process.terminationStatus : nil
    }

    // MARK: programs of the session

    /// The program that keeps its passwords here.
    static var program: URL { BuiltProgram.named("secret-program") }

    /// Another one that does the same. To the daemon each file is a program of its own.
    func makeProgram(_ name: String) throws -> URL { try ProgramCopy(of: "secret-program", as: name, in: daemon).url }

    /// Runs a program of the session on a terminal of its own, with a person who answers.
    ///
    /// - Parameter act: what the test does while the first question stands, before it is answered.
    func play(
        _ arguments: String..., by program: URL = SecretsStage.program, answers: [String] = [],
        atFirstPrompt act: ((StandingQuestion) throws -> Void)? = nil
    ) throws -> PlayedTerminal {
        try PlayedTerminal(
            program, [bus.address] + arguments, answers: answers, in: daemon, timeout: 300, atFirstPrompt: act)
    }

    /// The same in namespaces of its own.
    func playApart(_ arguments: String..., by program: URL, answers: [String] = []) throws -> PlayedTerminal {
        try PlayedTerminal(
            Namespaces.program, Namespaces.options + [program.path, bus.address] + arguments, answers: answers,
            in: daemon, timeout: 300)
    }

    /// A program of the session in the test's own process, which has no terminal: nobody can be asked for it.
    func connect() throws -> SecretProgram { try SecretProgram(bus.address) }

    /// Stores an item, and returns its path.
    func store(_ label: String, _ attributes: [String: String], _ secret: String) throws -> String {
        let program = try connect()
        return try program.create(label, attributes, secret, session: program.openEncryptedSession())
    }

    // MARK: the daemon

    /// Ends the daemon as the system does: it puts away what it has in its journal.
    func endDaemon() throws {
        let process = try daemonProcess()
        kill(process, SIGTERM)
        try eventually("the daemon has ended") { kill(process, 0) != 0 }
        daemon.kill()
    }

    private func daemonProcess() throws -> pid_t {
        let folder = Data(daemon.stateDirectory.utf8)
        let processes = try FileManager.default.contentsOfDirectory(atPath: "/proc").compactMap { pid_t($0) }
        let found = processes.first { process in
            // A process may end meanwhile.
            let words = FileManager.default.contents(atPath: "/proc/\(process)/cmdline") ?? Data()
            return words.split(separator: 0).contains { $0.elementsEqual(folder) }
        }
        guard let found else { throw TestSupportError("There is no process of the daemon.") }
        return found
    }

    // MARK: the owner

    /// Changes the rule of items that have none, as their owner does. Nobody is asked for that.
    func setRule(_ arguments: String...) throws {
        let run = try BoundedRun(door.url, ["rule"] + arguments, in: daemon)
        guard try run.waitForStatus() == 0 else { throw TestSupportError("rule \(arguments): \(run.errors)") }
    }

    /// Changes rules that there are, with the person's proof.
    func changeRule(_ arguments: String...) throws {
        let run = try PlayedTerminal(
            door.url, ["rule"] + arguments, answers: [PrivateDaemon.passcode], in: daemon, timeout: 300)
        guard run.status == 0 else { throw TestSupportError("rule \(arguments): \(run.screen)") }
    }

    /// Runs the owner's command where nobody can be asked.
    func ostiary(_ arguments: String...) throws -> UnattendedRun {
        try UnattendedRun(BuiltProgram.named("ostiary"), arguments, in: daemon)
    }
}

/// Namespaces that a user makes for a program.
enum Namespaces {
    static let program = URL(fileURLWithPath: "/usr/bin/unshare")
    /// One of users, in which the program is root, and one of processes.
    static let options = ["--user", "--map-root-user", "--pid", "--fork"]

    /// Whether the system lets this user make them.
    static let areAllowed: Bool = {
        let process = Process()
        process.executableURL = program
        process.arguments = options + ["/bin/true"]
        process.standardError = FileHandle.nullDevice
        guard (try? process.run()) != nil else { return false }
        process.waitUntilExit()
        return process.terminationStatus == 0
    }()
}

extension PlayedTerminal {
    /// How often the passcode was asked for.
    var questionCount: Int {
        screen.split(whereSeparator: \.isNewline).count { $0.contains("asscode: ") }
    }
}

/// The name of the error that the service answered a call with; nil for none, and words for every other failure.
func refusedName(_ body: () throws -> Void) -> String? {
    do {
        try body()
        return nil
    } catch BusProgramError.answered(let name) { return name } catch { return "\(error)" }
}
