import Foundation
import Glibc
import Testing
import UnixSocket

@testable import ostiary

/// `ostiary ssh setup` in a home folder of the test, without a service manager.
@Suite("Setting up the agent for ssh")
final class AgentSetupTests {
    private static let dropIn = ".config/systemd/user/ostiary-ssh-agent.service.d/upstream.conf"
    private static let begin = "# Begin of `ostiary ssh setup`, which removes these lines with --undo.\n"
    private static let end = "# End of `ostiary ssh setup`.\n"

    private let folder: CommandFolder
    private var controls: [[String]] = []

    init() throws { folder = try CommandFolder() }

    /// - Parameter socket: the agent's; that of a user manager if nil.
    private func setup(_ socket: String? = nil, _ variables: [String: String] = [:]) throws -> AgentSetup {
        AgentSetup(
            home: folder.url.path, socket: try ConfiguredPath(socket ?? ConfiguredPath.standardSocket),
            program: "/usr/libexec/ostiary/ostiary-ssh-agent", present: PresentAgent(variables),
            control: { arguments in
                self.controls.append(arguments)
                return true
            })
    }

    private func text(_ name: String) throws -> String {
        try String(contentsOfFile: folder.path(name), encoding: .utf8)
    }

    private func write(_ name: String, _ text: String) throws {
        try FileManager.default.createDirectory(
            atPath: PathName.folder(of: folder.path(name)), withIntermediateDirectories: true)
        _ = try folder.file(name, Data(text.utf8))
    }

    private func isThere(_ name: String) -> Bool { FileManager.default.fileExists(atPath: folder.path(name)) }

    /// Runs a program with these variables alone.
    private func run(
        _ program: String, _ arguments: [String], _ variables: [String: String] = [:]
    ) throws -> (status: Int32, output: String) {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: program)
        process.arguments = arguments
        let own = ["HOME": folder.url.path, "PATH": "/usr/bin:/bin"]
        process.environment = own.merging(variables) { _, given in given }
        process.standardInput = FileHandle.nullDevice
        let pipe = Pipe()
        (process.standardOutput, process.standardError) = (pipe, pipe)
        try process.run()
        let output = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        return (process.terminationStatus, output)
    }

    // MARK: ~/.ssh/config

    /// OpenSSH ends with an error where a variable of the line is not set.
    @Test func `ssh reads its line where XDG_RUNTIME_DIR is not set`() throws {
        for path in [ConfiguredPath.standardSocket, folder.path("with blank, 100%n/ssh-agent.sock")] {
            _ = try setup(path).apply(sshConfig: true)
            let shown = try run("/usr/bin/ssh", ["-G", "-F", folder.path(".ssh/config"), "host.example"])
            #expect(shown.status == 0, "\(shown.output)")
            #expect(shown.output.split(separator: "\n").contains("identityagent \(path)"), "\(shown.output)")
        }
        _ = try setup().apply(sshConfig: true)
        #expect(try text(".ssh/config").contains("\nIdentityAgent /run/user/%i/ostiary/ssh-agent.sock\n"))
    }

    @Test func `a block of the former form is replaced by each setup`() throws {
        let former = Self.begin + "IdentityAgent ${XDG_RUNTIME_DIR}/ostiary/ssh-agent.sock\n" + Self.end
        try write(".ssh/config", former + "Host a\n  User b\n")
        _ = try setup().apply()
        #expect(
            try text(".ssh/config") == Self.begin + "IdentityAgent /run/user/%i/ostiary/ssh-agent.sock\n" + Self.end
                + "Host a\n  User b\n")
    }

    @Test func `a session without XDG_RUNTIME_DIR has the socket of the user manager, if that runs`() throws {
        let managed = folder.url.path + "/ostiary/ssh-agent.sock"
        for variables in [[:], ["XDG_RUNTIME_DIR": ""]] {
            #expect(try ConfiguredPath.ownSocket(variables, userManager: folder.url.path) == managed)
            #expect(try ConfiguredPath.ownSocket(variables, userManager: folder.path("none")) != managed)
        }
        let elsewhere = ["XDG_RUNTIME_DIR": "/elsewhere"]
        #expect(try ConfiguredPath.ownSocket(elsewhere, userManager: folder.url.path) != managed)
    }

    // MARK: ~/.profile

    @Test func `the profile sets SSH_AUTH_SOCK where the socket is, and never over a forwarded agent`() throws {
        let own = folder.path("own.sock")
        _ = try setup(own).apply(profile: true)
        func shown(_ variables: [String: String]) throws -> String {
            // -e and -u, because a profile may set them.
            let script = ". \"$HOME/.profile\"; echo \"${SSH_AUTH_SOCK-unset}\""
            let ended = try run("/bin/sh", ["-euc", script], variables)
            #expect(ended.status == 0, "\(ended.output)")
            return ended.output
        }
        let overSSH = "192.0.2.1 50000 192.0.2.2 22"
        #expect(try shown([:]) == "unset\n")
        #expect(try shown(["SSH_AUTH_SOCK": "/run/other"]) == "/run/other\n")
        let listener = try UnixSocket.listen(at: own)
        defer { listener.shutdown() }
        #expect(try shown([:]) == own + "\n")
        #expect(try shown(["SSH_AUTH_SOCK": "/run/other"]) == own + "\n")
        #expect(try shown(["SSH_CONNECTION": overSSH]) == own + "\n")
        #expect(try shown(["SSH_CONNECTION": overSSH, "SSH_AUTH_SOCK": "/tmp/forwarded"]) == "/tmp/forwarded\n")
    }

    @Test func `the profile keeps its lines and its mode, and undo takes the block away`() throws {
        try write(".profile", "PATH=$PATH:/mine\n")
        // Whatever the umask of the test is, it leaves the owner's bits.
        #expect(chmod(folder.path(".profile"), 0o700) == 0)
        try write(".bash_profile", "")
        let steps = try setup().apply(profile: true)
        let changed = try text(".profile")
        #expect(changed.hasPrefix(Self.begin) && changed.hasSuffix("fi\n" + Self.end + "PATH=$PATH:/mine\n"))
        #expect(try folder.mode(".profile") == 0o700)
        let instead = "bash reads \(folder.path(".bash_profile")) instead"
        #expect(steps.contains { $0.contains(instead) }, "\(steps)")
        // A block of a former setup is renewed by each one.
        try write(".profile", Self.begin + "export SSH_AUTH_SOCK=/former\n" + Self.end + "PATH=$PATH:/mine\n")
        _ = try setup().apply()
        #expect(try text(".profile") == changed)
        _ = try setup().undo()
        #expect(try text(".profile") == "PATH=$PATH:/mine\n")
    }

    @Test func `setup says which logins its file does not reach`() throws {
        let unreached = "Logins on a console, over ssh and under X11 do not read that file; --profile reaches them."
        #expect(try setup().apply().contains(unreached))
        #expect(try !setup().apply(profile: true).contains(unreached))
    }

    // MARK: --upstream

    @Test func `upstream writes a drop-in, loads it once, and undo removes it`() throws {
        let other = try ConfiguredPath("/run/user/7/50% gcr/ssh")
        _ = try setup().apply(upstream: other)
        #expect(
            try text(Self.dropIn) == Self.begin + """
                [Service]
                ExecStart=
                ExecStart="/usr/libexec/ostiary/ostiary-ssh-agent" --upstream "/run/user/7/50%% gcr/ssh"

                """ + Self.end)
        let loading = [["daemon-reload"], ["try-restart", "ostiary-ssh-agent.service"]]
        #expect(controls == [["enable", "--now", "ostiary-ssh-agent.socket"]] + loading)
        // Another restart would take away keys of ssh-add.
        _ = try setup().apply(upstream: other)
        #expect(controls.count == 4 && controls.last?.first == "enable")
        _ = try setup().undo()
        #expect(!isThere(Self.dropIn) && !isThere(PathName.folder(of: Self.dropIn)))
        #expect(controls.last == ["daemon-reload"])
    }

    @Test func `upstream refuses Ostiary's own socket by each of its names, and nothing is written`() throws {
        let own = folder.path("own.sock")
        let listener = try UnixSocket.listen(at: own)
        defer { listener.shutdown() }
        #expect(symlink(own, folder.path("link.sock")) == 0)
        for path in [own, folder.path("link.sock"), folder.path("./own.sock"), ConfiguredPath.standardSocket] {
            let error = #expect(throws: CommandError.self) {
                _ = try self.setup(own).apply(upstream: try ConfiguredPath(path))
            }
            guard case .usage(let words) = error else {
                Issue.record("\(path): \(String(describing: error))")
                continue
            }
            #expect(words.contains("Ostiary's own agent"))
        }
        #expect(controls.isEmpty && !isThere(".config"))
    }

    @Test(arguments: [
        "relative/agent.sock", "", "/a\nExecStartPost=/bin/sh", "/a\"b", "/a'b", "/a\\b", "/a$b", "/a`b", "/a\u{7F}",
    ])
    func `a path that could add a setting is refused`(path: String) {
        let error = #expect(throws: CommandError.self) { _ = try ConfiguredPath(path) }
        guard case .usage = error else {
            Issue.record("\(String(describing: error))")
            return
        }
    }

    @Test func `a drop-in of the person's own is left alone`() throws {
        try write(Self.dropIn, "[Service]\nNice=1\n")
        let error = #expect(throws: CommandError.self) {
            _ = try self.setup().apply(upstream: try ConfiguredPath("/run/other"))
        }
        guard case .setup = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        _ = try setup().undo()
        #expect(try text(Self.dropIn) == "[Service]\nNice=1\n")
    }

    // MARK: displaced agents

    private func displaced(_ variables: [String: String], sshConfig: Bool = false) throws -> [String] {
        try setup(nil, variables).apply(sshConfig: sshConfig).filter {
            $0.contains("takes the place of") || $0.contains("forwarded to this login")
        }
    }

    @Test func `setup names the agent that SSH_AUTH_SOCK named, and how to go on using it`() throws {
        #expect(try displaced([:]) == [] && displaced(["SSH_AUTH_SOCK": ConfiguredPath.standardSocket]) == [])
        let other = ["SSH_AUTH_SOCK": "/run/user/7/gcr/ssh"]
        let said = try #require(try displaced(other).first)
        #expect(said.contains("`ostiary ssh setup --upstream /run/user/7/gcr/ssh`"), "\(said)")
        for path in ["/tmp/ssh-XXXXabcd/agent.123", "/home/me/.ssh/agent/s.abc.agent.def"] {
            let said = try #require(try displaced(["SSH_AUTH_SOCK": path]).first)
            #expect(said.contains(path) && said.contains("ssh-add") && !said.contains("--upstream"), "\(said)")
        }
        _ = try setup().apply(upstream: try ConfiguredPath("/run/user/7/gcr/ssh"))
        let chained = try #require(try displaced(other).first)
        #expect(chained.hasSuffix("Ostiary's agent shows its keys, too."), "\(chained)")
    }

    @Test func `a forwarded agent is displaced by the line for ssh alone`() throws {
        let forwarded = ["SSH_AUTH_SOCK": "/tmp/ssh-XXXXabcd/agent.123", "SSH_CONNECTION": "192.0.2.1 1 192.0.2.2 22"]
        #expect(try displaced(forwarded) == [])
        let said = try displaced(forwarded, sshConfig: true)
        #expect(
            said == ["ssh no longer asks the agent that was forwarded to this login (/tmp/ssh-XXXXabcd/agent.123)."])
    }

    @Test func `setup names the lines IdentityAgent that lose, and those that win`() throws {
        try write(
            ".ssh/config",
            """
            Host a
            \tidentityagent = "/run/x y/agent"\u{20}
            Host b
              IdentityAgent ~/.vault/agent.sock
            # IdentityAgent /no
            Host c
             IdentityAgent none
            IdentityAgent /run/user/%i/ostiary/ssh-agent.sock
            IdentityFile /no

            """)
        func said(_ steps: [String]) -> [String] { steps.filter { $0.hasPrefix("`IdentityAgent ") } }
        let winning = said(try setup().apply())
        #expect(winning.count == 3 && winning.allSatisfy { $0.contains("still counts for ssh") }, "\(winning)")
        let losing = said(try setup().apply(sshConfig: true))
        #expect(losing.count == 3 && losing.allSatisfy { $0.contains("no longer counts") }, "\(losing)")
        #expect(losing[0].contains("--upstream /run/x y/agent`"), "\(losing)")
        #expect(losing[1].hasSuffix("because the first value does."), "\(losing)")
        #expect(losing[2].contains("--upstream \(folder.path(".vault/agent.sock"))`"), "\(losing)")
    }

    // MARK: the doctor and git

    @Test func `what programs of this shell lack is said with its remedy`() {
        func examination(_ variables: [String: String], isPresent: Bool = true) -> AgentExamination {
            AgentExamination(named: PresentAgent(variables), own: "/run/own.sock", isPresent: isPresent)
        }
        #expect(examination(["SSH_AUTH_SOCK": "/run/own.sock"]).lack == nil)
        #expect(examination([:], isPresent: false).finding.verdict == .problem)
        #expect(examination(["SSH_AUTH_SOCK": ""]).lack?.contains("ostiary ssh setup --profile") == true)
        let other = examination(["SSH_AUTH_SOCK": "/run/other"])
        #expect(other.finding.verdict == .notice)
        #expect(other.lack?.contains("`ostiary ssh setup --upstream /run/other`") == true)
        let forwarded = examination(["SSH_AUTH_SOCK": "/run/other", "SSH_CONNECTION": "192.0.2.1 1 192.0.2.2 22"])
        #expect(forwarded.lack?.contains("forwarded") == true && forwarded.lack?.contains("--upstream") == false)
    }
}
