import DaemonTestSupport
import Foundation
import Glibc
import Testing

/// The command on a terminal against the real daemon, checked by OpenSSL.
@Suite("The command, end to end", .serialized)
struct CommandEndToEndTests {
    private static let passcode = PrivateDaemon.passcode
    private let daemon: PrivateDaemon

    init() throws { daemon = try PrivateDaemon(.withPasscode) }

    @discardableResult
    private func ostiary(_ arguments: String..., answers: [String] = []) throws -> PlayedTerminal {
        try ostiary(arguments: arguments, answers: answers)
    }

    private func ostiary(arguments: [String], answers: [String] = []) throws -> PlayedTerminal {
        try PlayedTerminal(BuiltProgram.named("ostiary"), arguments, answers: answers, in: daemon)
    }

    /// Without a terminal anywhere.
    private func ostiaryAlone(_ arguments: String...) throws -> Int32 {
        try UnattendedRun(BuiltProgram.named("ostiary"), arguments, in: daemon).status
    }

    private func exitStatus(_ program: String, _ arguments: [String]) throws -> Int32 {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: program)
        process.arguments = arguments
        process.environment = daemon.environment
        process.currentDirectoryURL = daemon.folder
        (process.standardInput, process.standardOutput) = (FileHandle.nullDevice, FileHandle.nullDevice)
        process.standardError = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        return process.terminationStatus
    }

    private func write(_ name: String, _ text: String) throws {
        try Data(text.utf8).write(to: daemon.folder.appendingPathComponent(name))
    }

    private func exists(_ name: String) -> Bool { FileManager.default.fileExists(atPath: daemon.path(name)) }

    @Test func `a signature verifies with OpenSSL, and a wrong passcode makes none`() throws {
        try write("challenge", "prove that it is you")
        #expect(try ostiary("right", "create", "2fa", "--require", "passcode").status == 0)
        #expect(try ostiary("right", "public-key", "2fa", "--output", "2fa.pem").status == 0)
        let signed = try ostiary(
            "right", "sign", "2fa", "challenge", "--output", "signature", answers: [Self.passcode])
        #expect(signed.status == 0, "\(signed.screen)")
        let check = ["dgst", "-sha256", "-verify", "2fa.pem", "-signature", "signature", "challenge"]
        #expect(try exitStatus("/usr/bin/openssl", check) == 0)
        try write("challenge", "prove that it is me")
        #expect(try exitStatus("/usr/bin/openssl", check) != 0)

        let wrong = try ostiary(
            "right", "sign", "2fa", "challenge", "--output", "none",
            answers: ["wrong one 1", "wrong one 2", "wrong one 3"])
        #expect(wrong.status == 3)
        #expect(wrong.screen.contains("Wrong passcode."))
        #expect(!exists("none"))
    }

    @Test func `a right that confirms each signature shows the text, and asks again for the next one`() throws {
        try write("transfer", "Pay 100 EUR to Alice")
        let made = try ostiary("right", "create", "bank", "--require", "passcode", "--confirm-each")
        #expect(made.status == 0 && made.screen.contains("requires passcode for each signature"), "\(made.screen)")
        #expect(try ostiary("right", "public-key", "bank", "--output", "bank.pem").status == 0)
        let shown = try ostiary("right", "show", "bank")
        #expect(shown.screen.contains("Confirms") && shown.screen.contains("each signature; the daemon checks it"))
        let check = ["dgst", "-sha256", "-verify", "bank.pem", "-signature", "signature", "transfer"]
        for text in ["Pay 100 EUR to Alice", "Pay 900 EUR to Mallory"] {
            try write("transfer", text)
            let signed = try ostiary(
                "right", "sign", "bank", "transfer", "--output", "signature", "--force", answers: [Self.passcode])
            #expect(signed.status == 0 && signed.screen.contains("the text “\(text)”"), "\(signed.screen)")
            #expect(try exitStatus("/usr/bin/openssl", check) == 0)
        }
        let wrong = try ostiary(
            "right", "sign", "bank", "transfer", "--output", "none",
            answers: ["wrong one 1", "wrong one 2", "wrong one 3"])
        #expect(wrong.status == 3 && !exists("none"))
        let authorized = try ostiary("right", "authorize", "bank")
        #expect(authorized.status != 0 && authorized.screen.contains("asks for each signature"), "\(authorized.screen)")
        for options in [["--uses", "1"], ["--secret", "transfer"]] {
            #expect(try ostiary(arguments: ["right", "create", "no", "--confirm-each"] + options).status == 2)
        }
    }

    @Test func `a key that confirms each signature asks for each file, and shows it`() throws {
        let made = try ostiary("key", "create", "bank", "--require", "passcode", "--confirm-each")
        #expect(made.status == 0 && made.screen.contains("requires passcode for each signature"), "\(made.screen)")
        let listed = try object(ostiary("key", "list", "--json").screen)["keys"] as? [[String: Any]]
        #expect(listed?.first?["confirmsEachSignature"] as? Bool == true)
        #expect((listed?.first?["rules"] as? [String: String])?["decrypt"] == nil)
        #expect(try ostiary("key", "public-key", "bank", "--output", "bank.pem").status == 0)
        let files = ["one": "Pay 100 EUR to Alice", "two": "Pay 900 EUR to Mallory"]
        for (name, text) in files { try write(name, text) }
        let signed = try ostiary("key", "sign", "bank", "one", "two", answers: [Self.passcode, Self.passcode])
        #expect(signed.status == 0, "\(signed.screen)")
        for (name, text) in files {
            #expect(signed.screen.contains("the text “\(text)”"), "\(signed.screen)")
            let check = ["dgst", "-sha256", "-verify", "bank.pem", "-signature", "\(name).sig", name]
            #expect(try exitStatus("/usr/bin/openssl", check) == 0)
        }
        #expect(try ostiaryAlone("key", "sign", "bank", "one", "--output", "none") == 3)
        #expect(!exists("none"))
        #expect(try ostiary("key", "create", "open", "--require", "unrestricted", "--confirm-each").status != 0)
    }

    @Test func `a right of a group is used by each program of the group, and by no other`() throws {
        try write("challenge", "x")
        let (one, two) = (try commandOfGroup("one"), try commandOfGroup("two"))
        func run(_ program: URL, _ arguments: String...) throws -> PlayedTerminal {
            try PlayedTerminal(program, ["right"] + arguments, in: daemon)
        }
        let group = "com.example.deploy"
        let made = try run(one, "create", "deploy", "--require", "unrestricted", "--group", group)
        #expect(made.status == 0, "\(made.screen)")
        #expect(try run(two, "sign", "deploy", "challenge", "--group", group, "--output", "signature").status == 0)
        #expect(try run(two, "list", "--group", group).screen.contains("deploy"))
        #expect(try run(two, "create", "deploy", "--require", "unrestricted", "--group", group).status == 1)

        // Without the group it is another name, which nobody has taken.
        #expect(try run(two, "show", "deploy").screen.contains("There is no"))
        #expect(try !run(two, "list").screen.contains("deploy"))
        let own = try ostiary("right", "show", "deploy", "--group", group)
        #expect(own.status == 3 && !own.screen.contains("Id "), "\(own.screen)")
        let foreign = try ostiary("right", "create", "deploy", "--require", "unrestricted", "--group", group)
        #expect(foreign.status == 3, "\(foreign.screen)")

        #expect(try run(two, "remove", "deploy", "--group", group, "--force").status == 0)
        #expect(try run(one, "show", "deploy", "--group", group).status == 1)
    }

    /// A copy of the command that the owner has registered with the group com.example.deploy.
    private func commandOfGroup(_ name: String) throws -> URL {
        let program = try ProgramCopy(of: "ostiary", as: name, in: daemon).url
        let registered = try ostiary(
            "app", "register", program.path, "--id", "com.example.\(name)", "--group", "com.example.deploy",
            answers: [Self.passcode])
        try #require(registered.status == 0, "\(registered.screen)")
        return program
    }

    @Test func `without a terminal nobody can be asked and nothing is signed`() throws {
        try write("challenge", "x")
        try ostiary("right", "create", "2fa")
        #expect(try ostiaryAlone("right", "sign", "2fa", "challenge", "--output", "none") == 3)
        #expect(!exists("none"))
    }

    @Test func `a right keeps its key unless it is replaced on purpose`() throws {
        try ostiary("right", "create", "name")
        try ostiary("right", "public-key", "name", "--output", "before")
        let kept = try ostiary("right", "create", "name")
        #expect(
            kept.status == 1 && kept.screen.contains("“name” already; it is kept. --replace destroys"), "\(kept.screen)"
        )
        func isSameKey() throws -> Bool {
            try ostiary("right", "public-key", "name", "--output", "after", "--force")
            return try exitStatus("/usr/bin/cmp", ["before", "after"]) == 0
        }
        #expect(try isSameKey())
        #expect(try ostiary("right", "create", "name", "--replace", answers: ["no"]).status == 3)
        #expect(try ostiaryAlone("right", "create", "name", "--replace") == 3)
        #expect(try isSameKey())
        #expect(try ostiary("right", "create", "name", "--replace", answers: ["yes"]).status == 0)
        #expect(try !isSameKey())
        #expect(try ostiaryAlone("right", "create", "name", "--replace", "--force") == 0)
        // Nothing would be destroyed, so nobody is asked.
        #expect(try ostiaryAlone("right", "create", "new", "--replace") == 0)
    }

    @Test func `a right is removed after a yes on the terminal or by force, and never else`() throws {
        try ostiary("right", "create", "name")
        for answer in ["no", "", "y", "YES"] {
            let refused = try ostiary("right", "remove", "name", answers: [answer])
            #expect(
                refused.status == 3 && refused.shows("This destroys the right “name”, its key"), "\(refused.screen)")
        }
        let alone = try UnattendedRun(BuiltProgram.named("ostiary"), ["right", "remove", "name"], in: daemon)
        #expect(alone.status == 3 && alone.output.hasSuffix("Give --force to do it without a question.\n"))
        #expect(try ostiary("right", "show", "name").status == 0)
        let removed = try ostiary("right", "remove", "name", answers: ["yes"])
        #expect(removed.status == 0 && removed.shows("Removed name, its key"), "\(removed.screen)")
        #expect(try ostiary("right", "remove", "name", "--force").status == 1)
        try ostiary("right", "create", "name")
        #expect(try ostiaryAlone("right", "remove", "name", "--force") == 0)
    }

    @Test func `an older file is overwritten after a yes on the terminal or by force, and never else`() throws {
        try ostiary("right", "create", "name")
        try write("out", "older")
        func content() throws -> String { try String(contentsOfFile: daemon.path("out"), encoding: .utf8) }
        let write = ["right", "public-key", "name", "--output", "out"]
        #expect(try UnattendedRun(BuiltProgram.named("ostiary"), write, in: daemon).status == 3)
        let refused = try ostiary(arguments: write, answers: ["no"])
        #expect(refused.status == 3 && refused.shows("“out” exists already and is overwritten."), "\(refused.screen)")
        #expect(try content() == "older")
        #expect(try ostiary(arguments: write, answers: ["yes"]).status == 0)
        #expect(try content().hasPrefix("-----BEGIN PUBLIC KEY-----"))
        try self.write("out", "older")
        #expect(try UnattendedRun(BuiltProgram.named("ostiary"), write + ["--force"], in: daemon).status == 0)
        #expect(try content() != "older")
    }

    @Test func `several files are signed after one question, all or none`() throws {
        try ostiary("right", "create", "2fa", "--require", "passcode")
        try ostiary("right", "public-key", "2fa", "--output", "2fa.pem")
        for name in ["f0", "f1", "f2"] { try write(name, "the file \(name)") }
        let signed = try ostiary("right", "sign", "2fa", "f0", "f1", "f2", answers: [Self.passcode])
        #expect(signed.status == 0 && signed.shows("“sign 3 files: f0, f1, f2”"), "\(signed.screen)")
        for name in ["f0", "f1", "f2"] {
            let check = ["dgst", "-sha256", "-verify", "2fa.pem", "-signature", name + ".sig", name]
            #expect(try exitStatus("/usr/bin/openssl", check) == 0)
        }
        #expect(try ostiary("right", "sign", "2fa", "f0", "missing", "--force").status == 1)
        let older = try ostiary("right", "sign", "2fa", "f0", "f1", answers: ["no"])
        #expect(older.status == 3 && older.shows("“f0.sig”, “f1.sig” exist already"), "\(older.screen)")
        let json = try ostiary("right", "sign", "2fa", "f1", "f2", "--json", answers: [Self.passcode]).screen
        let text = try #require(json.range(of: "{")).lowerBound
        let list = try #require(try object(String(json[text...]))["signatures"] as? [[String: String]])
        #expect(list.map { $0["file"] } == ["f1", "f2"] && list.allSatisfy { $0["signature"]?.count ?? 0 > 90 })

        // The signature of the second file would have a name that is too long: the first one is not written either.
        let long = String(repeating: "n", count: 252)
        for name in ["f3", long] { try write(name, "x") }
        let failed = try ostiary("right", "sign", "2fa", "f3", long, answers: [Self.passcode])
        #expect(failed.status == 1 && failed.shows("The output cannot be written"), "\(failed.screen)")
        #expect(!exists("f3.sig"))
        #expect(
            try !FileManager.default.contentsOfDirectory(atPath: daemon.folder.path).contains {
                $0.hasPrefix(".ostiary-")
            })

        try ostiary("right", "create", "once", "--require", "passcode", "--uses", "1")
        for name in ["f0", "f1", "f2"] { try FileManager.default.removeItem(atPath: daemon.path(name + ".sig")) }
        #expect(try ostiary("right", "sign", "once", "f0", "f1", answers: [Self.passcode]).status != 0)
        #expect(!exists("f0.sig") && !exists("f1.sig"))
    }

    @Test func `a signature takes the place of no input, also by force`() throws {
        try ostiary("right", "create", "2fa", "--require", "passcode")
        for name in ["f0", "f0.sig"] { try write(name, "the file \(name)") }
        for arguments in [["f0", "f0.sig", "--force"], ["f0", "--output", "f0", "--force"], ["f0", "./f0"]] {
            let refused = try ostiary(arguments: ["right", "sign", "2fa"] + arguments)
            #expect(refused.status == 2 && !refused.shows("Passcode"), "\(refused.screen)")
        }
        for name in ["f0", "f0.sig"] {
            #expect(try String(contentsOfFile: daemon.path(name), encoding: .utf8) == "the file \(name)")
        }
    }

    @Test func `a right that asks for nothing is not said to require something, and a missing passcode is told`() throws
    {
        let made = try ostiary("right", "create", "open", "--require", "unrestricted")
        #expect(made.status == 0 && made.shows("Created open, which is used without a question."), "\(made.screen)")
        #expect(!made.shows("Warning"))
        try daemon.removePasscode()
        let warned = try ostiary("right", "create", "other", "--require", "unrestricted")
        #expect(warned.status == 0 && warned.shows("Warning: no passcode is set"), "\(warned.screen)")
        let key = try ostiary("key", "create", "key", "--require", "unrestricted")
        #expect(key.status == 0 && key.shows("Warning: no passcode is set"), "\(key.screen)")
        #expect(key.shows("which is used without a question"), "\(key.screen)")
    }

    @Test func `passkey serve says with --json as JSON why it does not run`() throws {
        let run = try UnattendedRun(BuiltProgram.named("ostiary"), ["passkey", "serve", "--json"], in: daemon)
        // Whether /dev/uhid is there depends on the machine; in no case is the test's program registered.
        #expect([1, 3].contains(run.status))
        let error = try #require(try object(run.output)["error"] as? [String: Any], "\(run.output)")
        let name = try #require(error["name"] as? String)
        #expect(name.hasPrefix("uhid") || name == "missingEntitlement", "\(run.output)")
        #expect(run.output.filter(\.isNewline).count == 1)
    }

    @Test func `wrong tries say what the next one brings, and an empty entry is answered`() throws {
        try ostiary("right", "create", "2fa", "--require", "passcode")
        let first = try ostiary("right", "authorize", "2fa", answers: ["", "wrong one 1", "wrong one 2", "\u{3}"])
        #expect(first.shows("Nothing was entered."), "\(first.screen)")
        #expect(first.shows("Wrong passcode. After 4 more wrong ones you wait 1 minute."), "\(first.screen)")
        #expect(first.shows("Wrong passcode. After 3 more wrong ones you wait 1 minute."), "\(first.screen)")
        #expect(first.screen.contains("ostiary: Cancelled; nothing was done."), "\(first.screen)")
        let last = try ostiary("right", "authorize", "2fa", answers: ["wrong one 3", "wrong one 4", "wrong one 5"])
        #expect(last.shows("Wrong passcode. After the next wrong one you wait 1 minute."), "\(last.screen)")
        #expect(last.status == 3)
    }

    @Test func `names are found with a star, and a name without a visible character is shown`() throws {
        for name in ["deploy-a", "deploy-b", "other", "\u{a0}"] {
            try ostiary("right", "create", name, "--require", "unrestricted", "--available", "always")
        }
        let found = try object(ostiary("right", "list", "deploy-*", "--json").screen)
        let rights = try #require(found["rights"] as? [[String: Any]])
        #expect(rights.map { $0["name"] as? String } == ["deploy-a", "deploy-b"])
        #expect(try ostiary("right", "list").screen.contains(#"\u{a0}"#))
        let id = try #require(rights[0]["id"] as? String)
        #expect(try ostiary("right", "remove", "--id", id, "--force").status == 0)
        #expect(try ostiary("right", "show", "deploy-a").status == 1)
        #expect(try ostiary("right", "list", "none*").shows("There are no such rights."))
    }

    @Test func `names that are read from right to left keep to themselves in the warning before the passcode goes`()
        throws
    {
        for name in ["2fa", "\u{5d0}\u{5d1}"] { try ostiary("right", "create", name, "--require", "passcode") }
        let asked = try ostiary("passcode", "remove", answers: [Self.passcode, "no"])
        #expect(asked.status == 3, "\(asked.screen)")
        #expect(asked.screen.contains("“\u{2068}\u{5d0}\u{5d1}\u{2069}”"), "\(asked.screen)")
        #expect(asked.screen.contains("“\u{2068}2fa\u{2069}”"), "\(asked.screen)")
        #expect(asked.screen.contains("\u{2068}\u{5d0}\u{5d1}\u{2069}"))
    }

    @Test func `a session without the daemon's XDG_RUNTIME_DIR is told about it`() throws {
        let process = Process()
        process.executableURL = BuiltProgram.named("ostiary")
        process.arguments = ["status"]
        process.environment = daemon.environment.filter { $0.key != "XDG_RUNTIME_DIR" }
        let errors = Pipe()
        (process.standardOutput, process.standardError) = (FileHandle.nullDevice, errors)
        try process.run()
        let text = String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        #expect(process.terminationStatus == 1)
        #expect(text.contains("Set XDG_RUNTIME_DIR as in the session that started it"), "\(text)")
    }

    @Test func `what is encrypted to a right is read only by its owner`() throws {
        try write("plain", "only for the owner")
        try ostiary("right", "create", "box")
        #expect(try ostiary("right", "encrypt", "box", "plain", "--output", "cipher").status == 0)
        #expect(try ostiaryAlone("right", "decrypt", "box", "cipher", "--output", "none") == 3)
        let decrypted = try ostiary("right", "decrypt", "box", "cipher", "--output", "again", answers: [Self.passcode])
        #expect(decrypted.status == 0, "\(decrypted.screen)")
        #expect(try exitStatus("/usr/bin/cmp", ["plain", "again"]) == 0)
        try ostiary("right", "create", "other")
        #expect(
            try ostiary("right", "decrypt", "other", "cipher", "--output", "none", answers: [Self.passcode]).status == 1
        )
        #expect(!exists("none"))
    }

    @Test func `a secret comes back only after the passcode`() throws {
        try write("secret", "the secret of the tests")
        #expect(try ostiary("right", "create", "vault", "--secret", "secret").status == 0)
        #expect(try ostiaryAlone("right", "secret", "vault", "--output", "none") == 3)
        let read = try ostiary("right", "secret", "vault", "--output", "again", answers: [Self.passcode])
        #expect(read.status == 0, "\(read.screen)")
        #expect(try exitStatus("/usr/bin/cmp", ["secret", "again"]) == 0)
    }

    @Test(arguments: [">&-", "<&- >&-", "<&- >&- 2>&-"])
    func `a secret for a closed standard output goes nowhere, and that is a failure`(closing: String) throws {
        try write("secret", "the secret of the tests")
        let created = try ostiary(
            "right", "create", "open", "--require", "unrestricted", "--available", "always", "--secret", "secret")
        try #require(created.status == 0, "\(created.screen)")
        let command = ["-c", "exec \"$0\" right secret open \(closing)", BuiltProgram.named("ostiary").path]
        #expect(try exitStatus("/bin/sh", command) == 1)
        #expect(try exitStatus("/bin/sh", ["-c", command[1].replacing(closing, with: ""), command[2]]) == 0)
    }

    @Test func `a lock-out says once how long it takes`() throws {
        try ostiary("right", "create", "2fa", "--require", "passcode")
        let wrong = ["wrong one 1", "wrong one 2", "wrong one 3"]
        for _ in 0..<2 { #expect(try ostiary("right", "authorize", "2fa", answers: wrong).status == 3) }
        let refused = try ostiary("right", "authorize", "2fa")
        #expect(refused.status == 3)
        #expect(
            refused.screen.wholeMatch(of: /ostiary: Too many wrong tries\. Try again in (1 min|\d+ s)\.\r\n/) != nil,
            "\(refused.screen)")
    }

    @Test func `a right and what is done with it are JSON where that is asked for`() throws {
        try write("challenge", "x")
        let created = try ostiary("right", "create", "2fa", "--require", "passcode", "--json").screen
        #expect(try object(created)["name"] as? String == "2fa")
        #expect(try created == ostiary("right", "show", "2fa", "--json").screen)
        let signed = try ostiary("right", "sign", "2fa", "challenge", "--output", "signature", answers: [Self.passcode])
        #expect(signed.status == 0, "\(signed.screen)")
        let verify = ["right", "verify", "2fa", "challenge", "--signature", "signature", "--json"]
        for (content, status) in [("x", Int32(0)), ("y", 1)] {
            try write("challenge", content)
            let verified = try PlayedTerminal(BuiltProgram.named("ostiary"), verify, in: daemon)
            #expect(verified.status == status)
            #expect(try object(verified.screen)["valid"] as? Bool == (status == 0))
        }
        try ostiary("right", "create", "free", "--require", "unrestricted", "--available", "always")
        let authorized = try ostiary("right", "authorize", "free", "--json")
        #expect(try object(authorized.screen)["factors"] as? [String] == [])
    }

    @Test func `keys without an item are shown, and destroyed after the passcode`() throws {
        for _ in 0..<3 {
            let made = try UnattendedRun(BuiltProgram.named("keychain-calls"), ["make-handle", "x"], in: daemon)
            #expect(made.output.contains("make handle: 0"), "\(made.output)")
        }
        #expect(try ostiary("key", "create", "named", "--require", "passcode").status == 0)
        let shown = try ostiary("key", "prune", "--json")
        #expect(shown.status == 0)
        let groups = try #require(try object(shown.screen)["groups"] as? [[String: Any]])
        #expect(groups.map { $0["keys"] as? Int } == [3] && groups.map { $0["unused"] as? Int } == [3])
        let group = try #require(groups[0]["group"] as? String)
        #expect(group.hasSuffix("/keychain-calls"))
        #expect(try ostiary("key", "prune").screen.contains("Nothing was removed."))

        #expect(try ostiaryAlone("key", "prune", "--remove", "--unused-for", "0") == 3)
        let cancelled = try ostiary("key", "prune", "--remove", "--unused-for", "0", answers: ["\u{3}"])
        #expect(cancelled.status == 3 && cancelled.shows("destroy 3 keys of the enclave for good"))
        #expect(cancelled.shows(group))
        let recent = try ostiary("key", "prune", "--remove", "--unused-for", "1", "--json")
        #expect(try recent.status == 0 && object(recent.screen)["removed"] as? Int == 0)
        let removed = try ostiary(
            "key", "prune", "--remove", "--unused-for", "0", "--group", group, answers: [Self.passcode])
        #expect(removed.status == 0 && removed.screen.contains("Removed 3 keys."), "\(removed.screen)")
        #expect(
            try ostiary("key", "prune", "--remove", "--unused-for", "0").screen.contains("There are no unused keys."))
        let left = try object(ostiary("key", "list", "--all", "--json").screen)["keys"] as? [[String: Any]]
        #expect(left?.map { $0["hasItem"] as? Bool } == [true])
    }

    private func object(_ screen: String) throws -> [String: Any] {
        try #require(try JSONSerialization.jsonObject(with: Data(screen.utf8)) as? [String: Any], "\(screen)")
    }

    @Test func `a right whose row was changed is listed, and removed by its id`() throws {
        for name in ["other", "broken", "kept"] {
            try ostiary("right", "create", name, "--require", "unrestricted", "--available", "always")
        }
        let id = try #require(try object(ostiary("right", "show", "broken", "--json").screen)["id"] as? String)
        let digits = try #require(Data(base64Encoded: id)).map { String(format: "%02x", $0) }.joined()
        try damage("UPDATE objects SET mac = zeroblob(32) WHERE row_key = x'\(digits)'")
        let listed = try ostiary("right", "list").screen.split(separator: "\r\n").map(String.init)
        #expect(listed.map { $0.prefix { $0 != " " } } == ["NAME", "kept", "other", "unreadable", "`ostiary"])
        #expect(listed.count > 3 && listed[3].contains(digits))
        #expect(try ostiary("doctor").screen.contains("`ostiary right remove --id ID`"))
        #expect(try ostiary("right", "remove", "--id", digits, answers: ["no"]).status == 3)
        #expect(try ostiary("right", "remove", "--id", digits, answers: ["yes"]).status == 0)
        #expect(try ostiary("right", "remove", "--id", digits, "--force").status == 1)
        #expect(try ostiary("right", "list").screen.split(separator: "\r\n").count == 3)
    }

    /// Changes the database of the stopped daemon, and starts it again.
    private func damage(_ sql: String) throws {
        daemon.kill()
        let script = """
            import sqlite3, sys
            store = sqlite3.connect(sys.argv[1])
            changed = store.execute(sys.argv[2]).rowcount
            store.commit()
            sys.exit(0 if changed > 0 else 1)
            """
        let arguments = ["python3", "-c", script, daemon.stateDirectory + "/vault.sqlite", sql]
        try #require(try exitStatus("/usr/bin/env", arguments) == 0)
        try daemon.start()
    }

    @Test func `lists that do not verify are made anew after the passcode, and what they list works again`() throws {
        try ostiary("right", "create", "kept", "--require", "passcode")
        try write("in", "it is here")
        try ostiary("item", "add", "--service", "s", "--unguarded", "--available", "always", "--secret", "in")
        let objectLists = "DELETE FROM lists WHERE substr(row_key, 1, 1) = x'07'"
        for sql in [objectLists, "UPDATE item_lists SET mac = zeroblob(32)"] {
            try damage(sql)
        }
        #expect(try ostiary("right", "list").status == 1)
        #expect(try ostiary("item", "find", "--service", "s").status == 1)
        let diagnosis = try ostiary("doctor")
        #expect(diagnosis.status == 1)
        #expect(diagnosis.screen.contains("`ostiary doctor --repair`"))

        let cancelled = try ostiary("doctor", "--repair", answers: ["\u{3}"])
        #expect(cancelled.status == 3, "\(cancelled.screen)")
        let repaired = try ostiary("doctor", "--repair", answers: [Self.passcode])
        #expect(repaired.status == 0, "\(repaired.screen)")
        #expect(
            repaired.screen.contains(
                "Rebuilt the list of rights, keys and registered programs: 1 in use, 0 refused, 0 removed."))
        #expect(repaired.screen.contains("Rebuilt the list of keychain items: 1 in use, 0 refused, 0 removed."))

        #expect(try ostiary("right", "authorize", "kept", answers: [Self.passcode]).status == 0)
        #expect(try ostiary("item", "find", "--service", "s").screen.contains("it is here"))
        let again = try ostiary("doctor", "--repair")
        #expect(again.status == 0)
        #expect(again.screen.contains("Every list of the store verifies, so nothing was repaired."))
    }

    @Test func `Ctrl-C cancels Ostiary's own prompt, and ends a command whose prompt is a pinentry`() throws {
        try ostiary("right", "create", "2fa", "--require", "passcode")
        let cancelled = try ostiary("right", "authorize", "2fa", answers: ["\u{3}"])
        #expect(cancelled.status == 3, "\(cancelled.screen)")
        #expect(cancelled.screen.contains("ostiary: "))

        daemon.kill()
        try daemon.start(configuration: "prompt.front-ends = pinentry\nprompt.pinentry = /usr/bin/pinentry-tty\n")
        let interrupted = try ostiary("right", "authorize", "2fa", answers: ["\u{3}"])
        #expect(interrupted.status == SIGINT, "\(interrupted.screen)")
        #expect(interrupted.screen.contains("Ostiary asks for your passcode."))
        #expect(!interrupted.screen.contains("ostiary: "))
        #expect(try ostiary("right", "authorize", "2fa", answers: [Self.passcode]).status == 0)
    }

    @Test func `an application password protects a right of its own`() throws {
        try daemon.unlock()
        try write("challenge", "x")
        let created = try ostiary(
            "right", "create", "own", "--require", "application-password",
            answers: ["a password of its own", "a password of its own"])
        #expect(created.status == 0, "\(created.screen)")
        let signed = try ostiary(
            "right", "sign", "own", "challenge", "--output", "signature", answers: ["a password of its own"])
        #expect(signed.status == 0, "\(signed.screen)")
        let wrong = try ostiary(
            "right", "sign", "own", "challenge", "--output", "none", answers: ["not it 11", "not it 22", "not it 33"])
        #expect(wrong.status == 3)
        #expect(!exists("none"))
    }

    @Test func `a removed passcode takes along what was bound to it, and leaves the rest`() throws {
        try write("challenge", "x")
        try ostiary("right", "create", "bound")
        try ostiary(
            "right", "create", "free", "--require", "application-password",
            answers: ["a password of its own", "a password of its own"])
        let removed = try ostiary("passcode", "remove", answers: [Self.passcode, "yes"])
        #expect(removed.status == 0, "\(removed.screen)")
        #expect(removed.screen.contains("bound"))
        #expect(try ostiary("right", "show", "bound").status == 1)
        let signed = try ostiary(
            "right", "sign", "free", "challenge", "--output", "signature", answers: ["a password of its own"])
        #expect(signed.status == 0, "\(signed.screen)")
    }

    @Test func `everything survives a killed daemon`() throws {
        try write("challenge", "x")
        try ostiary("right", "create", "kept")
        daemon.kill()
        try daemon.start()
        let signed = try ostiary("right", "sign", "kept", "challenge", "--output", "s", answers: [Self.passcode])
        #expect(signed.status == 0, "\(signed.screen)")
        let verified = try ostiary("log", "--verify", answers: [Self.passcode])
        #expect(verified.status == 0, "\(verified.screen)")
    }

    @Test func `a changed record of the log is named`() throws {
        try ostiary("right", "create", "logged")
        #expect(try ostiary("log", "--verify", answers: [Self.passcode]).status == 0)
        let log = URL(fileURLWithPath: daemon.stateDirectory + "/audit.log")
        var bytes = try Data(contentsOf: log)
        let name = try #require(bytes.range(of: Data("logged".utf8)))
        bytes[name.lowerBound] = UInt8(ascii: "L")
        try bytes.write(to: log)
        let verified = try ostiary("log", "--verify", answers: [Self.passcode])
        #expect(verified.status == 1)
        #expect(verified.screen.contains("record 4"), "\(verified.screen)")
    }
}
