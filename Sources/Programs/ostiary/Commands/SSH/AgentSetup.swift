import DoorSupport
import Foundation
import Glibc
import OstiaryClient
import UnixSocket

/// The places where ssh and other programs look for an agent.
struct AgentSetup {
    private static let unit = "ostiary-ssh-agent.socket"
    private static let service = "ostiary-ssh-agent.service"
    private static let begin = "# Begin of `ostiary ssh setup`, which removes these lines with --undo."
    private static let end = "# End of `ostiary ssh setup`."

    /// The user's home folder.
    let home: String
    /// The agent's socket.
    let socket: ConfiguredPath
    /// The agent's program; nil where it is not installed.
    var program = InstalledDoor(.sshAgent).path
    /// The agent that programs of this shell ask until now.
    var present = PresentAgent.ofThisShell
    /// Runs `systemctl --user` with these arguments; false when that failed.
    var control: (_ arguments: [String]) -> Bool = AgentSetup.control

    private var environmentFile: String { "\(home)/.config/environment.d/60-ostiary-ssh-agent.conf" }
    private var configFile: String { "\(home)/.ssh/config" }
    private var profileFile: String { "\(home)/.profile" }
    private var dropInFile: String { "\(home)/.config/systemd/user/\(Self.service).d/upstream.conf" }

    static func homeFolder() throws -> String {
        guard let home = ProcessInfo.processInfo.environment["HOME"], PathName.isAbsolute(home) else {
            throw CommandError.setup("HOME names no folder, so nothing was written.")
        }
        return home
    }

    // MARK: doing it

    /// What was done, a sentence each. Blocks of a former setup are renewed.
    func apply(sshConfig: Bool = false, profile: Bool = false, upstream: ConfiguredPath? = nil) throws -> [String] {
        // Before anything is written, because it may refuse.
        let dropIn = try upstream.map { try self.dropIn(for: $0) }
        var steps = [
            control(["enable", "--now", Self.unit])
                ? "Enabled \(Self.unit): the agent starts at its first use."
                : "The socket unit \(Self.unit) was not enabled; where systemd runs, `systemctl --user enable --now \(Self.unit)` "
                    + "says why. Without it start `ostiary-ssh-agent` yourself."
        ]
        // The user manager, which reads the file, always has the variable.
        try write("SSH_AUTH_SOCK=${XDG_RUNTIME_DIR}\(ConfiguredPath.ownName)\n", to: environmentFile)
        steps.append(
            "Wrote \(environmentFile): what your user manager starts finds the agent from your next login on, as GNOME and KDE "
                + "under Wayland.")
        steps += try changeProfile(profile)
        steps.append(try changeConfig(sshConfig))
        if let upstream, let dropIn { steps.append(try chain(upstream, dropIn)) }
        return try steps + displaced() + ["In a shell that runs already: export SSH_AUTH_SOCK=\(socket.inShell)"]
    }

    /// Changes the file if that is wanted, or if a former setup did.
    private func changeProfile(_ isWanted: Bool) throws -> [String] {
        let hasBlock = try text(of: profileFile).contains(Self.begin)
        guard isWanted || hasBlock else {
            return ["Logins on a console, over ssh and under X11 do not read that file; --profile reaches them."]
        }
        try replaceBlock(of: profileFile, with: profileBlock)
        let steps = [
            "Changed \(profileFile): from your next login on, shells of a console and of ssh find the agent, and desktops that "
                + "read the file (with GDM and SDDM; LightDM reads ~/.xsessionrc). zsh and fish do not read it. An agent that "
                + "ssh forwards stays."
        ]
        let others = ["\(home)/.bash_profile", "\(home)/.bash_login"].filter(AtomicFile.isThere)
        return steps + others.prefix(1).map { "bash reads \($0) instead; add the line `. ~/.profile` there." }
    }

    /// Changes the file if that is wanted, or if a former setup did.
    private func changeConfig(_ isWanted: Bool) throws -> String {
        let hasBlock = try text(of: configFile).contains(Self.begin)
        guard isWanted || hasBlock else {
            return "For ssh alone, also where SSH_AUTH_SOCK is not set: `IdentityAgent \(socket.inSSHConfig)` in "
                + "\(configFile), which --ssh-config writes."
        }
        try replaceBlock(of: configFile, with: configBlock)
        return "Named the agent in \(configFile): ssh asks it in each session, also where SSH_AUTH_SOCK names another "
            + "one."
    }

    /// The lines stand first, because the first value of a setting counts.
    private var configBlock: String { "\(Self.begin)\nIdentityAgent \(socket.inSSHConfig)\n\(Self.end)\n" }

    /// The lines stand first, because a profile may end by becoming another program. An agent that ssh forwards was chosen for this login.
    private var profileBlock: String {
        """
        \(Self.begin)
        if [ -S \(socket.inShell) ] && { [ -z "${SSH_CONNECTION:-}" ] || [ -z "${SSH_AUTH_SOCK:-}" ]; }; then
            export SSH_AUTH_SOCK=\(socket.inShell)
        fi
        \(Self.end)

        """
    }

    // MARK: other agents

    /// The text of the drop-in with which the unit's agent shows another one's keys.
    private func dropIn(for upstream: ConfiguredPath) throws -> String {
        guard ![socket.path, ConfiguredPath.standardSocket].contains(where: upstream.leadsTo) else {
            throw CommandError.usage(
                "--upstream names the socket of Ostiary's own agent, which would ask itself. Name the socket of another "
                    + "agent.")
        }
        guard let program else {
            throw CommandError.setup("ostiary-ssh-agent is not installed, so nothing was written.")
        }
        let present = try text(of: dropInFile)
        guard present.isEmpty || present.hasPrefix(Self.begin) else {
            throw CommandError.setup(
                "\(dropInFile.quotedName) is not of this command, so nothing was written. Move it away, or add --upstream "
                    + "there.")
        }
        return """
            \(Self.begin)
            [Service]
            ExecStart=
            ExecStart=\(try ConfiguredPath(program).inUnit) --upstream \(upstream.inUnit)
            \(Self.end)

            """
    }

    private func chain(_ upstream: ConfiguredPath, _ dropIn: String) throws -> String {
        // A restart makes the agent forget keys, so there is none without a change.
        guard try text(of: dropInFile) != dropIn else {
            return "The agent shows the keys of \(upstream.path) already."
        }
        try write(dropIn, to: dropInFile)
        let isRestarted = control(["daemon-reload"]) && control(["try-restart", Self.service])
        return "Wrote \(dropInFile): the agent shows the keys of \(upstream.path) behind its own."
            + (AtomicFile.isSpecial(upstream.path) ? "" : " Nothing has that socket now.")
            + (isRestarted
                ? " If it ran, it was started again, and ssh-add has to add its keys again."
                : " Without systemd start `ostiary-ssh-agent --upstream \(upstream.path)`.")
    }

    /// The agents that programs asked until now and that lose, with the way to go on using them.
    private func displaced() throws -> [String] {
        let config = try text(of: configFile)
        let isInConfig = config.contains(Self.begin)
        let others = Self.identityAgents(in: Self.withoutBlock(config)).filter {
            $0 != socket.path && !$0.hasSuffix(ConfiguredPath.ownName)
        }
        let lines = try Set(others).sorted().map { value in
            let line = "`IdentityAgent \(value)` in \(configFile)"
            guard isInConfig else {
                return "\(line) still counts for ssh, and not SSH_AUTH_SOCK; --ssh-config comes before it."
            }
            let path = value.hasPrefix("~/") ? home + value.dropFirst() : value
            let advice = PathName.isAbsolute(path) ? " " + (try chainingAdvice(path)) : ""
            return "\(line) no longer counts, because the first value does.\(advice)"
        }
        return try lines + displacedVariable(isInConfig)
    }

    private func displacedVariable(_ isInConfig: Bool) throws -> [String] {
        guard let other = present.other(than: socket.path) else { return [] }
        guard !present.isOverSSH else {
            return isInConfig ? ["ssh no longer asks the agent that was forwarded to this login (\(other))."] : []
        }
        let advice = try chainingAdvice(other)
        return ["Ostiary's agent takes the place of \(other), which SSH_AUTH_SOCK names here. \(advice)"]
    }

    private func chainingAdvice(_ socket: String) throws -> String {
        try text(of: dropInFile).contains("--upstream \"\(socket)\"\n")
            ? "Ostiary's agent shows its keys, too." : PresentAgent.chainingAdvice(socket)
    }

    /// The values of `IdentityAgent` in a configuration of ssh (ssh_config(5)). Files that it includes are not read.
    static func identityAgents(in text: String) -> [String] {
        text.split(whereSeparator: \.isNewline).compactMap { line in
            let words = line.split(maxSplits: 1) { $0.isWhitespace || $0 == "=" }
            guard words.count == 2, words[0].lowercased() == "identityagent" else { return nil }
            return words[1].trimmingCharacters(in: CharacterSet(charactersIn: " \t=\""))
        }
    }

    // MARK: undoing it

    func undo() throws -> [String] {
        var steps = [
            control(["disable", "--now", Self.unit])
                ? "Disabled \(Self.unit)." : "The socket unit \(Self.unit) was not disabled; it was not enabled."
        ]
        if try remove(environmentFile) { steps.append("Removed \(environmentFile).") }
        if try text(of: dropInFile).hasPrefix(Self.begin), try remove(dropInFile) {
            // The folder stays if it holds something else.
            unsafe rmdir(PathName.folder(of: dropInFile))
            // Without a user manager there is nothing to load.
            _ = control(["daemon-reload"])
            steps.append("Removed \(dropInFile).")
        }
        for file in [configFile, profileFile] {
            guard try text(of: file).contains(Self.begin) else { continue }
            try replaceBlock(of: file, with: "")
            steps.append("Removed the agent from \(file).")
        }
        return steps
    }

    /// False when there was none.
    private func remove(_ path: String) throws -> Bool {
        guard unsafe unlink(path) != 0 else { return true }
        guard errno == ENOENT else { throw CommandError.unwritableOutput(SystemCallError("unlink", subject: path)) }
        return false
    }

    // MARK: files

    /// Puts these lines before a file, in the place of those of a former setup.
    private func replaceBlock(of file: String, with block: String) throws {
        let present = try text(of: file)
        let changed = block + Self.withoutBlock(present)
        guard changed != present else { return }
        var status = stat()
        let mode = unsafe stat(file, &status) == 0 ? status.st_mode & 0o777 : 0o600
        try write(changed, to: file, mode: mode)
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

    private func write(_ text: String, to path: String, mode: mode_t = 0o600) throws {
        let folder = PathName.folder(of: path)
        do {
            try FileManager.default.createDirectory(
                atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch { throw CommandError.setup("The folder \(folder.quotedName) cannot be made (\(error)).") }
        do {
            try unsafe Data(text.utf8).withUnsafeBytes { bytes in
                try unsafe AtomicFile.write(bytes, to: path, mode: mode, replacing: true)
            }
        } catch let error as SystemCallError { throw CommandError.unwritableOutput(error) }
    }

    private static func control(_ arguments: [String]) -> Bool {
        let program = "/usr/bin/systemctl"
        guard FileManager.default.isExecutableFile(atPath: program) else { return false }
        let environment = ProcessInfo.processInfo.environment.map { "\($0)=\($1)" }
        // Its own words would be about units, which the person did not name.
        let child = try? ChildProcess(
            program: program, arguments: ["systemctl", "--user", "--quiet"] + arguments, environment: environment,
            descriptors: [-1, -1, -1], leadsSession: false)
        return child?.waitForStatus() == 0
    }
}
