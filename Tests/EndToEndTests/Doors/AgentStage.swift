import DaemonTestSupport
import Foundation
import Glibc
import UnixSocket

/// A daemon, the agent as a registered door, and OpenSSH's server for logins of this user.
final class AgentStage {
    static let passcode = PrivateDaemon.passcode
    /// OpenSSH's server; nil where there is none. `script/fetch-sshd` finds one.
    static let server: String? = (["/usr/sbin/sshd"] + packagedServers).first {
        FileManager.default.isExecutableFile(atPath: $0)
    }

    /// Below the folder of all builds, which lies above that of the bundle, with a link between them or without.
    private static var packagedServers: [String] {
        ["..", "../.."].map { BuiltProgram.folder.path + "/\($0)/doors/sshd/usr/sbin/sshd" }
    }

    let daemon: PrivateDaemon
    private var process: Process?
    var socket: String { daemon.path("agent.sock") }

    init() throws {
        daemon = try PrivateDaemon(.withPasscode)
        let registered = try ostiary("doors", "register", answers: [Self.passcode])
        guard registered.status == 0 else { throw TestSupportError("doors register: \(registered.screen)") }
        try startAgent()
    }

    deinit { endAgent() }

    /// - Parameter arguments: besides the socket.
    func startAgent(_ arguments: String...) throws {
        let process = Process()
        process.executableURL = BuiltProgram.named("ostiary-ssh-agent")
        process.arguments = ["-d", "-a", socket] + arguments
        process.environment = daemon.environment
        let log = daemon.path("agent.log")
        try Data().write(to: URL(fileURLWithPath: log))
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle(forWritingAtPath: log)
        try process.run()
        self.process = process
        for _ in 0..<1_000 {
            if (try? UnixSocket.connect(to: socket)) != nil { return }
            guard process.isRunning else { break }
            usleep(10_000)
        }
        throw TestSupportError("The agent did not start: \(agentLog)")
    }

    func endAgent() {
        guard let process else { return }
        kill(process.processIdentifier, SIGTERM)
        process.waitUntilExit()
        self.process = nil
    }

    /// What the agent said.
    var agentLog: String { (try? String(contentsOfFile: daemon.path("agent.log"), encoding: .utf8)) ?? "" }

    func ostiary(_ arguments: String..., answers: [String] = []) throws -> PlayedTerminal {
        try play([BuiltProgram.named("ostiary").path] + arguments, answers: answers)
    }

    /// Runs a program on a terminal, with this agent.
    func play(_ command: [String], answers: [String] = [], timeout: Double = 60) throws -> PlayedTerminal {
        try PlayedTerminal(
            URL(fileURLWithPath: "/usr/bin/env"), variables + command, answers: answers, in: daemon, timeout: timeout)
    }

    /// Nothing of the person's own settings.
    private var variables: [String] {
        [
            "SSH_AUTH_SOCK=\(socket)", "HOME=\(daemon.folder.path)", "GIT_CONFIG_NOSYSTEM=1", "LC_ALL=C.UTF-8",
            "GIT_CONFIG_GLOBAL=\(daemon.path("gitconfig"))",
        ]
    }

    /// Runs a program where nobody can be asked.
    func runAlone(_ command: [String]) throws -> UnattendedRun {
        try UnattendedRun(URL(fileURLWithPath: "/usr/bin/env"), variables + command, in: daemon)
    }

    // MARK: hosts

    /// Prepares a host: a key, a server's configuration, and lines for the client.
    ///
    /// The client starts the server itself (`sshd -i`), so that no port is taken.
    func addHost(_ name: String) throws {
        let key = daemon.path("host-\(name)")
        try makeKey("host-\(name)", "ed25519")
        let server = """
            HostKey \(key)
            AuthorizedKeysFile \(daemon.path("authorized"))
            UsePAM no
            StrictModes no
            PidFile none
            AllowAgentForwarding yes
            PasswordAuthentication no

            """
        try write("sshd-\(name)", server)
        let line = try String(contentsOfFile: key + ".pub", encoding: .utf8)
        try append("known", "\(name) \(line)")
        try append(
            "config",
            """
            Host \(name)
              HostKeyAlias \(name)
              ProxyCommand \(Self.server ?? "sshd") -i -f \(daemon.path("sshd-\(name)"))

            """)
    }

    /// A login to a host; `command` runs there.
    func login(
        _ host: String, _ command: String = "echo logged in", options: [String] = [], answers: [String] = [],
        prefix: [String] = [], timeout: Double = 60
    ) throws -> PlayedTerminal {
        try play(
            prefix + ["/usr/bin/ssh"] + clientOptions + options + [host, command], answers: answers, timeout: timeout)
    }

    var clientOptions: [String] {
        [
            "-F", daemon.path("config"), "-o", "UserKnownHostsFile=\(daemon.path("known"))", "-o",
            "GlobalKnownHostsFile=/dev/null", "-o", "PasswordAuthentication=no", "-o",
            "KbdInteractiveAuthentication=no", "-o", "IdentityFile=none", "-T",
        ]
    }

    /// Lets a key log in.
    func authorize(_ line: String) throws { try append("authorized", line + "\n") }

    // MARK: files

    func makeKey(_ name: String, _ type: String, passphrase: String = "", options: [String] = []) throws {
        let made = try UnattendedRun(
            URL(fileURLWithPath: "/usr/bin/ssh-keygen"),
            ["-q", "-t", type, "-N", passphrase, "-C", name, "-f", daemon.path(name)] + options, in: daemon)
        guard made.status == 0 else { throw TestSupportError("ssh-keygen: \(made.output)") }
    }

    func text(_ name: String) throws -> String { try String(contentsOfFile: daemon.path(name), encoding: .utf8) }

    func write(_ name: String, _ text: String) throws {
        try Data(text.utf8).write(to: URL(fileURLWithPath: daemon.path(name)))
    }

    private func append(_ name: String, _ text: String) throws {
        let present = FileManager.default.fileExists(atPath: daemon.path(name)) ? try self.text(name) : ""
        try write(name, present + text)
    }

    /// The records of the log, newest last.
    func log() throws -> [[String: Any]] {
        let listed = try runAlone([BuiltProgram.named("ostiary").path, "log", "--json"])
        guard listed.status == 0 else { throw TestSupportError("ostiary log: \(listed.output)") }
        return try listed.output.split(separator: "\n").compactMap {
            try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any]
        }
    }

    /// The lines of the keys, as `ostiary ssh list --public-keys` prints them.
    func publicKeys() throws -> [String] {
        let listed = try runAlone([BuiltProgram.named("ostiary").path, "ssh", "list", "--public-keys"])
        guard listed.status == 0 else { throw TestSupportError("ostiary ssh list: \(listed.output)") }
        return listed.output.split(separator: "\n").map(String.init)
    }
}
