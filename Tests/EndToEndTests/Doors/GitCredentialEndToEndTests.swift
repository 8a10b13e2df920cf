import DaemonTestSupport
import Foundation
import Testing

/// `git-credential-ostiary`, started by the real git, against the real daemon.
@Suite("git's credential helper, end to end", .serialized, .timeLimit(.minutes(10)))
struct GitCredentialEndToEndTests {
    private static let place = "protocol=https\nhost=example.com\n"
    private static let whole = place + "username=me\npassword=p=ss\n"

    @Test func `git keeps a credential, finds it, and forgets it`() throws {
        let stage = try CredentialStage()
        let before = try stage.git(["credential", "fill"], input: Self.place)
        #expect(before.status != 0, "nobody answers git's own question")
        let kept = try stage.git(["credential", "approve"], input: Self.whole)
        #expect(kept.status == 0 && kept.output.isEmpty && kept.errors.isEmpty, "\(kept.errors)")
        let filled = try stage.git(["credential", "fill"], input: Self.place)
        #expect(filled.output == Self.whole && filled.errors.isEmpty, "\(filled.errors)")
        // Once more is no second item.
        #expect(try stage.git(["credential", "approve"], input: Self.whole).status == 0)
        #expect(try stage.git(["credential", "reject"], input: Self.place + "username=other\n").status == 0)
        #expect(try stage.git(["credential", "fill"], input: Self.place).output == Self.whole)
        #expect(try stage.git(["credential", "reject"], input: Self.whole).errors.isEmpty)
        #expect(try stage.git(["credential", "fill"], input: Self.place).output.isEmpty)
    }

    @Test func `a password that differs from the one that git refuses stays`() throws {
        let stage = try CredentialStage()
        func ask(_ word: String, _ input: String) throws -> CredentialStage.Outcome {
            try stage.run(stage.daemon.path("bin/git-credential-ostiary"), [word], input: input)
        }
        #expect(try ask("store", Self.whole).status == 0)
        #expect(try ask("erase", Self.place + "username=me\npassword=typo\n").status == 0)
        #expect(try ask("get", Self.place).output == "username=me\npassword=p=ss\n")
        #expect(try ask("store", Self.place + "username=me\npassword=new\n").status == 0)
        #expect(try ask("get", Self.place).output == "username=me\npassword=new\n")
        #expect(try ask("erase", Self.place + "username=me\npassword=new\n").status == 0)
        #expect(try ask("get", Self.place).output.isEmpty)
    }

    @Test func `tokens come back with expiry and refresh token, and those that are over do not`() throws {
        let stage = try CredentialStage()
        func ask(_ word: String, _ input: String) throws -> CredentialStage.Outcome {
            try stage.run(stage.daemon.path("bin/git-credential-ostiary"), [word], input: input)
        }
        let token = "username=me\npassword=t\npassword_expiry_utc=99999999999\noauth_refresh_token=r\n"
        #expect(try ask("store", Self.place + token).status == 0)
        #expect(try ask("get", Self.place).output == token)
        #expect(try ask("erase", Self.place).status == 0)
        #expect(try ask("store", Self.place + "username=me\npassword=t\npassword_expiry_utc=1\n").status == 0)
        #expect(try ask("get", Self.place).output.isEmpty)
    }

    @Test func `a git that knows of states and schemes gets them, and stores and erases by them`() throws {
        let stage = try CredentialStage()
        func ask(_ word: String, _ input: String) throws -> CredentialStage.Outcome {
            try stage.run(stage.daemon.path("bin/git-credential-ostiary"), [word], input: input)
        }
        let capabilities = Self.capabilities
        let bearer = "authtype=Bearer\ncredential=token\n"
        #expect(try ask("store", capabilities + Self.place + bearer).status == 0)
        #expect(try ask("get", Self.place).output.isEmpty, "a git without schemes cannot use it")
        let got = try ask("get", capabilities + Self.place).output
        #expect(
            got.hasPrefix(
                "capability[]=authtype\ncapability[]=state\nauthtype=Bearer\ncredential=token\nstate[]=ostiary.item="))
        #expect(try ask("store", got + Self.place).status == 0)
        #expect(try ask("erase", Self.place + got).status == 0)
        #expect(try ask("get", capabilities + Self.place).output.isEmpty)
    }

    @Test func `protocol, host, port, path and user all have to match`() throws {
        let stage = try CredentialStage()
        let stored = "protocol=https\nhost=example.com:8443\npath=a/b.git\nusername=me\npassword=x\n"
        func fill(_ input: String) throws -> String {
            try stage.git(["-c", "credential.useHttpPath=true", "credential", "fill"], input: input).output
        }
        #expect(
            try stage.git(["-c", "credential.useHttpPath=true", "credential", "approve"], input: stored).status == 0)
        #expect(try fill("protocol=https\nhost=example.com:8443\npath=a/b.git\n") == stored)
        for other in [
            "protocol=http\nhost=example.com:8443\npath=a/b.git\n", "protocol=https\nhost=example.com\npath=a/b.git\n",
            "protocol=https\nhost=example.com:8444\npath=a/b.git\n",
            "protocol=https\nhost=sub.example.com:8443\npath=a/b.git\n",
            "protocol=https\nhost=example.com:8443\npath=a/c.git\n",
            "protocol=https\nhost=example.com:8443\npath=a/b.git\nusername=you\n",
        ] { #expect(try fill(other).isEmpty, "\(other)") }
    }

    @Test func `a host without a protocol, and bytes that are no lines, are refused, and nothing is found`() throws {
        let stage = try CredentialStage()
        let helper = stage.daemon.path("bin/git-credential-ostiary")
        #expect(try stage.run(helper, ["store"], input: Self.whole).status == 0)
        for (input, words) in [
            ("host=example.com\n", "it names no protocol"), ("protocol=https\n", "it names no host"),
            ("", "it names no protocol"),
            ("protocol=https\nhost=example.com\nhost=other\n", "host is given twice"),
            ("protocol=https\nhost=example.com\r\n", "a line holds a NUL or a carriage return"),
        ] {
            for word in ["get", "erase", "store"] {
                let outcome = try stage.run(helper, [word], input: input)
                #expect(outcome.status == 1 && outcome.output.isEmpty && outcome.errors.contains(words), "\(outcome)")
            }
        }
        let large = try stage.run(helper, ["get"], input: Self.place + String(repeating: "a", count: 70_000))
        #expect(large.status == 1 && large.errors.contains("more than 65536 bytes"))
        #expect(try stage.run(helper, ["get"], input: Self.place).output == "username=me\npassword=p=ss\n")
    }

    // MARK: questions

    @Test func `a locked store asks once, and names git, the helper and the host`() throws {
        let stage = try CredentialStage(.withPasscode)
        let kept = try stage.gitOnTerminal("approve", input: Self.whole, answers: [PrivateDaemon.passcode])
        #expect(kept.status == 0, "\(kept.screen)")
        stage.daemon.kill()
        try stage.daemon.start()
        let filled = try stage.gitOnTerminal("fill", input: Self.place, answers: [PrivateDaemon.passcode])
        #expect(filled.shows("password=p=ss"), "\(filled.screen)")
        #expect(filled.shows("git (process "), "\(filled.screen)")
        #expect(filled.shows("Through \(stage.helper.url.path)") && filled.shows("https://example.com"))
        #expect(filled.screen.components(separatedBy: "asscode: ").count == 2, "\(filled.screen)")
        // Open now: nobody is asked.
        #expect(try stage.git(["credential", "fill"], input: Self.place).output == Self.whole)
    }

    @Test func `a locked store without anybody to ask gives nothing`() throws {
        let stage = try CredentialStage(.withPasscode)
        #expect(try stage.gitOnTerminal("approve", input: Self.whole, answers: [PrivateDaemon.passcode]).status == 0)
        stage.daemon.kill()
        try stage.daemon.start()
        let outcome = try stage.run(stage.daemon.path("bin/git-credential-ostiary"), ["get"], input: Self.place)
        #expect(outcome.status == 3 && outcome.output.isEmpty && !outcome.errors.isEmpty)
    }

    @Test func `a password under a rule asks each time, and not when git says again that it works`() throws {
        let stage = try CredentialStage(.withPasscode)
        try stage.daemon.unlock()
        let helper = "ostiary --require passcode"
        #expect(try stage.gitOnTerminal("approve", input: Self.whole, helper: helper).status == 0)
        for _ in 1...2 {
            let filled = try stage.gitOnTerminal(
                "fill", input: Self.place, helper: helper, answers: [PrivateDaemon.passcode])
            #expect(filled.shows("asscode: ") && filled.shows("password=p=ss"), "\(filled.screen)")
        }
        let again = try stage.gitOnTerminal("approve", input: Self.whole, helper: helper)
        #expect(again.status == 0 && !again.shows("asscode: "), "\(again.screen)")
        let alone = try stage.run(stage.daemon.path("bin/git-credential-ostiary"), ["get"], input: Self.place)
        #expect(alone.status == 3 && alone.output.isEmpty)
        #expect(try stage.git(["credential", "reject"], input: Self.place).status == 0)
        #expect(try stage.gitOnTerminal("fill", input: Self.place, helper: helper).shows("asscode: ") == false)
    }

    @Test func `a helper that is not registered is refused, logged, and stops nothing`() throws {
        let stage = try CredentialStage(isRegistered: false)
        let outcome = try stage.git(["credential", "approve"], input: Self.whole)
        #expect(outcome.errors.contains("not registered"), "\(outcome.errors)")
        let refusal = try #require(try stage.log().last { $0["event"] as? String == "vouch" })
        #expect(refusal["reason"] as? String == "door.not-registered" && refusal["result"] as? String == "refused")
        #expect((refusal["program"] as? String)?.contains("ostiary-credential-helper") == true)
    }

    // MARK: renewed tokens

    private static let capabilities = "capability[]=authtype\ncapability[]=state\n"
    private static let over = "username=me\npassword=over\npassword_expiry_utc=1\noauth_refresh_token=r\n"
    private static let renewed =
        "username=me\npassword=renewed\noauth_refresh_token=s\npassword_expiry_utc=99999999999\n"
    private static let name = "git-credential-ostiary"
    private static let ruled = ["--require", "passcode"]

    /// What git 2.46 says of a credential: with the states of all helpers that it asked.
    private static func message(_ credential: String, after answer: String) -> String {
        let collected: [Substring] = states(of: answer) + ["state[]=other.seen=1"]
        return capabilities + place + credential + collected.joined(separator: "\n") + "\n"
    }

    private static func states(of answer: String) -> [Substring] {
        answer.split(whereSeparator: \.isNewline).filter { $0.hasPrefix("state[]=") }
    }

    private func run(_ words: [String], _ input: String, _ stage: CredentialStage) throws -> CredentialStage.Outcome {
        try stage.run(stage.daemon.path("bin/\(Self.name)"), words, input: input)
    }

    /// What a git with states gets once the person has entered the passcode.
    private func answered(_ stage: CredentialStage) throws -> PlayedTerminal {
        try stage.helperOnTerminal(
            Self.name, ["get"], input: Self.capabilities + Self.place, answers: [PrivateDaemon.passcode])
    }

    @Test func `a token that is over goes to git's next helper, and what that one renews is kept`() throws {
        let stage = try CredentialStage()
        #expect(try run(["store"], Self.place + Self.over, stage).status == 0)
        let renewing = stage.daemon.path("renew")
        let script = """
            #!/bin/sh
            cat > /dev/null
            [ "$1" != get ] || printf '%s' '\(Self.renewed)'

            """
        try Data(script.utf8).write(to: URL(fileURLWithPath: renewing))
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: renewing)
        func git(_ word: String, _ input: String) throws -> CredentialStage.Outcome {
            try stage.git(["-c", "credential.helper=\(renewing)", "credential", word], input: input)
        }
        let filled = try git("fill", Self.place)
        #expect(filled.output.contains("password=renewed\n"), "\(filled)")
        #expect(try git("approve", filled.output).errors.isEmpty)
        #expect(try run(["get"], Self.place, stage).output.contains("password=renewed\n"))
        // A server that still refuses the former one, for another process.
        #expect(try git("reject", Self.place + "username=me\npassword=over\n").errors.isEmpty)
        #expect(try run(["get"], Self.place, stage).output.contains("password=renewed\n"))
        #expect(try git("reject", Self.place + "username=me\npassword=renewed\n").errors.isEmpty)
        #expect(try run(["get"], Self.place, stage).output.isEmpty)
    }

    @Test func `git 2.46 stores what the next helper renewed, with the states of all helpers`() throws {
        let stage = try CredentialStage()
        #expect(try run(["store"], Self.place + Self.over, stage).status == 0)
        let answer = try run(["get"], Self.capabilities + Self.place, stage).output
        #expect(answer == "username=me\noauth_refresh_token=r\n", "no state, and no password to use")
        let stored = try run(["store"], Self.message(Self.renewed, after: answer), stage)
        #expect(stored.status == 0 && stored.errors.isEmpty, "\(stored.errors)")
        let kept = try run(["get"], Self.capabilities + Self.place, stage).output
        #expect(kept.contains("password=renewed\n") && kept.contains("oauth_refresh_token=s\n"), "\(kept)")
        #expect(Self.states(of: kept).count == 1)
    }

    @Test func `git 2.46 that says what a server refused erases no password that was stored since`() throws {
        let stage = try CredentialStage()
        #expect(try run(["store"], Self.whole, stage).status == 0)
        let answer = try run(["get"], Self.capabilities + Self.place, stage).output
        #expect(Self.states(of: answer).count == 1)
        #expect(try run(["store"], Self.place + "username=me\npassword=new\n", stage).status == 0)
        let refused = Self.message("username=me\npassword=p=ss\n", after: answer)
        #expect(try run(["erase"], refused, stage).status == 0)
        #expect(try run(["get"], Self.place, stage).output == "username=me\npassword=new\n")
        let new = Self.message("username=me\npassword=new\n", after: answer)
        #expect(try run(["erase"], new, stage).status == 0)
        #expect(try run(["get"], Self.place, stage).output.isEmpty)
    }

    @Test func `a renewed token replaces one under a rule, stays under that rule, and asks nobody`() throws {
        let stage = try CredentialStage(.withPasscode)
        try stage.daemon.unlock()
        let command = try stage.registeredCommand()
        #expect(try run(Self.ruled + ["store"], Self.place + Self.over, stage).status == 0)
        let answer = try answered(stage)
        #expect(answer.shows("oauth_refresh_token=r"), "\(answer.screen)")
        #expect(!answer.shows("password=over") && Self.states(of: answer.screen).isEmpty, "\(answer.screen)")
        let stored = try run(["store"], Self.message(Self.renewed, after: answer.screen), stage)
        #expect(stored.status == 0 && stored.errors.isEmpty, "\(stored.errors)")
        let alone = try run(["get"], Self.place, stage)
        #expect(alone.status == 3 && alone.output.isEmpty)
        let kept = try answered(stage)
        #expect(kept.shows("asscode: ") && kept.shows("password=renewed"), "\(kept.screen)")
        #expect(try stage.itemCount(by: command) == 1)
    }

    @Test func `under a rule a git without states replaces a token that ends at another time, and no other`() throws {
        let stage = try CredentialStage(.withPasscode)
        try stage.daemon.unlock()
        #expect(try run(Self.ruled + ["store"], Self.place + Self.renewed, stage).status == 0)
        let before = Self.states(of: try answered(stage).screen)
        #expect(try run(["store"], Self.place + Self.renewed, stage).status == 0)
        let after = Self.states(of: try answered(stage).screen)
        #expect(before.count == 1 && before == after, "it is the same item")
        let later = Self.renewed.replacingOccurrences(of: "99999999999", with: "99999999998")
        #expect(try run(["store"], Self.place + later, stage).status == 0)
        let replaced = try answered(stage)
        #expect(replaced.shows("password_expiry_utc=99999999998"), "\(replaced.screen)")
        #expect(Self.states(of: replaced.screen) != before)
    }

    @Test func `under a rule a typed password replaces a token that is over, and no other password`() throws {
        let stage = try CredentialStage(.withPasscode)
        try stage.daemon.unlock()
        let over = "username=me\npassword=over\npassword_expiry_utc=1\n"
        #expect(try run(Self.ruled + ["store"], Self.place + over, stage).status == 0)
        for password in ["typed", "other"] {
            #expect(try run(["store"], Self.place + "username=me\npassword=\(password)\n", stage).status == 0)
            let kept = try answered(stage)
            #expect(kept.shows("asscode: ") && kept.shows("password=typed"), "\(kept.screen)")
        }
    }

    @Test func `git 2.46 that refuses a token under a rule erases it unasked, and none that came after it`() throws {
        let stage = try CredentialStage(.withPasscode)
        try stage.daemon.unlock()
        let former = "username=me\npassword=former\npassword_expiry_utc=99999999998\n"
        #expect(try run(Self.ruled + ["store"], Self.place + former, stage).status == 0)
        let before = try answered(stage).screen
        #expect(try run(["store"], Self.place + Self.renewed, stage).status == 0)
        #expect(try run(["erase"], Self.message(former, after: before), stage).status == 0)
        let kept = try answered(stage)
        #expect(kept.shows("password=renewed"), "\(kept.screen)")
        #expect(try run(["erase"], Self.message(Self.renewed, after: kept.screen), stage).status == 0)
        let gone = try run(["get"], Self.place, stage)
        #expect(gone.status == 0 && gone.output.isEmpty, "\(gone)")
    }

    @Test func `a renewed token that a locked store cannot take leaves the former one under its rule`() throws {
        let stage = try CredentialStage(.withPasscode)
        try stage.daemon.unlock()
        let former = "username=me\npassword=former\npassword_expiry_utc=99999999998\n"
        #expect(try run(Self.ruled + ["store"], Self.place + former, stage).status == 0)
        stage.daemon.kill()
        try stage.daemon.start()
        let alone = try run(["store"], Self.place + Self.renewed, stage)
        #expect(alone.status == 3)
        #expect(alone.errors == "\(Self.name): The store is locked; open it with `ostiary unlock`.\n")
        let declined = try stage.helperOnTerminal(
            Self.name, ["store"], input: Self.place + Self.renewed, answers: ["\u{3}"])
        #expect(declined.status == 3 && declined.shows("Cancelled; nothing was done."), "\(declined.screen)")
        let kept = try answered(stage)
        #expect(kept.shows("password=former"), "\(kept.screen)")
        // That passcode has opened the store.
        #expect(try run(["store"], Self.place + Self.renewed, stage).status == 0)
        let replaced = try answered(stage)
        #expect(replaced.shows("password=renewed"), "\(replaced.screen)")
    }

    // MARK: real work

    @Test func `git clones from a server that wants a password, and forgets one that the server refuses`() throws {
        let stage = try CredentialStage()
        let served = stage.daemon.path("served")
        for arguments in [
            ["init", "-q", "work"],
            ["-C", "work", "-c", "user.name=a", "-c", "user.email=a", "commit", "-q", "--allow-empty", "-m", "a"],
            ["clone", "-q", "--bare", "work", "served/a.git"], ["-C", "served/a.git", "update-server-info"],
        ] {
            let outcome = try stage.run("/usr/bin/git", arguments)
            #expect(outcome.status == 0, "\(outcome.errors)")
        }
        let server = try PasswordServer(served, in: stage.daemon)
        let url = "http://127.0.0.1:\(server.port)/a.git"
        func keep(_ password: String) throws {
            let input = "protocol=http\nhost=127.0.0.1:\(server.port)\nusername=me\npassword=\(password)\n"
            #expect(try stage.git(["credential", "approve"], input: input).status == 0)
        }
        try keep("wrong")
        let refused = try stage.git(["clone", "-q", url, "refused"])
        #expect(refused.status != 0)
        let input = "protocol=http\nhost=127.0.0.1:\(server.port)\n"
        #expect(try stage.git(["credential", "fill"], input: input).output.isEmpty, "the refused one was forgotten")
        try keep("right")
        let cloned = try stage.git(["clone", "-q", url, "cloned"])
        #expect(cloned.status == 0 && cloned.errors.isEmpty, "\(cloned.errors)")
        #expect(try stage.git(["credential", "fill"], input: input).output.contains("password=right"))
    }
}
