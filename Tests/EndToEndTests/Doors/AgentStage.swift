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

    /// Why there is none.
    static var missingServer: String {
        let said = folders.lazy.compactMap { try? String(contentsOfFile: $0 + "/sshd-missing", encoding: .utf8) }.first
        return "There is no OpenSSH server. "
            + (said.map { "script/fetch-sshd said: \($0)" } ?? "script/fetch-sshd gets one.")
    }

    private static var packagedServers: [String] { folders.map { $0 + "/sshd/usr/sbin/sshd" } }

    /// Below the folder of all builds, which lies above that of the bundle, with a link between them or without.
    private static var folders: [String] { ["..", "../.."].map { BuiltProgram.folder.path + "/\($0)/doors" } }

    /// The files of ssh and sshd. Its name has a blank, as that of a person's folder may have.
    private static let sshFolder = "open ssh"

    let daemon: PrivateDaemon
    private var process: Process?
    var socket: String { daemon.path("agent.sock") }

    init() throws {
        daemon = try PrivateDaemon(.withPasscode)
        try FileManager.default.createDirectory(
            atPath: daemon.path(Self.sshFolder), withIntermediateDirectories: false)
        let registered = try ostiary("doors", "register", answers: [Self.passcode])
        guard registered.status == 0 else { throw TestSupportError("doors register: \(registered.screen)") }
        try startAgent()
    }

    deinit { endAgent() }

    /// - Parameter arguments: besides the socket and the files of known hosts.
    func startAgent(_ arguments: String...) throws {
        let process = Process()
        process.executableURL = BuiltProgram.named("ostiary-ssh-agent")
        process.arguments = ["-d", "-a", socket] + knownHostsOptions + arguments
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
    func play(
        _ command: [String], answers: [String] = [], timeout: Double = 60,
        atFirstPrompt act: ((StandingQuestion) throws -> Void)? = nil
    ) throws -> PlayedTerminal {
        try PlayedTerminal(
            URL(fileURLWithPath: "/usr/bin/env"), variables + command, answers: answers, in: daemon, timeout: timeout,
            atFirstPrompt: act)
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
        let (key, settings, server) = (sshFile("host-\(name)"), sshFile("sshd-\(name)"), sshFile("sshd"))
        try makeKey(key, "ed25519")
        if !FileManager.default.fileExists(atPath: daemon.path(server)) {
            try FileManager.default.createSymbolicLink(
                atPath: daemon.path(server), withDestinationPath: Self.server ?? "/nonexistent/sshd")
        }
        try write(
            settings,
            """
            HostKey \(quoted(key))
            AuthorizedKeysFile \(quoted(sshFile("authorized")))
            UsePAM no
            StrictModes no
            PidFile none
            AllowAgentForwarding yes
            PasswordAuthentication no

            """)
        try append(sshFile("known"), "\(name) \(text(key + ".pub"))")
        try append(
            sshFile("config"),
            """
            Host \(name)
              HostKeyAlias \(name)
              ProxyCommand '\(daemon.path(server))' -i -f '\(daemon.path(settings))'

            """)
    }

    /// Has the agent and `ostiary ssh` read the hosts of this stage, and a second file, which ssh itself does not read. The person's own
    /// files are found by the account, not by HOME.
    var knownHostsOptions: [String] {
        ["known", "known2"].flatMap { ["--known-hosts", daemon.path(sshFile($0))] }
    }

    /// Revokes a host's key in the second file.
    func revokeKey(ofHost name: String) throws {
        let key = try text(sshFile("host-\(name).pub"))
        try append(sshFile("known2"), "@revoked * \(key)")
    }

    /// The name of one of ssh's files, for ``text(_:)`` and the others.
    private func sshFile(_ name: String) -> String { "\(Self.sshFolder)/\(name)" }

    /// A file's path for ssh_config(5) and sshd_config(5), which end a word at a blank. A shell's words stand in other marks.
    private func quoted(_ name: String) -> String { "\"\(daemon.path(name))\"" }

    /// The fingerprint of a host's key.
    func fingerprint(ofHost name: String) throws -> String {
        let shown = try runAlone(["/usr/bin/ssh-keygen", "-l", "-f", daemon.path(sshFile("host-\(name).pub"))])
        guard let word = shown.output.split(separator: " ").first(where: { $0.hasPrefix("SHA256:") }) else {
            throw TestSupportError("ssh-keygen -l: \(shown.output)")
        }
        return String(word)
    }

    /// A login to a host; `command` runs there.
    ///
    /// - Parameter prefix: what starts ssh.
    func login(
        _ host: String, _ command: String = "echo logged in", options: [String] = [], answers: [String] = [],
        prefix: [String] = [], timeout: Double = 60, atFirstPrompt act: ((StandingQuestion) throws -> Void)? = nil
    ) throws -> PlayedTerminal {
        try play(
            prefix + ["/usr/bin/ssh"] + clientOptions + options + [host, command], answers: answers, timeout: timeout,
            atFirstPrompt: act)
    }

    var clientOptions: [String] {
        [
            "-F", daemon.path(sshFile("config")), "-o", "UserKnownHostsFile=\(quoted(sshFile("known")))", "-o",
            "GlobalKnownHostsFile=/dev/null", "-o", "PasswordAuthentication=no", "-o",
            "KbdInteractiveAuthentication=no", "-o", "IdentityFile=none", "-T",
        ]
    }

    /// Lets a key log in.
    func authorize(_ line: String) throws { try append(sshFile("authorized"), line + "\n") }

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

    /// Waits until the log has such a record.
    ///
    /// - Returns: false if that does not come.
    func logs(_ isWanted: ([String: Any]) -> Bool) throws -> Bool {
        for _ in 0..<100 {
            if try log().contains(where: isWanted) { return true }
            usleep(100_000)
        }
        return false
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
