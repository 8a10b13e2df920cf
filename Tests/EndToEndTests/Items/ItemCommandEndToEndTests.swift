import DaemonTestSupport
import Foundation
import Testing

/// The command's items and keys on a terminal against the real daemon.
@Suite("Items and keys of the command, end to end", .serialized)
struct ItemCommandEndToEndTests {
    private static let passcode = PrivateDaemon.passcode
    private let daemon: PrivateDaemon

    init() throws { daemon = try PrivateDaemon() }

    private func ostiary(_ arguments: String..., answers: [String] = []) throws -> PlayedTerminal {
        try PlayedTerminal(BuiltProgram.named("ostiary"), arguments, answers: answers, in: daemon)
    }

    private func setPasscode() throws { try daemon.setPasscode() }

    private func content(_ name: String) -> String? { try? String(contentsOfFile: daemon.path(name), encoding: .utf8) }

    @Test func `an item is added from a file, found, changed and deleted`() throws {
        try Data("first".utf8).write(to: daemon.folder.appendingPathComponent("in"))
        #expect(
            try ostiary("item", "add", "--service", "s", "--account", "a", "--unguarded", "--secret", "in").status == 0)
        #expect(
            try ostiary("item", "add", "--service", "s", "--account", "a", "--unguarded", "--secret", "in").status == 1)
        #expect(try ostiary("item", "find", "--service", "s", "--output", "out").status == 0)
        #expect(content("out") == "first")
        try Data("second".utf8).write(to: daemon.folder.appendingPathComponent("in"))
        let update = ["item", "update", "--service", "s", "--secret", "in", "--set", "label=new"]
        #expect(
            try PlayedTerminal(BuiltProgram.named("ostiary"), update + ["--force"], in: daemon).status == 0)
        #expect(try ostiary("item", "find", "--label", "new", "--output", "out", "--force").status == 0)
        #expect(content("out") == "second")
        let list = try ostiary("item", "list")
        #expect(list.screen.contains("new"))
        #expect(!list.screen.contains("second"))
        #expect(try unattended("item", "delete", "--service", "s").status == 3)
        let kept = try ostiary("item", "delete", "--service", "s", answers: ["no"])
        #expect(
            kept.status == 3 && kept.shows("This deletes 1 generic password with the service “s”"), "\(kept.screen)")
        #expect(try ostiary("item", "delete", "--service", "s", answers: ["yes"]).status == 0)
        #expect(try ostiary("item", "find", "--service", "s").status == 1)
    }

    private func secrets(of accounts: [String]) throws -> [String] {
        try accounts.map { account in
            #expect(
                try ostiary("item", "find", "--service", "mail", "--account", account, "--output", "out", "--force")
                    .status == 0)
            return try #require(content("out"))
        }
    }

    @Test func `secrets are replaced after a yes that names their number, or by force, and never else`() throws {
        try Data("first".utf8).write(to: daemon.folder.appendingPathComponent("in"))
        for account in ["a", "b", "c"] {
            let add = ["item", "add", "--service", "mail", "--account", account, "--unguarded", "--secret", "in"]
            #expect(try UnattendedRun(BuiltProgram.named("ostiary"), add, in: daemon).status == 0)
        }
        try Data("second".utf8).write(to: daemon.folder.appendingPathComponent("in"))
        let alone = try unattended("item", "update", "--service", "mail", "--secret", "in")
        #expect(
            alone.status == 3
                && alone.output.hasPrefix(
                    "ostiary: This replaces the secrets of 3 generic passwords with the service “mail”. Nobody can be asked"
                ),
            "\(alone.output)")
        let json = try unattended("item", "update", "--service", "mail", "--secret", "in", "--json")
        #expect(json.status == 3 && json.output.contains(#""name":"consentNeeded""#), "\(json.output)")
        let refused = try ostiary("item", "update", "--service", "mail", "--secret", "in", answers: ["no"])
        #expect(refused.status == 3 && refused.shows("the secrets of 3 generic passwords"), "\(refused.screen)")
        #expect(try secrets(of: ["a", "b", "c"]) == ["first", "first", "first"])

        let one = try ostiary(
            "item", "update", "--service", "mail", "--account", "a", "--secret", "in", answers: ["yes"])
        #expect(one.status == 0 && one.shows("the secret of 1 generic password with the account “a”"), "\(one.screen)")
        #expect(try secrets(of: ["a", "b", "c"]) == ["second", "first", "first"])
        #expect(try unattended("item", "update", "--service", "mail", "--secret", "in", "--force").status == 0)
        #expect(try secrets(of: ["a", "b", "c"]) == ["second", "second", "second"])
        // An attribute can be set back.
        #expect(try unattended("item", "update", "--service", "mail", "--set", "comment=x").status == 0)
        // Where nothing matches, nobody is asked.
        let none = try unattended("item", "update", "--service", "other", "--secret", "in")
        #expect(none.status == 1 && none.output == "ostiary: There is no such item.\n", "\(none.output)")
    }

    @Test func `a deletion says what it selects, and asks nothing where nothing matches`() throws {
        try setPasscode()
        try Data("secret".utf8).write(to: daemon.folder.appendingPathComponent("in"))
        func add(_ account: String, _ options: String...) throws {
            let add = ["item", "add", "--service", "s", "--account", account, "--secret", "in"] + options
            #expect(try PlayedTerminal(BuiltProgram.named("ostiary"), add, in: daemon).status == 0)
        }
        let none = try unattended("item", "delete", "--service", "s")
        #expect(none.status == 1 && none.output == "ostiary: There is no such item.\n", "\(none.output)")
        try add("guarded", "--require", "passcode")
        let guarded = try unattended("item", "delete", "--service", "s")
        #expect(
            guarded.status == 3
                && guarded.output.hasPrefix(
                    "ostiary: This deletes at least 1 generic password with the service “s”, with their secrets. More may be "
                        + "locked or under a rule. Nobody"),
            "\(guarded.output)")
        try add("free", "--unguarded")
        try add("more", "--unguarded")
        let all = try ostiary("item", "delete", "--service", "s", answers: ["no"])
        #expect(
            all.status == 3 && all.shows("at least 3 generic passwords with the service “s”, with their secrets."),
            "\(all.screen)")
        let one = try ostiary("item", "delete", "--account", "free", answers: ["no"])
        #expect(one.shows("1 generic password with the account “free”, with its secret."), "\(one.screen)")
        #expect(try ostiary("lock").status == 0)
        let locked = try ostiary("item", "delete", "--account", "free", answers: ["yes"])
        #expect(locked.status == 0 && locked.shows("at least 1 generic password"), "\(locked.screen)")
        #expect(locked.shows("Deleted 1 item.") && !locked.shows("Wrong passcode"), "\(locked.screen)")
        // Looking for them was no try that anybody refused.
        #expect(try !unattended("log", "--last", "20").output.contains("refused"))
        #expect(try unattended("item", "delete", "--service", "s", "--force").output == "Deleted 2 items.\n")
    }

    @Test func `an item is named by its id, of whatever class it is`() throws {
        try Data("secret".utf8).write(to: daemon.folder.appendingPathComponent("in"))
        func add(_ options: String...) throws -> String {
            let add = ["item", "add", "--unguarded", "--secret", "in", "--json"] + options
            let added = try UnattendedRun(BuiltProgram.named("ostiary"), add, in: daemon)
            let object = try JSONSerialization.jsonObject(with: Data(added.output.utf8)) as? [String: String]
            return try #require(object?["id"], "\(added.output)")
        }
        let first = try add("--service", "s", "--account", "a")
        let second = try add("--class", "internet", "--server", "h", "--account", "a")
        try Data("new".utf8).write(to: daemon.folder.appendingPathComponent("in"))
        let update = try ostiary("item", "update", "--id", second, "--secret", "in", answers: ["yes"])
        let digits = try #require(Data(base64Encoded: second)).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }
            .joined()
        #expect(update.status == 0 && update.shows("the secret of the item with the id \(digits)."), "\(update.screen)")
        for (id, content) in [(first, "secret"), (second, "new"), (digits, "new")] {
            #expect(try unattended("item", "find", "--id", id, "--output", "out", "--force").status == 0)
            #expect(self.content("out") == content)
        }
        #expect(try unattended("item", "delete", "--id", first, "--service", "s", "--force").status == 2)
        #expect(
            try unattended("item", "delete", "--id", second, "--force", "--json").output.contains(#""deleted" : 1"#))
        #expect(try unattended("item", "find", "--id", second).status == 1)
        #expect(try unattended("item", "find", "--id", first, "--output", "out", "--force").status == 0)
    }

    @Test func `an item under a rule is read by who proves it`() throws {
        try setPasscode()
        try Data("secret".utf8).write(to: daemon.folder.appendingPathComponent("in"))
        #expect(try ostiary("item", "add", "--service", "s", "--secret", "in", "--require", "passcode").status == 0)
        #expect(!(try ostiary("item", "list").screen.contains("passcode")))
        let read = try ostiary("item", "find", "--service", "s", "--output", "out", answers: [Self.passcode])
        #expect(read.status == 0, "\(read.screen)")
        #expect(content("out") == "secret")
        let refused = try ostiary(
            "item", "find", "--service", "s", "--output", "none", answers: ["wrong 1", "wrong 2", "wrong 3"])
        #expect(refused.status == 3)
        #expect(content("none") == nil)
    }

    @Test func `a new item needs a factor unless it is unguarded, and a missing passcode is said`() throws {
        try Data("secret".utf8).write(to: daemon.folder.appendingPathComponent("in"))
        let add = ["item", "add", "--service", "s", "--secret", "in"]
        let refused = try PlayedTerminal(BuiltProgram.named("ostiary"), add, in: daemon)
        #expect(refused.status == 1 && refused.shows("No passcode is set"), "\(refused.screen)")
        let open = try ostiary("item", "add", "--service", "open", "--unguarded", "--secret", "in")
        #expect(open.status == 0 && open.shows("reads it without a question"), "\(open.screen)")
        #expect(open.shows("Warning: no passcode is set"), "\(open.screen)")
        try setPasscode()
        let added = try PlayedTerminal(BuiltProgram.named("ostiary"), add, in: daemon)
        #expect(added.status == 0 && added.shows("reading it requires passcode or biometry"), "\(added.screen)")
        #expect(!added.shows("Warning"), "\(added.screen)")
        #expect(try unattended("item", "find", "--service", "s", "--output", "none").status == 3)
        #expect(content("none") == nil)
        let read = try ostiary("item", "find", "--service", "s", "--json", answers: [Self.passcode])
        #expect(read.status == 0 && read.screen.contains(#"{"secret":"c2VjcmV0"}"#), "\(read.screen)")
        #expect(try ostiary("item", "add", "--group", "g", "--secret", "in").status == 2)
        let deleted = try ostiary("item", "delete", "--service", "s", answers: ["yes"])
        #expect(deleted.status == 0 && deleted.shows("Deleted 1 item."), "\(deleted.screen)")
        let stars = try unattended("item", "list", "--service", "op*", "--json").output
        #expect(stars.contains(#""svce" : "open""#), "\(stars)")
        #expect(try unattended("item", "list", "--service", "x*").output.contains("There are no such items."))
    }

    private func unattended(_ arguments: String...) throws -> UnattendedRun {
        try UnattendedRun(BuiltProgram.named("ostiary"), arguments, in: daemon)
    }

    @Test func `numbers and classes are found as they are stored`() throws {
        try Data("secret".utf8).write(to: daemon.folder.appendingPathComponent("in"))
        let added = try ostiary(
            "item", "add", "--service", "s", "--unguarded", "--secret", "in", "--available", "always", "--attribute",
            "invi=1")
        #expect(added.status == 0, "\(added.screen)")
        let list = try unattended("item", "list", "--json").output
        #expect(list.contains(#""invi" : 1"#) && list.contains(#""pdmn" : "dku""#), "\(list)")
        for (attribute, status) in [
            ("sync=0", Int32(0)), ("sync=1", 1), ("invi=1", 0), ("invi=0", 1), ("available=always", 0),
            ("available=when-unlocked", 1), ("pdmn=dk", 1),
        ] {
            let found = try ostiary("item", "find", "--attribute", attribute, "--output", "out", "--force")
            #expect(found.status == status, "\(attribute): \(found.screen)")
        }
        let set = try ostiary(
            "item", "update", "--service", "s", "--set", "available=after-first-unlock", "--set", "invi=0")
        #expect(set.status == 0, "\(set.screen)")
        for (attribute, status) in [
            ("available=after-first-unlock", Int32(0)), ("available=always", 1), ("invi=1", 1),
        ] {
            let found = try ostiary("item", "find", "--attribute", attribute, "--output", "out", "--force")
            #expect(found.status == status, "\(attribute): \(found.screen)")
        }
    }

    @Test func `a locked item is read after ostiary unlock, which asks for the passcode`() throws {
        try setPasscode()
        try Data("secret".utf8).write(to: daemon.folder.appendingPathComponent("in"))
        #expect(try ostiary("item", "add", "--service", "s", "--unguarded", "--secret", "in").status == 0)
        #expect(try ostiary("lock").status == 0)
        func expectLocked() throws {
            let refused = try unattended("item", "find", "--service", "s", "--output", "out")
            #expect(refused.status == 3)
            #expect(refused.output == "ostiary: The store is locked; open it with `ostiary unlock`.\n")
            #expect(content("out") == nil)
        }
        try expectLocked()
        let wrong = try ostiary("unlock", answers: ["wrong one 1", "wrong one 2", "wrong one 3"])
        #expect(wrong.status == 3 && !wrong.screen.contains("Unlocked."), "\(wrong.screen)")
        let alone = try unattended("unlock")
        let nobody = "ostiary: Nobody can be asked"
        #expect(alone.status == 3 && alone.output.hasPrefix(nobody), "\(alone.output)")
        try expectLocked()

        let unlocked = try ostiary("unlock", answers: [Self.passcode])
        #expect(unlocked.status == 0 && unlocked.screen.hasSuffix("Unlocked.\r\n"), "\(unlocked.screen)")
        let log = try unattended("log", "--json").output
        #expect(unlocked.screen.contains("open the store") && log.contains("\"unlock\""), "\(unlocked.screen)")
        #expect(!log.contains("authorize-requirement") && !log.contains("evaluate-policy"), "the passcode, no policy")
        #expect(try ostiary("item", "find", "--service", "s", "--output", "out").status == 0)
        #expect(content("out") == "secret")
    }

    @Test func `on a terminal a locked item is read for the passcode, and a list says what it leaves out`() throws {
        try setPasscode()
        try Data("secret".utf8).write(to: daemon.folder.appendingPathComponent("in"))
        #expect(try ostiary("item", "add", "--service", "s", "--unguarded", "--secret", "in").status == 0)
        #expect(try ostiary("lock").status == 0)
        let list = try ostiary("item", "list")
        #expect(list.status == 0 && list.shows("locked items are not listed"), "\(list.screen)")
        #expect(list.shows("No other item matches.") && !list.shows("no such items"), "\(list.screen)")
        let cancelled = try ostiary("item", "find", "--service", "s", "--output", "out", answers: ["\u{3}"])
        #expect(cancelled.status != 0 && content("out") == nil, "\(cancelled.screen)")
        let found = try ostiary("item", "find", "--service", "s", "--output", "out", answers: [Self.passcode])
        #expect(found.status == 0 && content("out") == "secret", "\(found.screen)")
        #expect(found.shows("Your passcode opens it for all your programs."))
        let open = try ostiary("item", "list")
        #expect(open.status == 0 && !open.shows("locked"), "\(open.screen)")
    }

    @Test func `unlock asks nobody where nothing is locked`() throws {
        let unset = try unattended("unlock")
        #expect(unset.status == 0 && unset.output == "No passcode is set, so nothing is locked.\n", "\(unset.output)")
        try setPasscode()
        let open = try unattended("unlock")
        #expect(open.status == 0 && open.output == "The store is unlocked already.\n", "\(open.output)")
        daemon.kill()
        try daemon.start()
        #expect(try unattended("unlock").status == 3)
    }

    @Test func `a key signs for its owner until it is removed`() throws {
        try setPasscode()
        try Data("challenge".utf8).write(to: daemon.folder.appendingPathComponent("in"))
        #expect(try ostiary("key", "create", "release", "--require", "passcode").status == 0)
        #expect(try ostiary("key", "create", "release").status == 1)
        #expect(try ostiary("key", "list").screen.contains("release"))
        #expect(try ostiary("key", "public-key", "release", "--output", "release.pem").status == 0)
        let signed = try ostiary("key", "sign", "release", "in", "--output", "signature", answers: [Self.passcode])
        #expect(signed.status == 0, "\(signed.screen)")
        #expect(FileManager.default.fileExists(atPath: daemon.path("signature")))
        let list = try unattended("key", "list", "--json").output
        let keys = try JSONSerialization.jsonObject(with: Data(list.utf8)) as? [String: [[String: Any]]]
        let id = try #require(keys?["keys"]?.first?["id"] as? String)
        let byID = try ostiary("key", "sign", "--id", id, "in", "--output", "signed", answers: [Self.passcode])
        #expect(byID.status == 0 && content("signed") == nil, "\(byID.screen)")
        #expect(FileManager.default.fileExists(atPath: daemon.path("signed")))
        #expect(try unattended("key", "public-key", "--id", id, "--output", "by-id.pem").status == 0)
        #expect(content("by-id.pem") == content("release.pem") && content("by-id.pem") != nil)
        #expect(try unattended("key", "remove", "release").status == 3)
        #expect(try ostiary("key", "remove", "release", answers: ["yes"]).status == 0)
        #expect(try ostiary("key", "sign", "release", "in", "--output", "other").status == 1)
    }

    @Test func `the owner sees the keys of other programs, and removes them by their ids`() throws {
        try setPasscode()
        let mail = try ProgramCopy(of: "keychain-calls", as: "mail", in: daemon)
        #expect(try ostiary("key", "list", "--all").screen.contains("There are no keys."))
        #expect(try mail.run("make-key", "theirs") == ["make key: 0"])
        #expect(try ostiary("key", "create", "ours", "--require", "passcode").status == 0)
        #expect(try !ostiary("key", "list").screen.contains(mail.url.path))
        #expect(try ostiary("key", "list", "--all").screen.contains(mail.url.path))
        let listed = try ostiary("key", "list", "--all", "--json").screen
        let keys =
            try #require(
                JSONSerialization.jsonObject(with: Data(listed.utf8)) as? [String: [[String: Any]]])["keys"] ?? []
        #expect(keys.count == 2 && keys.allSatisfy { $0["hasItem"] as? Bool == true })
        let theirs = try #require(keys.first { $0["group"] as? String == mail.url.path }?["id"] as? String)
        let id = try #require(Data(base64Encoded: theirs)).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        #expect(try ostiary("doctor").screen.contains("2 keys of the enclave, 0 of them without an item."))

        #expect(try ostiary("key", "remove", "--id", id, answers: ["\u{3}"]).status != 0)
        #expect(try mail.run("sign", "theirs") == ["sign: 0"])
        let removed = try ostiary("key", "remove", "--id", id, answers: [Self.passcode])
        #expect(removed.status == 0 && removed.screen.contains(id), "\(removed.screen)")
        #expect(try mail.run("sign", "theirs") == ["sign: -25300"])
        #expect(try ostiary("key", "remove", "--id", id).status == 1)
    }
}
