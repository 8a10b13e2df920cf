import AccessControl
import ArgumentParser
import Crypto
import Foundation
import Glibc
import OstiaryClient
import OstiaryMessages
import UnixSocket

/// The process in which the rows of doors are measured: a client of both agents, what starts the helpers as git and docker do, and the person,
/// at a terminal that it controls. It must lead a session.
struct DoorSubject: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "door-subject", shouldDisplay: false)

    @OptionGroup var options: DoorOptions

    private static let passcode = "a passcode of the benchmark"
    private static let group = "ostiary.doors"
    private static let password = "a password of the benchmark"

    private var plan: Plan { options.plan }

    /// Writes the figures to standard output as JSON.
    func run() async throws {
        let folder = try TemporaryFolder()
        let terminal = try PseudoTerminal()
        try ControllingTerminal.take(terminal.path)
        terminal.answerPasscodeQuestions(with: Self.passcode)
        let folders = try Self.folders(in: folder.path)
        let daemon = try PrivateDaemon(program: options.daemonFolder + "/ostiaryd", in: folders)
        try daemon.start()
        try register(with: folders.newClient())
        var figures = try await measureAgents(folders, terminal)
        figures.merge(try await measureHelpers(folders)) { $1 }
        figures.merge(try measureIdle(folders)) { $1 }
        try daemon.stop()
        FileHandle.standardOutput.write(try JSONEncoder().encode(figures))
    }

    private static func folders(in path: String) throws -> DaemonFolders {
        for name in ["/run", "/state"] {
            guard mkdir(path + name, 0o700) == 0 else { throw SystemCallError("mkdir", subject: path + name) }
        }
        return DaemonFolders(path: path, isFoundByEnvironment: true)
    }

    /// The person is asked for each program.
    private func register(with client: OstiaryClient) throws {
        try client.passcode(.set, interaction: Interaction(reason: "measure doors"))
        let own = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let doors = ["ostiary-ssh-agent", "ostiary-credential-helper", "ostiary-credentials"].map(door)
        for (number, path) in ([own] + doors).enumerated() {
            _ = try client.registerApplication(
                path: path, applicationID: "org.ostiary.benchmark.\(number)", accessGroups: [Self.group],
                isDoor: path != own, interaction: Interaction(reason: "measure doors"))
        }
    }

    /// The path without links, as the daemon sees it.
    private func door(_ name: String) -> String {
        URL(fileURLWithPath: options.daemonFolder + "/" + name).resolvingSymlinksInPath().path
    }

    // MARK: signatures

    private func measureAgents(_ folders: DaemonFolders, _ terminal: PseudoTerminal) async throws -> Figures {
        let client = folders.newClient()
        let accessControl = AccessControl(
            availability: .whenUnlocked, using: try Requirement(Rule(parsing: "passcode")))
        let right = try client.createRight(
            AuthorizedKey.rightName, accessControl: accessControl, accessGroup: Self.group,
            sshConstraints: SSHKeyConstraints())
        let publicKey = folders.path + "/door-key.pub"
        try SignedText.publicKeyLine(right.publicKey).write(toFile: publicKey, atomically: true, encoding: .utf8)
        let socket = folders.path + "/door-agent"
        let agent = try ChildProcess(
            door("ostiary-ssh-agent"), ["-D", "-a", socket], environment: folders.environment)
        try Listening.wait(at: socket)
        let peer = try SSHAgent(in: folders.path)

        folders.useForKeychain()
        let enclaveKey = try await EnclaveKey(digest: SHA256.hash(data: SignedText.bytes))
        let door = try AgentClient(connectingTo: socket, publicKeyPath: publicKey, message: SignedText.bytes)
        let other = try AgentClient(
            connectingTo: peer.socketPath, publicKeyPath: peer.publicKeyPath, message: SignedText.bytes)
        for agent in [door, other] {
            try agent.sign()
            try agent.verifyLast()
        }
        var figures = try await Blocks(plan: plan).measure([
            Row(.keySignature) { try enclaveKey.sign() }, Row(.doorSignature) { try door.sign() },
            Row(.agentSignature) { try other.sign() },
        ])
        figures[.doorQuestionEnd] = try measureQuestionEnds(socket, publicKey, terminal)
        withExtendedLifetime((agent, peer)) {}
        return figures
    }

    /// From the end of a client to that of its question: the terminal shows again what is typed. Nobody answers.
    private func measureQuestionEnds(
        _ socket: String, _ publicKey: String, _ terminal: PseudoTerminal
    ) throws -> Figure {
        let text = publicKey + ".text"
        try Data("what is signed".utf8).write(to: URL(fileURLWithPath: text))
        terminal.isTyping = false
        defer { terminal.isTyping = true }
        var samples = Samples()
        for _ in 0..<plan.sheets {
            let count = terminal.questionCount
            let client = try ChildProcess(
                "/usr/bin/ssh-keygen", ["-q", "-Y", "sign", "-n", "benchmark", "-f", publicKey, text],
                environment: ["SSH_AUTH_SOCK=" + socket])
            try Self.wait { terminal.questionCount > count && !terminal.echoes }
            try samples.time {
                kill(client.id, SIGKILL)
                try Self.wait { terminal.echoes }
            }
        }
        return samples.figure(.milliseconds)
    }

    private static func wait(until isThere: () -> Bool) throws {
        let end = ContinuousClock.now + .seconds(30)
        while !isThere() {
            guard ContinuousClock.now < end else { throw NoQuestion() }
            usleep(500)
        }
    }

    struct NoQuestion: Error, CustomStringConvertible {
        var description: String { "a question did not come, or did not go with its client" }
    }

    // MARK: helpers

    private func measureHelpers(_ folders: DaemonFolders) async throws -> Figures {
        let keyring = try GnomeKeyring(in: folders.path)
        let ofKeyring = ["DBUS_SESSION_BUS_ADDRESS=" + keyring.busAddress, "HOME=" + folders.path]
        let git = (
            try helper("git-credential-ostiary", folders),
            try helper(options.libsecretHelper, "libsecret", ofKeyring, folders)
        )
        let docker = (
            try helper("docker-credential-ostiary", folders),
            try helper(options.dockerHelper, "docker", ofKeyring, folders)
        )
        let gitRuns = try [git.0, git.1].map(Self.preparedForGit)
        let dockerRuns = try [docker.0, docker.1].map(Self.preparedForDocker)
        let figures = try await Blocks(plan: plan.ofProcesses).measure([
            Row(.gitCredential) { try gitRuns[0].run() }, Row(.libsecretCredential) { try gitRuns[1].run() },
            Row(.dockerCredential) { try dockerRuns[0].run() }, Row(.secretServiceDocker) { try dockerRuns[1].run() },
        ])
        withExtendedLifetime(keyring) {}
        return figures
    }

    /// By the name under which git or docker starts it, which is a link.
    private func helper(_ name: String, _ folders: DaemonFolders) throws -> CredentialHelper {
        let link = folders.path + "/" + name
        try FileManager.default.createSymbolicLink(
            atPath: link, withDestinationPath: door("ostiary-credential-helper"))
        return try CredentialHelper(link, environment: folders.environment, in: link + "-questions")
    }

    private func helper(
        _ program: String, _ name: String, _ environment: [String], _ folders: DaemonFolders
    ) throws -> CredentialHelper {
        try CredentialHelper(program, environment: environment, in: "\(folders.path)/\(name)-questions")
    }

    private static func preparedForGit(_ helper: CredentialHelper) throws -> CredentialHelper.Prepared {
        let question = "protocol=https\nhost=example.com\n"
        try helper.run("store", question + "username=me\npassword=\(password)\n\n")
        guard try helper.answer("get", question + "\n").contains("password=\(password)\n") else { throw WrongAnswer() }
        return try helper.prepare("get", question + "\n")
    }

    private static func preparedForDocker(_ helper: CredentialHelper) throws -> CredentialHelper.Prepared {
        let server = "https://registry.example.com"
        try helper.run("store", #"{"ServerURL":"\#(server)","Username":"me","Secret":"\#(password)"}"#)
        guard try helper.answer("get", server).contains(password) else { throw WrongAnswer() }
        return try helper.prepare("get", server)
    }

    // MARK: nothing to do

    /// Each door that stays, after one client came and went.
    private func measureIdle(_ folders: DaemonFolders) throws -> Figures {
        let socket = folders.path + "/idle-agent"
        let doors = try [
            ChildProcess(door("ostiary-ssh-agent"), ["-D", "-a", socket], environment: folders.environment),
            ChildProcess(door("ostiary-credentials"), [], environment: folders.environment),
        ]
        for path in [socket, folders.runtimeDirectory + "/credentials.sock"] { try Listening.wait(at: path) }
        sleep(2)  // The end of that client has work to do.
        let processes = doors.map { RunningProcess(id: $0.id) }
        let memory = try processes.map { try $0.residentMegabytes() }
        let switches = try processes.map { process in
            Double(try process.contextSwitches(duringSeconds: plan.idleSeconds).values.reduce(0, +))
        }
        withExtendedLifetime(doors) {}
        return [
            .idleDoorMemory: Figure(memory, unit: .megabytes), .idleDoorWakeups: Figure(switches, unit: .count),
        ]
    }

    struct WrongAnswer: Error, CustomStringConvertible {
        var description: String { "a credential helper did not give back what it had stored" }
    }
}

/// The bytes that both agents sign: the form of `ssh-keygen -Y sign`, because the door signs nothing that it cannot read (PROTOCOL.sshsig).
enum SignedText {
    static let bytes =
        Data("SSHSIG".utf8) + string("benchmark") + string("") + string("sha512")
        + string(Data(SHA512.hash(data: Data("what is signed over and over".utf8))))

    /// A line as `ssh-keygen` writes it (RFC 5656, section 3.1).
    static func publicKeyLine(_ point: Data) -> String {
        let name = "ecdsa-sha2-nistp256"
        return "\(name) \((string(name) + string("nistp256") + string(point)).base64EncodedString())\n"
    }

    private static func string(_ text: String) -> Data { string(Data(text.utf8)) }

    private static func string(_ bytes: Data) -> Data {
        Data([24, 16, 8, 0].map { UInt8(truncatingIfNeeded: bytes.count >> $0) }) + bytes
    }
}
