import AccessControl
import ArgumentParser
import Foundation
import OstiaryClient
import OstiaryMessages
import SSHAgent
import SSHFormats
import UnixSocket

struct GitCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "git",
        abstract: "Sign git's commits and tags with a key for SSH.",
        discussion: """
            Example:
              ostiary git setup commits --sign-commits
            """,
        subcommands: [GitSetup.self])
}

struct GitSetup: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "setup",
        abstract: "Configure git to sign with a key of `ostiary ssh`.",
        discussion: """
            It sets gpg.format to ssh, user.signingKey to the key, and gpg.ssh.allowedSignersFile to a list in which it \
            enters your address and the key, so that `git verify-commit` knows your signatures. git signs through \
            ssh-keygen and the agent; the question says the namespace git and the program.

            Examples:
              ostiary ssh create commits --namespace git
              ostiary git setup commits --sign-commits
              ostiary git setup commits --local --email me@example.org
            """)

    @Argument(help: "The name of the key.", transform: RightArgument.checkedName) var name: String
    @Flag(help: "Configure the repository of this folder, not all of yours.") var local = false
    @Flag(help: "Sign each commit and tag, not only those with -S.") var signCommits = false
    @Option(help: ArgumentHelp("Your address in the list (default: git's user.email).", valueName: "address"))
    var email: String?
    @OptionGroup var json: JSONFlag

    func run() throws {
        guard let key = try SSHKeys.all().map(\.key).first(where: { $0.name == name }) else {
            throw OstiaryError(
                .init(.notFound), "There is no key for SSH called \(name.quotedName). `ostiary ssh list` shows them.")
        }
        guard key.constraints.permits(namespace: "git") else {
            throw CommandError.sshKey(
                "The key \(name.quotedName) makes no signatures in the namespace git, so git was not configured. Make one with "
                    + "`ostiary ssh create NAME --namespace git`.")
        }
        let git = try GitConfiguration(isLocal: local)
        let address = try self.email ?? git.value(of: "user.email") ?? Self.missingAddress()
        var steps = try configure(git, key, address)
        // ssh-keygen, through which git signs, finds an agent by SSH_AUTH_SOCK alone.
        if let lack = try AgentExamination.ofThisShell().lack { steps.append(lack) }
        if json.isGiven { return try JSONOutput.print(["steps": steps]) }
        for step in steps { StandardError.line(step.visibleLine) }
    }

    private static func missingAddress() throws -> String {
        throw CommandError.setup(
            "git knows no address of yours, which its list of signers needs. Set user.email, or give --email ADDRESS.")
    }

    private func configure(_ git: GitConfiguration, _ key: HeldKey, _ address: String) throws -> [String] {
        guard !address.isEmpty, address.utf8.allSatisfy({ (0x21...0x7E).contains($0) && !Self.special.contains($0) })
        else {
            throw CommandError.usage("An address in git's list of signers has no blanks, quotes, commas and patterns.")
        }
        let list = try AllowedSigners(path: git.path(of: "gpg.ssh.allowedSignersFile"))
        var steps: [String] = []
        if try list.add("\(address) namespaces=\"git\" \(key.publicKey.line)") {
            steps.append("Entered \(address) and the key in \(list.path).")
        }
        try git.set("gpg.format", "ssh")
        try git.set("user.signingKey", "key::\(key.publicKey.line)")
        try git.set("gpg.ssh.allowedSignersFile", list.path)
        steps.append("git signs with \(name) when you say `git commit -S`.")
        if signCommits {
            try git.set("commit.gpgSign", "true")
            try git.set("tag.gpgSign", "true")
            steps[steps.count - 1] = "git signs each commit and tag with \(name)."
        }
        return steps
    }

    /// What has a meaning in a list of signers (ssh-keygen(1), ALLOWED SIGNERS).
    private static let special = Set("\"',*?!#".utf8)
}

/// git's own settings, changed by git itself.
struct GitConfiguration {
    private let program: String
    private let isLocal: Bool

    init(isLocal: Bool) throws {
        let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin").split(separator: ":")
        guard
            let program = folders.map({ "\($0)/git" }).first(where: {
                PathName.isAbsolute($0) && FileManager.default.isExecutableFile(atPath: $0)
            })
        else { throw CommandError.setup("git is not installed, so nothing was configured.") }
        (self.program, self.isLocal) = (program, isLocal)
    }

    func set(_ name: String, _ value: String) throws {
        let (status, text) = try run(["config", isLocal ? "--local" : "--global", name, value])
        guard status == 0 else { throw CommandError.setup("git did not set \(name): \(text)") }
    }

    /// Nil when it is not set.
    func value(of name: String) throws -> String? {
        let (status, text) = try run(["config", "--get", name])
        return status == 0 && !text.isEmpty ? text : nil
    }

    /// The same for a setting that is a path, with `~` written out.
    func path(of name: String) throws -> String? {
        let (status, text) = try run(["config", "--type=path", "--get", name])
        return status == 0 && !text.isEmpty ? text : nil
    }

    private func run(_ arguments: [String]) throws -> (status: CInt, text: String) {
        do throws(SystemCallError) {
            let report = try ReportPipe()
            let child = try ChildProcess(
                program: program, arguments: ["git"] + arguments,
                environment: ProcessInfo.processInfo.environment.map { "\($0)=\($1)" },
                descriptors: [-1, report.writing, -1], leadsSession: false,
                workingDirectory: FileManager.default.currentDirectoryPath)
            let text = report.readAll()
            return (child.waitForStatus(), text)
        } catch { throw CommandError.commandNotStarted(error) }
    }
}

/// git's list of the keys whose signatures it accepts, and of whom.
struct AllowedSigners {
    let path: String

    /// - Parameter configured: the file that git uses; nil for a new one in git's folder.
    init(path configured: String?) throws {
        if let configured {
            path = configured
            return
        }
        let environment = ProcessInfo.processInfo.environment
        if let folder = environment["XDG_CONFIG_HOME"], PathName.isAbsolute(folder) {
            path = "\(folder)/git/allowed_signers"
        } else {
            path = "\(try AgentSetup.homeFolder())/.config/git/allowed_signers"
        }
    }

    /// Adds a line; false when it is there.
    func add(_ line: String) throws -> Bool {
        let present = try text()
        guard !present.split(separator: "\n").contains(where: { $0 == line }) else { return false }
        let separator = present.isEmpty || present.hasSuffix("\n") ? "" : "\n"
        try write("\(present)\(separator)\(line)\n")
        return true
    }

    private func text() throws -> String {
        guard AtomicFile.isThere(path), let file = InputFile(argument: path) else { return "" }
        guard let text = String(data: try file.data(limit: 1 << 20), encoding: .utf8) else {
            throw CommandError.setup("\(path.quotedName) is no text in UTF-8, so it was left as it is.")
        }
        return text
    }

    private func write(_ text: String) throws {
        let folder = PathName.folder(of: path)
        do { try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true) } catch {
            throw CommandError.setup("The folder \(folder.quotedName) cannot be made (\(error)).")
        }
        do {
            unsafe try Data(text.utf8).withUnsafeBytes { bytes in
                try unsafe AtomicFile.write(bytes, to: path, mode: 0o644, replacing: true)
            }
        } catch let error as SystemCallError { throw CommandError.unwritableOutput(error) }
    }
}
