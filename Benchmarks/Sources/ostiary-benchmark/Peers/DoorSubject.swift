import AccessControl
import ArgumentParser
import Crypto
import Foundation
import Glibc
import OstiaryClient

/// The process in which the rows of doors are measured: a client of both agents and of keyrings, a host of modules, what starts the helpers as
/// git and docker do, and the person, at a terminal that it controls. It must lead a session.
struct DoorSubject: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "door-subject", shouldDisplay: false)

    @OptionGroup var options: DoorOptions

    private static let passcode = "a passcode of the benchmark"
    private static let password = "a password of the benchmark"
    private static let doors = [
        "ostiary-ssh-agent", "ostiary-credential-helper", "ostiary-credentials", "ostiary-pkcs11d", OstiaryKeyring.door,
    ]

    private var plan: Plan { options.plan }
    private var programs: DoorPrograms { options.programs }

    /// Writes the figures to standard output as JSON.
    func run() async throws {
        let folder = try TemporaryFolder()
        let terminal = try PseudoTerminal()
        try ControllingTerminal.take(terminal.path)
        terminal.answerPasscodeQuestions(with: Self.passcode)
        let folders = try DaemonFolders.foundByEnvironment(in: folder.path)
        let daemon = try PrivateDaemon(program: programs.path("ostiaryd"), in: folders)
        try daemon.start()
        try programs.register(Self.doors, with: folders.newClient())
        var figures = try await measureSignatures(folders, terminal)
        figures.merge(try await measureHelpers(folders)) { $1 }
        let keyrings = KeyringStage(plan: plan, programs: programs, terminal: terminal, folder: folder.path)
        figures.merge(try await keyrings.run(beside: folders.newClient())) { $1 }
        figures.merge(try measureIdle(folders)) { $1 }
        try daemon.stop()
        FileHandle.standardOutput.write(try JSONEncoder().encode(figures))
    }

    // MARK: signatures

    private func measureSignatures(_ folders: DaemonFolders, _ terminal: PseudoTerminal) async throws -> Figures {
        let client = folders.newClient()
        let right = try client.createRight(
            AuthorizedKey.rightName, accessControl: try DoorPrograms.ruledByPasscode(),
            accessGroup: DoorPrograms.accessGroup, sshConstraints: SSHKeyConstraints())
        let publicKey = folders.path + "/door-key.pub"
        try SignedText.publicKeyLine(right.publicKey).write(toFile: publicKey, atomically: true, encoding: .utf8)
        let socket = folders.path + "/door-agent"
        let agent = try ChildProcess(
            programs.path("ostiary-ssh-agent"), ["-D", "-a", socket], environment: folders.environment)
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
        let tokens = try Tokens(
            module: options.tokenModule, remotingModule: options.remotingModule, programs, folders)
        var figures = try await Blocks(plan: plan).measure([
            Row(.keySignature) { try enclaveKey.sign() }, Row(.doorSignature) { try door.sign() },
            Row(.agentSignature) { try other.sign() }, Row(.tokenSignature) { try tokens.own.sign() },
            Row(.remotingSignature) { try tokens.other.sign() },
        ])
        figures[.doorQuestionEnd] = try measureQuestionEnds(socket, publicKey, terminal)
        withExtendedLifetime((agent, peer, tokens)) {}
        return figures
    }

    /// From the end of a client.
    private func measureQuestionEnds(
        _ socket: String, _ publicKey: String, _ terminal: PseudoTerminal
    ) throws -> Figure {
        let text = publicKey + ".text"
        try Data("what is signed".utf8).write(to: URL(fileURLWithPath: text))
        return try QuestionEnds(terminal: terminal, count: plan.sheets).measure {
            try ChildProcess(
                "/usr/bin/ssh-keygen", ["-q", "-Y", "sign", "-n", "benchmark", "-f", publicKey, text],
                environment: ["SSH_AUTH_SOCK=" + socket])
        } end: {
            kill($0.id, SIGKILL)
        }
    }

    // MARK: helpers

    private func measureHelpers(_ folders: DaemonFolders) async throws -> Figures {
        let keyring = try GnomeKeyring(in: folders.path)
        let ofKeyring = ["DBUS_SESSION_BUS_ADDRESS=" + keyring.bus.address, "HOME=" + folders.path]
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
        let figures = try await Blocks(plan: plan.ofSlowRows).measure([
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
            atPath: link, withDestinationPath: programs.path("ostiary-credential-helper"))
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
        let bus = try SessionBus(in: folders.path)
        let doors = try [
            ChildProcess(
                programs.path("ostiary-ssh-agent"), ["-D", "-a", socket], environment: folders.environment),
            ChildProcess(programs.path("ostiary-credentials"), [], environment: folders.environment),
            ChildProcess(programs.path("ostiary-pkcs11d"), [], environment: folders.environment),
            OstiaryKeyring.startDoor(programs, folders, bus),
        ]
        for path in [socket] + ["credentials", "pkcs11"].map({ "\(folders.runtimeDirectory)/\($0).sock" }) {
            try Listening.wait(at: path)
        }
        _ = try BusKeyring(bus)
        sleep(2)  // The end of that client has work to do.
        let processes = doors.map { RunningProcess(id: $0.id) }
        let memory = try processes.map { try $0.residentMegabytes() }
        let switches = try RunningProcess.contextSwitches(of: processes, duringSeconds: plan.idleSeconds)
            .map { Double($0.values.reduce(0, +)) }
        withExtendedLifetime((doors, bus)) {}
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
