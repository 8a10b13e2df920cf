import DaemonTestSupport
import Foundation
import Glibc
import Testing

/// `ostiary ssh` and `ostiary git` with the real daemon and OpenSSH's own programs.
@Suite("Keys for SSH and git", .serialized, .timeLimit(.minutes(10)))
struct SSHCommandEndToEndTests {
    private static let passcode = PrivateDaemon.passcode
    private let stage: AgentStage

    init() throws { stage = try AgentStage() }

    private func list() throws -> [[String: Any]] {
        let listed = try stage.runAlone([BuiltProgram.named("ostiary").path, "ssh", "list", "--json"])
        #expect(listed.status == 0, "\(listed.output)")
        let document = try JSONSerialization.jsonObject(with: Data(listed.output.utf8)) as? [String: Any]
        return try #require(document?["keys"] as? [[String: Any]])
    }

    @Test func `a key is made within its limits, listed and removed`() throws {
        let made = try stage.ostiary(
            "ssh", "create", "work", "--require", "passcode", "--host", "SHA256:" + String(repeating: "A", count: 43),
            "--namespace", "git", "--no-forwarding")
        #expect(made.status == 0 && made.shows("ecdsa-sha2-nistp256"), "\(made.screen)")
        let key = try #require(list().first)
        #expect(key["name"] as? String == "work" && key["place"] as? String == "enclave")
        #expect(key["confirmsEachSignature"] as? Bool == true && key["requires"] as? String == "passcode")
        #expect(key["namespaces"] as? [String] == ["git"] && key["neverForwarded"] as? Bool == true)
        #expect((key["hosts"] as? [[String: Any]])?.count == 1 && key["permitsUnknown"] as? Bool == false)
        #expect(try stage.ostiary("ssh", "create", "work").status == 1)
        #expect(try stage.runAlone([BuiltProgram.named("ostiary").path, "ssh", "remove", "work"]).status == 3)
        #expect(try stage.ostiary("ssh", "remove", "work", answers: ["yes"]).status == 0)
        #expect(try list().isEmpty)
        #expect(try stage.ostiary("ssh", "remove", "work", "--force").status == 1)
    }

    @Test func `the table says which leases a key permits`() throws {
        let permitting = try stage.ostiary(
            "ssh", "create", "build", "--namespace", "git", "--allow-leases", "--lease-time", "10m", "--lease-uses",
            "20")
        #expect(permitting.status == 0, "\(permitting.screen)")
        #expect(try stage.ostiary("ssh", "create", "work", "--namespace", "git").status == 0)
        let listed = try stage.runAlone([BuiltProgram.named("ostiary").path, "ssh", "list"])
        let rows = listed.output.split(separator: "\n")
        #expect(rows.count == 3, "\(listed.output)")
        let limits = "no login; signatures for git"
        let leases = "; leases: 600 s in any case, 20 uses"
        #expect(rows.contains { $0.hasPrefix("build") && $0.hasSuffix(limits + leases) })
        #expect(rows.contains { $0.hasPrefix("work") && $0.hasSuffix(limits) })
    }

    @Test func `the agent says its help, and runs no command that begins with a hyphen`() throws {
        let agent = BuiltProgram.named("ostiary-ssh-agent").path
        let help = try stage.runAlone([agent, "--help"])
        #expect(help.status == 0 && help.output.hasPrefix("OVERVIEW: "), "\(help.output)")
        let unknown = try stage.runAlone([agent, "--no-such-option"])
        #expect(unknown.status == 64 && unknown.output.contains("Unknown option"), "\(unknown.output)")
    }

    @Test func `an unknown host and a wrong fingerprint make no key`() throws {
        let unknown = try stage.ostiary("ssh", "create", "a", "--host", "nowhere.invalid")
        #expect(unknown.status == 1 && unknown.shows("known_hosts"), "\(unknown.screen)")
        #expect(try stage.ostiary("ssh", "create", "a", "--host", "SHA256:short").status == 2)
        #expect(try list().isEmpty)
    }

    // MARK: importing

    @Test func `wrong passphrases, unknown ciphers and truncated files are told apart, and nothing is stored`() throws {
        try stage.makeKey("id", "ed25519", passphrase: "correct horse")
        let wrong = try stage.ostiary("ssh", "import", stage.daemon.path("id"), answers: ["wrong", ""])
        #expect(wrong.status == 1 && wrong.shows("passphrase wrong"), "\(wrong.screen)")

        let lines = try stage.text("id").split(separator: "\n")
        let contents = try #require(Data(base64Encoded: lines.dropFirst().dropLast().joined()))
        let place = try #require(contents.range(of: Data("aes256-ctr".utf8)))
        let changed = contents.replacing(place, with: Data("aes256-xyz".utf8)).base64EncodedString()
        try stage.write("other", "\(lines[0])\n\(changed)\n\(lines[lines.count - 1])\n")
        let unknown = try stage.ostiary("ssh", "import", stage.daemon.path("other"))
        #expect(unknown.status == 1 && unknown.shows("aes256-xyz"), "\(unknown.screen)")

        try stage.write("cut", String(try stage.text("id").prefix(200)))
        let cut = try stage.ostiary("ssh", "import", stage.daemon.path("cut"))
        #expect(cut.status == 1 && cut.shows("ends too early"), "\(cut.screen)")

        try stage.write("none", "hello\n")
        #expect(try stage.ostiary("ssh", "import", stage.daemon.path("none")).shows("no private key"))
        #expect(try stage.ostiary("ssh", "import", stage.daemon.path("absent")).status == 1)
        #expect(try list().isEmpty)
    }

    @Test func `another ssh-add of PATH gets neither passphrase nor key`() throws {
        try stage.makeKey("id", "ed25519", passphrase: "correct horse")
        try FileManager.default.createDirectory(
            atPath: stage.daemon.path("bin"), withIntermediateDirectories: false)
        let started = stage.daemon.path("started")
        try stage.write("bin/ssh-add", "#!/bin/sh\ntouch '\(started)'\nexec /usr/bin/ssh-add \"$@\"\n")
        #expect(chmod(stage.daemon.path("bin/ssh-add"), 0o755) == 0)
        let run = try stage.play(
            [
                "PATH=\(stage.daemon.path("bin")):/usr/bin:/bin", BuiltProgram.named("ostiary").path, "ssh", "import",
                stage.daemon.path("id"), "--require", "passcode",
            ], answers: ["correct horse", Self.passcode])
        #expect(run.status == 0, "\(run.screen)")
        #expect(!FileManager.default.fileExists(atPath: started))
        #expect(try list().count == 1)
    }

    @Test func `a key without a passphrase is imported under its name, and is listed on a locked store`() throws {
        try stage.makeKey("id", "ecdsa", options: ["-b", "521"])
        let imported = try stage.ostiary(
            "ssh", "import", stage.daemon.path("id"), "--name", "old", "--require", "passcode",
            answers: [Self.passcode])
        #expect(imported.status == 0, "\(imported.screen)")
        #expect(try stage.ostiary("lock").status == 0)
        let key = try #require(list().first)
        #expect(key["name"] as? String == "old" && key["place"] as? String == "imported")
        #expect(key["type"] as? String == "ecdsa-sha2-nistp521" && key["requires"] as? String == "passcode")
        let shown = try stage.runAlone(["/usr/bin/ssh-add", "-L"])
        #expect(shown.status == 0 && shown.output.contains("old (imported)"), "\(shown.output)")
        #expect(try stage.ostiary("ssh", "remove", "old", "--force").status == 0)
        #expect(try list().isEmpty)
        // Both items are gone.
        let again = try stage.ostiary(
            "ssh", "import", stage.daemon.path("id"), "--name", "old", "--require", "passcode",
            answers: [Self.passcode])
        #expect(again.status == 0, "\(again.screen)")
    }

    // MARK: git

    private func git(_ arguments: String..., answers: [String] = []) throws -> PlayedTerminal {
        try stage.play(["/usr/bin/git", "-C", stage.daemon.path("repository")] + arguments, answers: answers)
    }

    @Test func `a signed commit verifies, and the key signs in no other namespace`() throws {
        #expect(
            try stage.ostiary("ssh", "create", "commits", "--require", "passcode", "--namespace", "git").status == 0)
        #expect(try stage.play(["/usr/bin/git", "init", "-q", stage.daemon.path("repository")]).status == 0)
        for (name, value) in [("user.email", "me@example.org"), ("user.name", "Me")] {
            #expect(try git("config", name, value).status == 0)
        }
        let setup = try stage.ostiary("git", "setup", "commits", "--email", "me@example.org")
        #expect(setup.status == 0, "\(setup.screen)")
        // The stage's agent has another socket than the door's own one.
        let own = stage.daemon.runtimeDirectory + "/ssh-agent.sock"
        #expect(setup.shows("no agent has the socket \(own)"), "\(setup.screen)")
        let commit = try git("commit", "-q", "--allow-empty", "-S", "-m", "signed", answers: [Self.passcode])
        #expect(commit.status == 0, "\(commit.screen)\(stage.agentLog)")
        #expect(commit.shows("git") && commit.shows("ostiary-ssh-agent"), "\(commit.screen)")
        let verified = try git("verify-commit", "HEAD")
        #expect(verified.status == 0 && verified.shows("me@example.org"), "\(verified.screen)")

        try stage.write("commits.pub", try #require(stage.publicKeys().first) + "\n")
        let other = try stage.play(
            [
                "/usr/bin/ssh-keygen", "-Y", "sign", "-n", "file", "-f", stage.daemon.path("commits.pub"),
                stage.daemon.path("commits.pub"),
            ],
            answers: [Self.passcode])
        #expect(other.status != 0 && !other.shows("asscode"), "\(other.screen)")
    }

    @Test func `git is not configured for a key that cannot sign for it`() throws {
        let fingerprint = "SHA256:" + String(repeating: "A", count: 43)
        #expect(try stage.ostiary("ssh", "create", "login", "--require", "passcode", "--host", fingerprint).status == 0)
        let setup = try stage.ostiary("git", "setup", "login", "--email", "me@example.org")
        #expect(setup.status == 1 && setup.shows("namespace git"), "\(setup.screen)")
        #expect(try stage.ostiary("git", "setup", "absent", "--email", "me@example.org").status == 1)
        #expect(!FileManager.default.fileExists(atPath: stage.daemon.path("gitconfig")))
    }

    // MARK: setup and doctor

    /// The agent of which ssh learns from the configuration of the stage, in a session without XDG_RUNTIME_DIR.
    private func configuredAgent() throws -> String? {
        let shown = try stage.runAlone([
            "/usr/bin/env", "-u", "XDG_RUNTIME_DIR", "/usr/bin/ssh", "-G", "-F", stage.daemon.path(".ssh/config"), "a",
        ])
        #expect(shown.status == 0, "\(shown.output)")
        let lines = shown.output.split(separator: "\n").filter { $0.hasPrefix("identityagent ") }
        return lines.first.map { String($0.dropFirst(14)) }
    }

    @Test func `setup writes what it says, and takes it back`() throws {
        let file = ".config/environment.d/60-ostiary-ssh-agent.conf"
        let dropIn = ".config/systemd/user/ostiary-ssh-agent.service.d/upstream.conf"
        #expect(mkdir(stage.daemon.path(".ssh"), 0o700) == 0)
        try stage.write(".ssh/config", "Host a\n  User b\n")
        let options = ["--ssh-config", "--profile", "--upstream", stage.socket]
        let command = [BuiltProgram.named("ostiary").path, "ssh", "setup"] + options
        let setup = try stage.play(command)
        #expect(setup.status == 0 && setup.shows("environment.d"), "\(setup.screen)")
        #expect(try stage.text(file) == "SSH_AUTH_SOCK=${XDG_RUNTIME_DIR}/ostiary/ssh-agent.sock\n")
        let config = try stage.text(".ssh/config")
        #expect(config.hasSuffix("Host a\n  User b\n"))
        #expect(try stage.text(".profile").contains("export SSH_AUTH_SOCK="))
        #expect(try stage.text(dropIn).contains("/ostiary-ssh-agent\" --upstream \"\(stage.socket)\"\n"))
        #expect(try stage.play(command).status == 0)
        #expect(try stage.text(".ssh/config") == config)
        #expect(try configuredAgent() == stage.daemon.runtimeDirectory + "/ssh-agent.sock")
        #expect(try stage.ostiary("ssh", "setup", "--undo").status == 0)
        for name in [file, dropIn] { #expect(!FileManager.default.fileExists(atPath: stage.daemon.path(name))) }
        #expect(try stage.text(".ssh/config") == "Host a\n  User b\n")
        #expect(try stage.text(".profile").isEmpty)
    }

    @Test func `setup names the agent that it displaces, and chains no socket of its own`() throws {
        let setup = try stage.ostiary("ssh", "setup")
        #expect(setup.shows("takes the place of \(stage.socket)"), "\(setup.screen)")
        #expect(setup.shows("ostiary ssh setup --upstream \(stage.socket)"), "\(setup.screen)")
        let own = try stage.ostiary(
            "ssh", "setup", "--upstream", stage.daemon.runtimeDirectory + "/ssh-agent.sock")
        #expect(own.status == 2 && own.shows("Ostiary's own agent"), "\(own.screen)")
        let dropIns = stage.daemon.path(".config/systemd/user/ostiary-ssh-agent.service.d")
        #expect(!FileManager.default.fileExists(atPath: dropIns))
    }

    @Test func `the doctor looks at SSH_AUTH_SOCK once there are keys`() throws {
        func check() throws -> String? {
            let run = try stage.runAlone([BuiltProgram.named("ostiary").path, "doctor", "--json"])
            let document = try JSONSerialization.jsonObject(with: Data(run.output.utf8)) as? [String: Any]
            let findings = try #require(document?["findings"] as? [[String: Any]])
            return findings.first { $0["check"] as? String == "ssh-agent" }?["verdict"] as? String
        }
        #expect(try check() == nil)
        #expect(try stage.ostiary("ssh", "create", "work", "--require", "passcode").status == 0)
        // No agent has the door's own socket here.
        #expect(try check() == "problem")
    }
}

extension Data {
    fileprivate func replacing(_ range: Range<Int>, with other: Data) -> Data {
        var copy = self
        copy.replaceSubrange(range, with: other)
        return copy
    }
}
