import DaemonTestSupport
import Foundation
import Glibc
import SSHFormats
import Testing

/// Real ssh, a real server and the real daemon, with the agent between them.
@Suite(
    "Logins through the agent", .serialized, .timeLimit(.minutes(10)),
    .enabled(if: AgentStage.server != nil, "\(AgentStage.missingServer)"),
    .enabled(if: getuid() != 0, "OpenSSH's server wants an account of its own when root starts it."))
struct SSHLoginEndToEndTests {
    private static let passcode = PrivateDaemon.passcode
    private let stage: AgentStage

    init() throws {
        stage = try AgentStage()
        for host in ["one.example", "two.example"] { try stage.addHost(host) }
    }

    /// Makes a key in the enclave that may log in.
    private func create(_ name: String, _ options: String...) throws {
        let made = try stage.play(
            [BuiltProgram.named("ostiary").path, "ssh", "create", name, "--require", "passcode"]
                + stage.knownHostsOptions + options)
        #expect(made.status == 0, "\(made.screen)")
        try stage.authorize(try #require(stage.publicKeys().first { $0.hasSuffix(" \(name)") }))
    }

    /// The parts of a question for a login to `one.example`, whose name the agent tells.
    private var partsOfQuestion: [String] {
        get throws {
            let user = String(cString: getpwuid(getuid()).pointee.pw_name)
            let fingerprint = try stage.fingerprint(ofHost: "one.example")
            return [
                "/usr/bin/ssh", "ostiary-ssh-agent", "Signs a login as “\(user)” (ssh-connection)",
                "Host key \(fingerprint)", "Host “one.example”, not checked",
            ]
        }
    }

    @Test func `a login asks with user, host key, the host's unchecked name and program, and the list asks nobody`()
        throws
    {
        try create("work")
        let listed = try stage.runAlone(["/usr/bin/ssh-add", "-L"])
        #expect(listed.status == 0 && listed.output.contains("ecdsa-sha2-nistp256") && listed.output.contains(" work"))
        let login = try stage.login("one.example", answers: [Self.passcode])
        #expect(login.status == 0 && login.shows("logged in"), "\(login.screen)\(stage.agentLog)")
        for part in try partsOfQuestion { #expect(login.shows(part), "\(part) in \(login.screen)") }
    }

    @Test func `a key that was pinned by a host's name asks with that name as the person's`() throws {
        try create("named", "--host", "one.example")
        let login = try stage.login("one.example", answers: [Self.passcode])
        #expect(login.status == 0, "\(login.screen)\(stage.agentLog)")
        #expect(login.shows("Host “one.example”, as you named it"), "\(login.screen)")
    }

    @Test func `a host's key that another file revokes is not pinned by name, and the question has no name for it`()
        throws
    {
        try create("work")
        try stage.revokeKey(ofHost: "one.example")
        let fingerprint = try stage.fingerprint(ofHost: "one.example")
        let login = try stage.login("one.example", answers: [Self.passcode])
        #expect(login.status == 0 && login.shows("Host key \(fingerprint)"), "\(login.screen)\(stage.agentLog)")
        #expect(!login.shows("Host “"), "\(login.screen)")
        let pinned = try stage.play(
            [BuiltProgram.named("ostiary").path, "ssh", "create", "named", "--require", "passcode"]
                + stage.knownHostsOptions + ["--host", "one.example"])
        #expect(pinned.status == 1 && pinned.shows("or only revoked ones"), "\(pinned.screen)")
        #expect(try stage.publicKeys().count == 1)
    }

    @Test func `a login that is declined fails, and the next one is asked again`() throws {
        try create("work")
        let declined = try stage.login("one.example", answers: ["\u{3}"])
        #expect(declined.status == 255 && !declined.shows("logged in"), "\(declined.screen)")
        #expect(try stage.login("one.example", answers: [Self.passcode]).status == 0)
    }

    /// Starts ssh as a child of a shell that waits for the file `gone`, because the terminal would be hung up with the leader of its session.
    private static let underShell = [
        "/bin/sh", "-c",
        "/bin/sh -c 'echo $$ > ssh.pid; exec \"$@\"' sh \"$@\"; echo \"ssh ended with $?\"; "
            + "while [ ! -e gone ]; do sleep 0.1; done", "sh",
    ]

    /// The goal, which `script/benchmark doors` measures, too. Other tests keep the machine busy, so one of some tries has to reach it.
    private static let patience: Duration = .milliseconds(200)
    private static let tryCount = 5

    /// Kills an ssh that has a question.
    ///
    /// - Returns: how long the question stood afterwards.
    private func killAtQuestion() throws -> Duration {
        // Of the last try.
        unlink(stage.daemon.path("gone"))
        var whileGone: Duration?
        let killed = try stage.login("one.example", prefix: Self.underShell, timeout: 120) { question in
            let client = try #require(pid_t(stage.text("ssh.pid").trimmingCharacters(in: .whitespacesAndNewlines)))
            #expect(question.isShown && kill(client, 0) == 0, "it stands before ssh is killed")
            #expect(kill(client, SIGKILL) == 0)
            whileGone = question.waitUntilGone(for: .seconds(30))
            try stage.write("gone", "")
        }
        let time = try #require(whileGone, "The question stood, or there was none: \(killed.screen)")
        print("The question was gone \(time) after its client was killed.")
        #expect(killed.shows("asscode") && killed.shows("ssh ended with 137"), "\(killed.screen)")
        return time
    }

    @Test func `a client that is killed takes its question along within 200 ms, and nothing is signed`() throws {
        try create("work")
        var times: [Duration] = []
        while times.count < Self.tryCount, times.allSatisfy({ $0 >= Self.patience }) {
            times.append(try killAtQuestion())
        }
        #expect(times.contains { $0 < Self.patience }, "\(times)")
        // By the agent, or by the daemon itself: both saw the end.
        let reasons = ["prompt.cancelled-by-program", "prompt.clientGone", "client.gone"]
        let isLogged = try stage.logs { record in
            record["event"] as? String == "ssh-sign" && record["object"] as? String == "work"
                && record["result"] as? String == "refused" && reasons.contains(record["reason"] as? String ?? "")
        }
        let records = try stage.log()
        #expect(isLogged && !records.contains(where: Self.isSignature), "\(records)")
        // The same records say so when one was made.
        #expect(try stage.login("one.example", answers: [Self.passcode]).status == 0)
        #expect(try stage.log().contains(where: Self.isSignature))
    }

    private static func isSignature(_ record: [String: Any]) -> Bool {
        record["event"] as? String == "ssh-sign" && record["result"] as? String == "granted"
    }

    @Test func `a pinned key is refused at another host, unasked`() throws {
        try create("pinned", "--host", try stage.fingerprint(ofHost: "one.example"))
        let right = try stage.login("one.example", answers: [Self.passcode])
        #expect(right.status == 0, "\(right.screen)")
        let wrong = try stage.login("two.example", answers: [Self.passcode])
        #expect(wrong.status == 255 && !wrong.shows("asscode"), "\(wrong.screen)")
    }

    @Test func `a key that is never forwarded works here, and not over a forwarded agent`() throws {
        try create("near", "--no-forwarding")
        let inner = (["/usr/bin/ssh"] + stage.clientOptions + ["two.example", "echo logged in twice"])
            .map { "'\($0)'" }.joined(separator: " ")
        let over = try stage.login("one.example", inner, options: ["-A"], answers: [Self.passcode, Self.passcode])
        #expect(over.status != 0 && !over.shows("logged in twice"), "\(over.screen)")
        // One question: that of the first login.
        #expect(over.screen.components(separatedBy: "asscode: ").count == 2, "\(over.screen)")
    }

    @Test func `nobody is asked on the terminal from which ssh sends what is typed to another machine`() throws {
        try create("far")
        let inner = (["/usr/bin/ssh"] + stage.clientOptions + ["two.example", "echo logged in twice"])
            .map { "'\($0)'" }.joined(separator: " ")
        let over = try stage.login("one.example", inner, options: ["-A"], answers: [Self.passcode, Self.passcode])
        #expect(over.status != 0 && !over.shows("logged in twice"), "\(over.screen)\(stage.agentLog)")
        #expect(over.screen.components(separatedBy: "asscode: ").count == 2, "\(over.screen)")
        #expect(stage.agentLog.contains("The key far was not used"), "\(stage.agentLog)")
    }

    // MARK: imported keys

    @Test(arguments: [("ed25519", []), ("rsa", ["-b", "3072"]), ("ecdsa", ["-b", "384"])])
    func `an imported key logs in, and the store's files hold no byte of it`(type: String, options: [String]) throws {
        try stage.makeKey("id", type, passphrase: "correct horse", options: options)
        let imported = try stage.ostiary(
            "ssh", "import", stage.daemon.path("id"), "--require", "passcode",
            answers: ["correct horse", Self.passcode])
        #expect(imported.status == 0, "\(imported.screen)")
        try stage.authorize(stage.text("id.pub"))
        let listed = try stage.runAlone(["/usr/bin/ssh-add", "-L"])
        #expect(listed.output.contains("id (imported)"), "\(listed.output)\(stage.agentLog)")
        let login = try stage.login("one.example", answers: [Self.passcode])
        #expect(login.status == 0 && login.shows("logged in"), "\(login.screen)\(stage.agentLog)")
        #expect(login.shows("imported") && login.shows("/usr/bin/ssh"), "\(login.screen)")
        let host = try stage.fingerprint(ofHost: "one.example")
        let isLogged = try stage.logs { record in
            (record["object"] as? String)?.hasPrefix("imported SSH key ") == true
                && (record["reason"] as? String)?.hasPrefix("the door says: log in to the host \(host)") == true
        }
        #expect(isLogged)

        // The private half, as it stands in the decrypted file.
        let plain = try stage.runAlone([
            "/usr/bin/ssh-keygen", "-q", "-p", "-P", "correct horse", "-N", "", "-f", stage.daemon.path("id"),
        ])
        #expect(plain.status == 0, "\(plain.output)")
        let file = try PlainKeyFile(stage.text("id"))
        let published = try SSHPublicKey(line: stage.text("id.pub")).blob
        #expect(file.bytes.range(of: file.probe) != nil && published.range(of: file.probe) == nil)
        // Its files stand still without the daemon.
        stage.daemon.kill()
        let names = try filesOfStore()
        #expect(names.contains("vault.sqlite") && names.contains("audit.log"), "\(names)")
        for name in names {
            let contents = try Data(contentsOf: URL(fileURLWithPath: stage.daemon.stateDirectory + "/" + name))
            #expect(contents.range(of: file.probe) == nil, "\(name)")
        }
    }

    /// The files below the state folder, without sockets.
    private func filesOfStore() throws -> [String] {
        let folder = stage.daemon.stateDirectory
        return try FileManager.default.subpathsOfDirectory(atPath: folder).filter { name in
            let attributes = try FileManager.default.attributesOfItem(atPath: folder + "/" + name)
            let type = attributes[.type] as? FileAttributeType
            return type != .typeDirectory && type != .typeSocket
        }
    }

    // MARK: passkeys

    @Test func `a passkey of this machine for ssh logs in after a passcode, and a website's is no key`() throws {
        let browser = try BrowserStage(in: stage.daemon)
        try browser.register(["--browser"])
        try browser.play("keys_of_relying_parties")
        let listed = try stage.runAlone(["/usr/bin/ssh-add", "-L"])
        let keys = listed.output.split(separator: "\n").map(String.init)
        #expect(keys.count == 1, "\(listed.output)\(stage.agentLog)")
        let key = try #require(keys.first)
        #expect(key.hasPrefix("sk-ecdsa-sha2-nistp256@openssh.com ") && key.hasSuffix(" user1 (passkey)"), "\(key)")
        // The server takes no signature without the person's verification.
        try stage.authorize("verify-required \(key)")
        let declined = try stage.login("one.example", answers: ["\u{3}"])
        #expect(declined.status == 255 && !declined.shows("logged in"), "\(declined.screen)")
        let login = try stage.login("one.example", answers: [Self.passcode])
        #expect(login.status == 0 && login.shows("logged in"), "\(login.screen)\(stage.agentLog)")
        for part in try partsOfQuestion { #expect(login.shows(part), "\(part) in \(login.screen)") }
        let host = try stage.fingerprint(ofHost: "one.example")
        let isLogged = try stage.logs { record in
            record["event"] as? String == "ssh-sign" && record["result"] as? String == "granted"
                && record["object"] as? String == "ssh:" && record["operation"] as? String == "login to \(host)"
                && record["factors"] as? [String] == ["passcode"]
        }
        let records = try stage.log()
        #expect(isLogged, "\(records)")
    }

    // MARK: keys of ssh-add

    @Test func `a key of ssh-add logs in, without a question and with one`() throws {
        try stage.makeKey("id", "ed25519")
        try stage.authorize(stage.text("id.pub"))
        #expect(try stage.runAlone(["/usr/bin/ssh-add", "-q", stage.daemon.path("id")]).status == 0)
        let login = try stage.login("one.example")
        #expect(login.status == 0 && !login.shows("asscode"), "\(login.screen)")
        #expect(try stage.runAlone(["/usr/bin/ssh-add", "-q", "-c", stage.daemon.path("id")]).status == 0)
        let confirmed = try stage.login("one.example", answers: [Self.passcode])
        #expect(confirmed.status == 0 && confirmed.shows("asscode"), "\(confirmed.screen)")
        #expect(try stage.login("one.example", answers: ["\u{3}"]).status == 255)
    }
}

/// A private key file of OpenSSH without a passphrase (`PROTOCOL.key`).
private struct PlainKeyFile {
    let bytes: Data
    /// The seed of an Ed25519 key, and the private number of others.
    private let secret: Data

    init(_ text: String) throws {
        let lines = text.split(separator: "\n").dropFirst().dropLast()
        guard let bytes = Data(base64Encoded: lines.joined()) else { throw TestSupportError("no base64: \(text)") }
        self.bytes = bytes
        var file = SSHReader(bytes)
        _ = try file.read(count: "openssh-key-v1\0".utf8.count)
        let cipher = try file.readText(limit: bytes.count)
        guard cipher == "none" else { throw TestSupportError("the cipher is \(cipher)") }
        // The derivation of the cipher's key and its options; the number of keys; the public key.
        for _ in 0..<2 { _ = try file.readString(limit: bytes.count) }
        _ = try file.readUInt32()
        _ = try file.readString(limit: bytes.count)
        var fields = SSHReader(try file.readString(limit: bytes.count))
        // Two equal numbers, by which a wrong passphrase is noticed.
        _ = try fields.readUInt64()
        let isEd25519 = try fields.readText(limit: bytes.count) == "ssh-ed25519"
        // The public key; or curve and point; or modulus and exponent.
        for _ in 0..<(isEd25519 ? 1 : 2) { _ = try fields.readString(limit: bytes.count) }
        let field = try fields.readString(limit: bytes.count)
        // The public key stands behind the seed once more.
        secret = isEd25519 ? field.prefix(32) : field
    }

    /// Sixteen bytes in the middle of the secret.
    var probe: Data { secret.dropFirst(secret.count / 2 - 8).prefix(16) }
}
