import AccessControl
import ArgumentParser
import Foundation
import Testing

@testable import ostiary

@Suite("Arguments")
struct ArgumentTests {
    private func exitCode(_ arguments: [String]) -> ExitCode? {
        do {
            _ = try Ostiary.parseAsRoot(arguments)
            return nil
        } catch { return Ostiary.exitCode(for: error) }
    }

    @Test(arguments: [
        ["lease", "grant", "a", "b", "--for", "git"], ["lease", "grant", "--group", "g", "--for", "/bin/a", "--json"],
        ["lease", "grant", "a", "--for", "a", "--through", "any", "--operation", "sign", "--operation", "decrypt"],
        ["lease", "grant", "a", "--for", "a", "--host", "x", "--host", "y", "--purpose", "p", "--reason", "why"],
        ["lease", "grant", "a", "--for", "a", "--for-time", "2h", "--idle", "90s", "--uses", "2", "--ends-on-lock"],
        ["lease", "grant", "a", "--for", "a", "--no-ends-on-lock", "--for-time", "90"], ["lease", "list", "--json"],
        ["lease", "revoke", "--all"], ["lease", "revoke", "000000000000000a", "--json"],
        ["right", "create", "a", "--confirm-each", "--allow-leases", "--lease-time", "5m", "--lease-uses", "3"],
        ["key", "create", "a", "--confirm-each", "--allow-leases"],
        ["ssh", "create", "a", "--namespace", "git", "--allow-leases", "--lease-time", "30m", "--lease-uses", "20"],
        ["status"], ["status", "--json"], ["passcode", "set"], ["passcode", "change"], ["passcode", "remove"],
        ["passcode", "follow-login"], ["passcode", "follow-login", "--off", "--json"], ["lock"],
        ["right", "create", "a"], ["right", "create", "a", "--require", "2 of (passcode, biometry, security-key)"],
        ["right", "create", "a", "--available", "always", "--secret", "-", "--replace"],
        ["right", "create", "a", "--replace", "--force", "--reason", "why"], ["right", "list", "a*", "--all"],
        ["right", "remove", "a", "--force", "--json"], ["right", "remove", "--id", "AAECAwQFBgcICQoLDA0ODw=="],
        ["right", "sign", "a", "f", "g", "h", "--json", "--force"], ["key", "sign", "k", "f", "g", "--reason", "why"],
        ["right", "secret", "a", "--json", "--output", "f"], ["right", "public-key", "a", "--json"],
        ["item", "add", "--account", "a", "--unguarded", "--json"], ["item", "delete", "--account", "a", "--force"],
        ["key", "list", "release*"], ["passcode", "set", "--json", "--reason", "why"], ["lock", "--json"],
        ["fingerprint", "delete", "--all", "--force", "--json"],
        ["right", "list", "--all", "--json"],
        ["right", "show", "a", "--json"], ["right", "authorize", "a", "--reason", "why"], ["right", "remove", "a"],
        ["right", "remove", "--id", "000102030405060708090A0b0c0d0e0f"], ["right", "create", "a", "--json"],
        ["right", "authorize", "a", "--json"], ["right", "verify", "a", "f", "--signature", "s", "--json"],
        ["right", "public-key", "a", "--format", "x963", "--output", "f"], ["right", "sign", "a", "-"],
        ["right", "sign", "a", "f", "--output", "-", "--algorithm", "ecdsa-sha384", "--reason", "why"],
        ["right", "verify", "a", "-", "--signature", "s"], ["right", "encrypt", "a", "-", "--output", "-"],
        ["right", "decrypt", "a", "f", "--algorithm", "ecies-fixed-iv-sha1"],
        ["right", "secret", "a", "--output", "f"],
        ["unlock"], ["log"], ["log", "--json", "--last", "3"], ["log", "--verify", "--json"], ["doctor", "--json"],
        ["doctor", "--repair"],
        ["item", "add", "--service", "s", "--account", "a"],
        ["item", "add", "--service", "s", "--secret", "-", "--available", "always"],
        ["item", "add", "--class", "internet", "--server", "h", "--attribute", "port=443", "--require", "passcode"],
        ["item", "find", "--service", "s", "--output", "f", "--reason", "why"],
        ["item", "list", "--class", "key", "--json"],
        ["item", "list", "--protected"], ["item", "update", "--account", "a", "--set", "label=x=y", "--new-secret"],
        ["item", "delete", "--label", "l", "--group", "g", "--attribute", "svce=s"],
        ["key", "create", "k", "--require", "passcode", "--tag", "t", "--group", "g"], ["key", "list", "--json"],
        ["key", "sign", "k", "-", "--algorithm", "ecdsa-sha384"], ["key", "public-key", "k", "--format", "x963"],
        ["key", "remove", "k"], ["key", "list", "--all", "--json"],
        ["key", "sign", "--id", "000102030405060708090a0b0c0d0e0f", "f"],
        ["key", "sign", "--id", "000102030405060708090a0b0c0d0e0f", "f", "g", "--json"],
        ["key", "public-key", "--id", "AAECAwQFBgcICQoLDA0ODw=="],
        ["item", "find", "--id", "AAECAwQFBgcICQoLDA0ODw=="], ["item", "delete", "--id", "AAECAwQFBgcICQoLDA0ODw=="],
        ["item", "update", "--id", "AAECAwQFBgcICQoLDA0ODw==", "--set", "label=x"],
        ["item", "update", "--account", "a", "--secret", "-", "--force"],
        ["passkey", "list", "--json"], ["passkey", "show", "000102030405060708090a0b0c0d0e0f", "--json"],
        ["passkey", "remove", "000102030405060708090a0b0c0d0e0f"], ["passkey", "serve"],
        ["security-key", "enroll", "blue", "--json"], ["security-key", "list", "--json"], ["security-key", "pin"],
        ["security-key", "remove", "blue"], ["security-key", "remove", "--id", "000102030405060708090a0b0c0d0e0f"],
        ["key", "remove", "--id", "000102030405060708090a0b0c0d0e0f"],
        ["key", "prune"], ["key", "prune", "--json"],
        ["key", "prune", "--remove", "--group", "g", "--unused-for", "30", "--json"],
        ["app", "register", "p", "--id", "i", "--group", "a", "--group", "b", "--json"],
        ["app", "register", "p", "--id", "i", "--browser"], ["app", "register", "p", "--id", "i", "--door"],
        ["app", "adopt", "p"], ["app", "adopt", "p", "--id", "com.example.mail", "--json"], ["app", "list", "--json"],
        ["app", "remove", "i"], ["grants", "list", "--json"], ["grants", "revoke", "--all"],
        ["right", "create", "a", "--idle", "30", "--hard", "300", "--uses", "2"],
        ["key", "create", "k", "--uses", "1"], ["key", "create", "k", "--require", "passcode", "--confirm-each"],
        ["right", "create", "a", "--group", "g"], ["right", "list", "--group", "g"],
        ["right", "remove", "a", "--group", "g"], ["right", "sign", "a", "f", "--group", "g"],
        ["right", "secret", "--group", "g", "a"],
    ])
    func `a documented command line is understood`(arguments: [String]) {
        #expect(exitCode(arguments) == nil)
    }

    @Test(arguments: [
        ["right", "create", "a", "--force"], ["right", "sign", "a", "f", "g", "--output", "o"],
        ["right", "sign", "a", "f", "-"], ["right", "sign", "a", "f", "f"], ["key", "sign", "k", "f", "f"],
        ["right", "secret", "a", "--json", "--output", "-"], ["key", "list", "k", "--all"],
        ["item", "add", "--account", "a", "--unguarded", "--require", "passcode"],
        ["key", "sign", "--id", "000102030405060708090a0b0c0d0e0f"], ["key", "sign", "--id", "00", "f"],
        ["key", "public-key"], ["key", "public-key", "k", "--id", "000102030405060708090a0b0c0d0e0f"],
        ["item", "find", "--id", "00"], ["item", "add", "--id", "000102030405060708090a0b0c0d0e0f"],
        ["item", "update", "--account", "a", "--set", "label=x", "--force"],
        ["nonsense"], ["right", "create", "a", "--uses", "0"], ["right", "create", "a", "--idle", "9", "--hard", "9"],
        ["right", "create", "a", "--uses", "-1"], ["status", "extra"], ["status", "--yaml"], ["passcode", "reset"],
        ["right", "create"],
        ["right", "remove"], ["right", "remove", "a", "--id", "000102030405060708090a0b0c0d0e0f"],
        ["right", "remove", "--id", ""], ["right", "remove", "--id", "000102030405060708090a0b0c0d0e"],
        ["right", "remove", "--id", "000102030405060708090a0b0c0d0e0g"], ["right", "create", ""],
        ["right", "create", String(repeating: "n", count: 513)], ["right", "create", "a", "--secret"],
        ["right", "create", "a", "--secret", ""], ["right", "create", "a", "--available", "sometimes"],
        ["right", "create", "a", "--require", ""], ["right", "authorize", "a", "--reason", " \n"],
        ["right", "authorize", "a", "--reason", String(repeating: "r", count: 2049)],
        ["right", "public-key", "a", "--format", "der"], ["right", "sign", "a"], ["right", "sign", "a", ""],
        ["right", "sign", "a", "f", "--algorithm", "ecies-sha256"], ["right", "verify", "a", "f"],
        ["right", "verify", "a", "-", "--signature", "-"], ["right", "encrypt", "a", "f", "--reason", "why"],
        ["right", "secret", "a", "--output", ""], ["log", "--last", "0"], ["log", "--last", "-1"],
        ["log", "--last", "many"], ["unlock", "now"], ["log", "--verify", "--last", "3"],
        ["item", "add", "--service", "s", "secret"], ["item", "add", "--class", "genp"],
        ["item", "add", "--attribute", "colour=red"],
        ["item", "find", "--attribute", "available=sometimes"],
        ["item", "update", "--account", "a", "--set", "available=sometimes"],
        ["item", "add", "--attribute", "label"], ["item", "add", "--label", "a", "--attribute", "labl=b"],
        ["item", "find", "--account"], ["item", "update", "--account", "a"],
        ["item", "update", "--account", "a", "--secret", "-", "--new-secret"],
        ["item", "update", "--account", "a", "--set", "label=x", "--set", "labl=y"], ["item", "list", "--output", "f"],
        ["key", "remove"], ["key", "remove", "k", "--id", "000102030405060708090a0b0c0d0e0f"],
        ["passkey", "remove"], ["passkey", "show", "k"],
        ["security-key", "enroll"], ["security-key", "enroll", ""], ["security-key", "remove"],
        ["security-key", "enroll", String(repeating: "k", count: 65)], ["security-key", "pin", "1234"],
        ["security-key", "remove", "blue", "--id", "000102030405060708090a0b0c0d0e0f"],
        ["security-key", "remove", "--id", "00"],
        ["key", "remove", "--id", "k"], ["key", "remove", "--id", "000102030405060708090a0b0c0d0e"],
        ["key", "prune", "g"], ["key", "prune", "--unused-for", "-1"], ["key", "prune", "--unused-for", "x"],
        ["key", "prune", "--unused-for", "36501"], ["key", "prune", "--remove"], ["key", "prune", "--group", ""],
        ["key", "create"], ["key", "create", "k", "--require", "passkode"], ["key", "sign", "k"],
        ["key", "sign", "k", "f", "--algorithm", "ecies-sha256"], ["app", "register", "p"],
        ["app", "register", "p", "--id", ""], ["app", "register", "p", "--id", ".a"],
        ["app", "register", "p", "--id", "a", "--group", "ä"], ["app", "adopt", "p", "--id", ""],
        ["app", "register", "p", "--id", String(repeating: "i", count: 129)], ["app", "register", "p", "--id", "a b"],
        ["app", "register", "p", "--id", "com.apple.mail"],
        ["app", "register", "p", "--id", "a", "--group", "com.apple.token"], ["app", "register", "--id", "i"],
        ["app", "remove"],
        ["key", "create", "k", "--confirm-each", "--uses", "1"], ["right", "create", "a", "--group", ""],
        ["right", "show", "a", "--group", ""], ["right", "list", "--all", "--group", "g"],
        ["right", "remove", "--id", "000102030405060708090a0b0c0d0e0f", "--group", "g"],
    ])
    func `a command line that makes no sense is wrong usage`(arguments: [String]) {
        #expect(exitCode(arguments) == .validationFailure)
    }

    @Test(arguments: [
        ("", "A key has a label of at least one character."),
        (String(repeating: "k", count: 513), "The label of a key has at most 512 bytes."),
    ])
    func `what cannot be a label of a key is refused as one`(label: String, message: String) {
        let error = #expect(throws: ValidationError.self) { try KeyArgument.checkedLabel(label) }
        #expect(error?.message == message)
        for command in [["create"], ["sign"], ["public-key"], ["remove"]] {
            let file = command == ["sign"] ? ["f"] : []
            #expect(exitCode(["key"] + command + [label] + file) == .validationFailure)
        }
    }

    @Test func `names and reasons may be as long as the wire takes`() {
        #expect(exitCode(["right", "show", String(repeating: "n", count: 512)]) == nil)
        #expect(exitCode(["right", "authorize", "a", "--reason", String(repeating: "r", count: 2048)]) == nil)
    }

    @Test func `a right requires biometry or passcode while unlocked unless told otherwise`() throws {
        let create = try #require(try Ostiary.parseAsRoot(["right", "create", "a"]) as? RightCreate)
        #expect(create.protection.require == nil)
        #expect(create.protection.available == .whenUnlocked)
        #expect(!create.replace)
        #expect(try RuleArgument(RuleArgument.standard).requirement == Requirement(anyOf: [.biometry, .passcode]))
    }

    @Test(arguments: [
        ("biometry orr passcode", 10), ("passcode and", 13), ("(passcode", 10), ("3 of (passcode, biometry)", 1),
        ("passcode and biometry or security-key", 23), ("pass√code", 5),
    ])
    func `a rule that cannot be read names the character`(rule: String, character: Int) throws {
        let error = #expect(throws: ValidationError.self) { try RuleArgument(rule) }
        let message = try #require(error).message
        #expect(message.hasSuffix("(at character \(character))"), "\(message)")
    }

    @Test func `a way around an application password is refused`() {
        #expect(throws: ValidationError.self) { try RuleArgument("passcode or application-password") }
    }

    @Test(arguments: [
        (["status", "--json"], true), (["--json", "nonsense"], true), (["status"], false), ([], false),
        (["right", "show", "--", "--json"], false), (["right", "authorize", "a", "--reason=--json"], false),
    ])
    func `errors are JSON when the flag is among the arguments`(arguments: [String], isJSON: Bool) {
        #expect(JSONFlag.isGiven(in: arguments) == isJSON)
    }

    @Test(arguments: ["com.apple.token", "com.apple."]) func `names of Apple's are refused as wrong usage`(name: String)
    {
        #expect {
            _ = try ApplicationRegister.checked(name)
        } throws: { error in
            (error as? ValidationError)?.message == "Names that begin with com.apple. belong to Apple."
        }
        for arguments in [
            ["app", "register", "p", "--id", name], ["app", "remove", name], ["app", "adopt", "p", "--id", name],
        ] {
            #expect(exitCode(arguments) == .validationFailure, "\(arguments)")
        }
    }

    @Test(arguments: ["com.apple", "com.applepie.cook", "org.com.apple.token"])
    func `names that only resemble Apple's are names`(name: String) throws {
        #expect(try ApplicationRegister.checked(name) == name)
    }

    @Test func `an id is taken in the form of the lists for people and of those in JSON`() throws {
        let id = Data(0..<16)
        for text in [id.hexadecimal, id.base64EncodedString()] { #expect(try RightRemove.checkedID(text) == id) }
        for text in [
            "", "00", Data(0..<15).base64EncodedString(), Data(0..<17).base64EncodedString(), id.hexadecimal + "00",
        ] {
            #expect(throws: ValidationError.self) { try RightRemove.checkedID(text) }
        }
    }

    @Test(arguments: [
        ("", "", true), ("", "a", false), ("a", "a", true), ("a", "A", false), ("*", "", true), ("*", "abc", true),
        ("a*", "a", true), ("a*", "abc", true), ("a*", "ba", false), ("*c", "abc", true), ("*c", "cb", false),
        ("a*c", "ac", true), ("a*c", "abcbc", true), ("a*c", "a", false), ("a*a", "a", false), ("*b*", "abc", true),
        ("a*b*c", "a-b-b-c", true), ("a*b*c", "a-c-b", false), ("ab*ba", "aba", false), ("**", "x", true),
        (#"\*"#, "*", true), (#"\*"#, "a", false), (#"a\**"#, "a*b", true), (#"a\b"#, #"a\b"#, true),
        ("caf\u{e9}", "cafe\u{301}", false),
    ])
    func `a star stands for any text`(pattern: String, text: String, matches: Bool) {
        #expect(TextPattern(pattern).matches(text) == matches)
    }

    @Test(arguments: [
        (["right", "lst"], "ostiary right list"), (["rigth", "list"], "ostiary right"),
        (["right", "list"], nil), (["right", "xyz"], nil), (["right", "show", "lst"], nil),
        (["statu"], "ostiary status"),
        (["key", "rm"], "ostiary key remove"), (["right", "ls", "--json"], "ostiary right list"),
        (["right", "del"], "ostiary right remove"), (["item", "rm"], "ostiary item delete"),
        (["item", "remove"], "ostiary item delete"), (["passkey", "delete"], "ostiary passkey remove"),
        (["key", "add"], "ostiary key create"), (["item", "ls"], "ostiary item list"), (["ls"], nil),
        (["help", "rm"], nil), (["right", "show", "rm"], nil),
        (["--jsn", "right"], nil), ([], nil), (["item", "fnid"], "ostiary item find"),
    ])
    func `a subcommand that nearly has the name is suggested`(arguments: [String], command: String?) {
        #expect(SubcommandSuggestion.text(for: arguments) == command.map { "Did you mean `\($0)`?" })
    }

    @Test(arguments: [
        (["bogus", "--json"], "ostiary bogus"), (["--json", "bogus"], "ostiary bogus"), (["bogus"], "ostiary bogus"),
        (["right", "bogus", "--json", "x"], "ostiary right bogus"), (["right", "show", "bogus", "--json"], nil),
        (["--json"], nil), (["--bogus", "--json"], nil), (["right", "--json"], nil), (["help", "bogus"], nil),
    ])
    func `a word that is no command is found before its options`(arguments: [String], command: String?) {
        #expect(SubcommandSuggestion.unknownWord(in: arguments)?.command == command)
    }

    @Test func `with --id the first operand of key sign is a file`() throws {
        let id = Data(0..<16)
        let sign = try #require(
            try Ostiary.parseAsRoot(["key", "sign", "--id", id.hexadecimal, "f", "g"]) as? KeySign)
        #expect(sign.key.keyID == id && sign.allFiles.purpose == "sign 2 files: f, g")
        let named = try #require(try Ostiary.parseAsRoot(["key", "sign", "k", "f"]) as? KeySign)
        #expect(named.key.keyID == nil && named.key.name == "k" && named.allFiles.purpose == "sign f")
    }

    @Test(arguments: [
        ("2fa", true), ("a.b_c-d@e+f/g", true), ("A9", true), ("", false), ("-n", false), ("$(id)", false),
        ("`id`", false),
        ("$HOME", false), ("a b", false), ("~", false), ("a'b", false), ("a\"b", false), ("a\\b", false),
        ("{a,b}", false),
        ("a*", false), ("a?", false), ("[a]", false), ("a;b", false), ("a|b", false), ("a&b", false), ("<a", false),
        ("a\nb", false), ("a\tb", false), ("!a", false), ("#a", false), ("a=b", false), ("a:b", false), ("a(b)", false),
        ("ä", false), ("a\u{202e}b", false), ("a^b", false), ("a%b", false),
    ])
    func `a shell is offered only names that it takes as they are`(name: String, isOffered: Bool) {
        #expect(RightNameCompletion.isWord(name) == isOffered)
    }

    @Test func `a question for several files names a few of them`() throws {
        func purpose(_ files: [String]) throws -> String {
            let sign = try #require(try Ostiary.parseAsRoot(["right", "sign", "a"] + files) as? RightSign)
            return sign.files.purpose
        }
        #expect(try purpose(["d/f0"]) == "sign f0")
        #expect(try purpose(["d/f0", "e/f1"]) == "sign 2 files: f0, f1")
        #expect(try purpose((0..<7).map { "f\($0)" }) == "sign 7 files: f0, f1, f2, f3, f4 and 2 more")
    }
}
