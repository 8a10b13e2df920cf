import ArgumentParser
import DoorSupport
import Foundation
import Glibc
import OstiaryClient
import UnixSocket

struct SSHSetup: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "setup",
        abstract: "Make ssh and git find the agent.",
        discussion: """
            It enables the agent's systemd socket for you, so that the agent starts at its first use, and names the socket \
            in ~/.config/environment.d, which programs read from your next login on. With --ssh-config it names the socket in \
            ~/.ssh/config, too: ssh then finds it also where nothing sets SSH_AUTH_SOCK, as in a login over ssh. It says what \
            it did, and --undo takes that back.

            Examples:
              ostiary ssh setup
              ostiary ssh setup --ssh-config
              ostiary ssh setup --undo
            """)

    @Flag(help: "Also name the agent in ~/.ssh/config (IdentityAgent).") var sshConfig = false
    @Flag(help: "Take back what a former setup did.") var undo = false
    @OptionGroup var json: JSONFlag

    func validate() throws {
        guard !undo || !sshConfig else { throw ValidationError("--undo takes back all; leave --ssh-config out.") }
    }

    func run() throws {
        let setup = AgentSetup(home: try AgentSetup.homeFolder())
        var steps: [String] = []
        if undo { steps = try setup.undo() } else { steps = try setup.apply(sshConfig: sshConfig) }
        if json.isGiven { return try JSONOutput.print(["steps": steps]) }
        for step in steps { StandardError.line(step.visibleLine) }
    }
}

/// The places where ssh and other programs look for an agent.
struct AgentSetup {
    /// As the user manager expands it.
    static let socket = "${XDG_RUNTIME_DIR}/ostiary/ssh-agent.sock"
    static let unit = "ostiary-ssh-agent.socket"
    private static let begin = "# Begin of `ostiary ssh setup`, which removes these lines with --undo."
    private static let end = "# End of `ostiary ssh setup`."

    /// The user's home folder.
    let home: String
    /// Turns a unit of the user manager on or off; false when that failed.
    var switchUnit: (_ isOn: Bool) -> Bool = AgentSetup.switchUnit

    init(home: String) { self.home = home }

    private var environmentFile: String { "\(home)/.config/environment.d/60-ostiary-ssh-agent.conf" }
    private var configFile: String { "\(home)/.ssh/config" }

    static func homeFolder() throws -> String {
        guard let home = ProcessInfo.processInfo.environment["HOME"], PathName.isAbsolute(home) else {
            throw CommandError.setup("HOME names no folder, so nothing was written.")
        }
        return home
    }

    // MARK: doing it

    /// What was done, a sentence each.
    func apply(sshConfig: Bool) throws -> [String] {
        var steps = [
            switchUnit(true)
                ? "Enabled \(Self.unit): the agent starts at its first use."
                : "The socket unit \(Self.unit) was not enabled; where systemd runs, `systemctl --user enable --now \(Self.unit)` "
                    + "says why. Without it start `ostiary-ssh-agent` yourself."
        ]
        try write("SSH_AUTH_SOCK=\(Self.socket)\n", to: environmentFile)
        steps.append("Wrote \(environmentFile): programs find the agent from your next login on.")
        if sshConfig {
            try changeConfig { Self.block + $0 }
            steps.append("Named the agent in \(configFile): ssh finds it everywhere.")
        } else {
            steps.append(
                "For ssh alone, also where SSH_AUTH_SOCK is not set: `IdentityAgent \(Self.socket)` in \(configFile), which "
                    + "--ssh-config writes.")
        }
        return steps + [
            "In a shell that runs already: export SSH_AUTH_SOCK=\"$XDG_RUNTIME_DIR/ostiary/ssh-agent.sock\""
        ]
    }

    func undo() throws -> [String] {
        var steps = [
            switchUnit(false)
                ? "Disabled \(Self.unit)." : "The socket unit \(Self.unit) was not disabled; it was not enabled."
        ]
        if unsafe unlink(environmentFile) == 0 {
            steps.append("Removed \(environmentFile).")
        } else if errno != ENOENT {
            throw CommandError.unwritableOutput(SystemCallError("unlink", subject: environmentFile))
        }
        if try text(of: configFile).contains(Self.begin) {
            try changeConfig { $0 }
            steps.append("Removed the agent from \(configFile).")
        }
        return steps
    }

    /// The lines stand first, because the first value of a setting counts.
    private static var block: String { "\(begin)\nIdentityAgent \(socket)\n\(end)\n" }

    /// Rewrites ssh's configuration without the lines of a former setup.
    private func changeConfig(_ change: (String) -> String) throws {
        let present = try text(of: configFile)
        let changed = change(Self.withoutBlock(present))
        guard changed != present else { return }
        try write(changed, to: configFile)
    }

    static func withoutBlock(_ text: String) -> String {
        guard let first = text.range(of: begin + "\n"), let last = text.range(of: end + "\n"),
            first.lowerBound < last.lowerBound
        else { return text }
        return text.replacingCharacters(in: first.lowerBound..<last.upperBound, with: "")
    }

    /// Empty when there is no file. One that cannot be read is never overwritten.
    private func text(of path: String) throws -> String {
        guard AtomicFile.isThere(path), let file = InputFile(argument: path) else { return "" }
        guard let text = String(data: try file.data(limit: 1 << 20), encoding: .utf8) else {
            throw CommandError.setup(
                "\(path.quotedName) is no text in UTF-8, so it was left as it is. Change it by hand.")
        }
        return text
    }

    private func write(_ text: String, to path: String) throws {
        let folder = PathName.folder(of: path)
        do {
            try FileManager.default.createDirectory(
                atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch { throw CommandError.setup("The folder \(folder.quotedName) cannot be made (\(error)).") }
        do {
            try unsafe Data(text.utf8).withUnsafeBytes { bytes in
                try unsafe AtomicFile.write(bytes, to: path, mode: 0o600, replacing: true)
            }
        } catch let error as SystemCallError { throw CommandError.unwritableOutput(error) }
    }

    private static func switchUnit(_ isOn: Bool) -> Bool {
        let program = "/usr/bin/systemctl"
        guard FileManager.default.isExecutableFile(atPath: program) else { return false }
        let environment = ProcessInfo.processInfo.environment.map { "\($0)=\($1)" }
        // Its own words would be about units, which the person did not name.
        let child = try? ChildProcess(
            program: program,
            arguments: ["systemctl", "--user", "--quiet", isOn ? "enable" : "disable", "--now", unit],
            environment: environment, descriptors: [-1, -1, -1], leadsSession: false)
        return child?.waitForStatus() == 0
    }
}

/// Whether programs of this shell find the agent, for the doctor.
struct AgentExamination {
    let socket: String?
    let own: String
    /// Whether the socket is there. Nobody connects to it, because that would start the agent.
    let isPresent: Bool

    /// Nil where there are no keys for SSH: then nobody needs the agent.
    static func current() -> AgentExamination? {
        // The doctor tells of a daemon that does not answer by itself.
        guard let keys = try? SSHKeys.all(), !keys.isEmpty, let folder = try? DoorListener.runtimeFolder() else {
            return nil
        }
        let own = folder + "/ssh-agent.sock"
        return AgentExamination(
            socket: ProcessInfo.processInfo.environment["SSH_AUTH_SOCK"].flatMap { $0.isEmpty ? nil : $0 }, own: own,
            isPresent: DoorSocket(at: own) == .present)
    }

    var finding: FindingDocument {
        let check = "ssh-agent"
        guard isPresent else {
            return FindingDocument(
                check: check, verdict: .problem, message: "There are keys for SSH, and no agent has the socket \(own).",
                advice: "Run `ostiary ssh setup`, or start `ostiary-ssh-agent`.")
        }
        guard let socket else {
            return FindingDocument(
                check: check, verdict: .notice, message: "The agent is there, and SSH_AUTH_SOCK is not set here.",
                advice:
                    "Run `ostiary ssh setup`, and log in again; ssh alone finds it through `ostiary ssh setup --ssh-config`."
            )
        }
        guard socket == own else {
            return FindingDocument(
                check: check, verdict: .notice, message: "SSH_AUTH_SOCK names another agent: \(socket).",
                advice:
                    "That agent's keys are shown beside Ostiary's if `ostiary-ssh-agent` runs with --upstream and its "
                    + "socket. Then let SSH_AUTH_SOCK be \(own).")
        }
        return FindingDocument(
            check: check, verdict: .ok, message: "ssh finds the agent through SSH_AUTH_SOCK.", advice: "")
    }
}
