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

    @Test func `a git that knows of states and schemes gets them, and its word on a state needs no comparison`() throws
    {
        let stage = try CredentialStage()
        func ask(_ word: String, _ input: String) throws -> CredentialStage.Outcome {
            try stage.run(stage.daemon.path("bin/git-credential-ostiary"), [word], input: input)
        }
        let capabilities = "capability[]=authtype\ncapability[]=state\n"
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
