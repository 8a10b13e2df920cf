import AccessControl
import ArgumentParser
import Crypto
import Foundation
import Glibc
import OstiaryClient
import OstiaryMessages
import UnixSocket

/// The process in which the rows of system mode are measured: a client of the machine's daemon and of a daemon of its user's own, the service
/// manager of the former, and the person, at a terminal that it controls. It must lead a session.
struct SystemSubject: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "system-subject", shouldDisplay: false)

    @OptionGroup var options: SystemOptions

    private static let passcode = "a passcode of the benchmark"
    private static let digest = SHA256.hash(data: Data("what is signed over and over".utf8))

    private var plan: Plan { options.plan }

    /// Writes the figures to standard output as JSON.
    func run() async throws {
        umask(0o022)  // Other accounts enter its folders.
        let folder = try TemporaryFolder()
        guard chmod(folder.path, 0o711) == 0 else { throw SystemCallError("chmod", subject: folder.path) }
        let terminal = try PseudoTerminal()
        try ControllingTerminal.take(terminal.path)
        terminal.answerPasscodeQuestions(with: Self.passcode)
        var figures = try await measureCalls(folder, terminal)
        figures.merge(try ManyUsers(plan: plan, programs: options.programs).run(in: Self.made(folder, "users"))) { $1 }
        FileHandle.standardOutput.write(try JSONEncoder().encode(figures))
    }

    private static func made(_ folder: TemporaryFolder, _ name: String, _ mode: mode_t = 0o711) throws -> String {
        let path = folder.path + "/" + name
        guard mkdir(path, mode) == 0 else { throw SystemCallError("mkdir", subject: path) }
        return path
    }

    private func measureCalls(_ folder: TemporaryFolder, _ terminal: PseudoTerminal) async throws -> Figures {
        let sensor = try VirtualSensor(in: Self.made(folder, "sensor"), permitsAll: true)
        let machine = try MachineStage(in: folder.path + "/machine", programs: options.programs)
        try machine.start(on: sensor.bus)
        let folders = DaemonFolders(path: try Self.made(folder, "user", 0o700))
        let own = try PrivateDaemon(
            program: options.programs.daemonFolder + "/ostiaryd", in: folders, systemBus: sensor.bus)
        try own.start()
        let (machinesKey, ownKey) = try (Self.key(machine.newClient()), Self.key(folders.newClient()))
        var figures = try await Blocks(plan: plan).measure([
            Row(.userModeSignature) { try ownKey.sign() }, Row(.systemModeSignature) { try machinesKey.sign() },
        ])
        try own.stop()
        let signIn = SignIn(socketPath: machine.signInsPath)
        figures[.loginOpen] = try measureLogins(signIn, machinesKey.client, terminal)
        figures[.sudoFinger] = try measureFingers(signIn, sensor, terminal)
        withExtendedLifetime(machine) {}
        return figures
    }

    /// The person is asked for the passcode.
    private static func key(_ client: OstiaryClient) throws -> AuthorizedKey {
        try client.passcode(.set, interaction: Interaction(reason: "measure signatures"))
        let accessControl = AccessControl(
            availability: .whenUnlocked, using: try Requirement(Rule(parsing: "passcode")))
        let right = try client.createRight(AuthorizedKey.rightName, accessControl: accessControl)
        let key = try AuthorizedKey(right, on: client, digest: digest)
        try key.verify(digest)
        return key
    }

    /// From the module's request to its answer, from a locked store to an open one. Nothing may be asked.
    private func measureLogins(
        _ signIn: SignIn, _ client: OstiaryClient, _ terminal: PseudoTerminal
    ) throws -> Figure {
        let asked = terminal.questionCount
        var samples = Samples()
        for _ in 0..<plan.sheets {
            try client.lock()
            try samples.time { try signIn.open(with: Self.passcode) }
            guard try client.status().unlocked else { throw NotOpen() }
        }
        guard terminal.questionCount == asked else { throw NotOpen() }
        return samples.figure(.milliseconds)
    }

    /// From fprintd's result of a touch to the module's answer. The question stands on the terminal meanwhile.
    private func measureFingers(
        _ signIn: SignIn, _ sensor: VirtualSensor, _ terminal: PseudoTerminal
    ) throws -> Figure {
        terminal.isTyping = false
        var samples = Samples()
        for _ in 0..<plan.sheets {
            let touching = Touch(sensor)
            try signIn.authenticate(on: terminal)
            let end = MonotonicClock.now()
            try touching.finish()
            samples.append(end - min(sensor.lastResultTime, end))
        }
        return samples.figure(.milliseconds)
    }

    struct NotOpen: Error, CustomStringConvertible {
        var description: String { "a login did not open the store without a question" }
    }
}
