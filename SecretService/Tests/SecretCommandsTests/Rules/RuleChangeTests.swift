import Foundation
import Glibc
import SecretItems
import Testing

@testable import SecretCommands
@testable import SecretService

@Suite("Changing rules") struct RuleChangeTests {
    private let keyring = PlayedKeyring()

    private func change(
        _ attributes: [String: String], in collection: String? = nil, rule: String? = "passcode",
        _ readers: SecretProtection.Readers = .unchanged
    ) throws -> (count: Int, told: String) {
        let protection = try SecretProtection(rule: rule, readers: readers)
        let change = RuleChange(
            keyring: keyring, attributes: attributes, collection: collection, protection: protection, reason: nil)
        var told = ""
        let count = try change.apply { told += $0 }
        return (count, told)
    }

    private func rules() -> [String?] { keyring.items.map(\.item.rule) }

    @Test func `the items that have all attributes change, in one step, and are told before`() throws {
        keyring.put("Bank", ["service": "bank", "user": "me"])
        keyring.put("Bank", ["service": "bank", "user": "you"], rule: "biometry")
        keyring.put("Mail", ["service": "mail", "user": "me"])
        let (count, told) = try change(["service": "bank"])
        #expect(count == 2 && told == "2 items match: “Bank”, “Bank”.")
        #expect(rules() == ["passcode", "passcode", nil])
        #expect(keyring.updates.count == 1 && keyring.questions == ["change the rule of 2 items in the keyring"])
        #expect(try change(["service": "bank", "user": "me"], rule: nil).told == "1 item matches: “Bank”.")
        #expect(rules() == [nil, "passcode", nil])
    }

    @Test func `where nothing matches nothing is changed, and nobody is asked`() throws {
        keyring.put("Bank", ["service": "bank"], rule: "biometry")
        for attributes in [["service": "Bank"], ["service": "bank", "user": ""], ["": ""]] {
            let failure = #expect(throws: SecretsFailure.self) { try change(attributes) }
            #expect(failure?.code == 60 && failure?.status == 1)
        }
        #expect(keyring.updates.isEmpty && keyring.questions.isEmpty && rules() == ["biometry"])
    }

    @Test func `programs stay unless they are named, and go with the rule`() throws {
        keyring.put("Bank", ["a": "1"], rule: "biometry", readers: ["/usr/bin/a"])
        _ = try change(["a": "1"])
        #expect(keyring.items[0].item.readers == ["/usr/bin/a"])
        _ = try change(["a": "1"], .only(["/usr/bin/b", "org.example.c"]))
        #expect(keyring.items[0].item.readers == ["/usr/bin/b", "org.example.c"])
        _ = try change(["a": "1"], .any)
        #expect(keyring.items[0].item.readers == [] && rules() == ["passcode"])
        _ = try change(["a": "1"], .only(["/usr/bin/b"]))
        _ = try change(["a": "1"], rule: nil)
        #expect(keyring.items[0].item.readers == [] && rules() == [nil])
    }

    @Test func `secrets of applications in sandboxes change only by their name`() throws {
        keyring.put("App", ["app_id": "org.a"], in: "portal")
        keyring.put("Bank", ["app_id": "org.a"])
        keyring.put("Work", ["app_id": "org.a"], in: "other")
        let (count, told) = try change(["app_id": "org.a"])
        #expect(count == 2 && told == "2 items match: “Bank”, “Work”." && rules() == [nil, "passcode", "passcode"])
        #expect(try change(["app_id": "org.a"], in: "portal").count == 1)
        #expect(rules() == ["passcode", "passcode", "passcode"])
        keyring.change(keyring.items[1].item.id) { $0.item.contents?.attributes = [:] }
        keyring.change(keyring.items[2].item.id) { $0.item.contents?.attributes = [:] }
        let failure = #expect(throws: SecretsFailure.self) { try change(["app_id": "org.a"]) }
        #expect(failure?.code == 60)
    }

    @Test func `a collection is named by its label, its id, or as login`() throws {
        let id = keyring.putCollection("Work")
        keyring.put("a", in: id.description)
        keyring.put("b")
        #expect(try change([:], in: "Work").count == 1 && rules() == ["passcode", nil])
        #expect(try change([:], in: id.description, rule: nil).count == 1)
        #expect(try change([:], in: "login").count == 1 && change([:], in: "Login").count == 1)
        let unknown = #expect(throws: SecretsFailure.self) { try change([:], in: "None") }
        #expect(unknown?.code == 60)
        keyring.putCollection("Work")
        let ambiguous = #expect(throws: SecretsFailure.self) { try change([:], in: "Work") }
        #expect(ambiguous?.code == -100 && ambiguous?.status == 2)
    }

    @Test func `a locked store tells how many match, and its labels are not guessed`() throws {
        keyring.put("Bank", ["a": "1"])
        keyring.isOpen = false
        #expect(try change(["a": "1"]).told == "1 item matches.")
        keyring.putCollection("Work")
        keyring.isOpen = false
        let failure = #expect(throws: SecretsFailure.self) { try change([:], in: "Work") }
        #expect(failure?.code == 48 && failure?.status == 3)
    }

    @Test(arguments: ["passcod", "", "passcode and", "none", "passcode or biometry and security-key"])
    func `a rule that cannot be read is wrong usage`(rule: String) {
        let failure = #expect(throws: SecretsFailure.self) { try SecretProtection(rule: rule, readers: .any) }
        #expect(failure?.code == -100 && failure?.status == 2)
    }

    @Test(arguments: [nil, "unrestricted"]) func `programs need a rule that asks for something`(rule: String?) {
        let failure = #expect(throws: SecretsFailure.self) {
            try SecretProtection(rule: rule, readers: .only(["/usr/bin/a"]))
        }
        #expect(failure?.code == -100)
    }
}

@Suite("Rules for new items") struct DefaultRuleChangeTests {
    private let keyring = PlayedKeyring()

    private func set(
        _ rule: String?, _ readers: SecretProtection.Readers = .unchanged, in collection: String? = nil
    ) throws -> [String] {
        try DefaultRuleChange(
            keyring: keyring, collection: collection, protection: SecretProtection(rule: rule, readers: readers),
            reason: nil
        ).apply()
    }

    private func attributes() -> [[String: String]] { keyring.collections.map { $0.item.contents?.attributes ?? [:] } }

    /// The service reads them when a program makes an item.
    @Test func `they stand where the service looks for them`() {
        #expect(CollectionDefaults.rule == RowAttribute.rule && CollectionDefaults.readers == RowAttribute.readers)
        #expect(CollectionDefaults.login == CollectionName.login.text)
        #expect(CollectionDefaults.portal == ApplicationSecrets.collection)
    }

    @Test func `they are set for all collections, login's row is made, and other attributes stay`() throws {
        keyring.putCollection("Work", "", ["alias:work": "1"])
        keyring.isOpen = false
        #expect(try set("passcode", .only(["/usr/bin/a", "/usr/bin/b"])) == ["Login", "Work"])
        #expect(keyring.questions == ["set the rule for new items of the keyring"])
        let defaults = ["rule": "passcode", "only": "/usr/bin/a\n/usr/bin/b"]
        #expect(Set(attributes()) == [defaults.merging(["alias:work": "1"]) { $1 }, defaults])
        #expect(keyring.collections.map(\.item.contents?.collection) == ["", "login"])
        #expect(try set("biometry or passcode") == ["Login", "Work"])
        #expect(keyring.questions.count == 2, "the rule of before is asked for, once for both")
        #expect(attributes().allSatisfy { $0["rule"] == "biometry or passcode" && $0["only"] == defaults["only"] })
        #expect(try set(nil, in: "login") == ["Login"])
        #expect(
            Set(attributes()) == [
                ["rule": "biometry or passcode", "only": "/usr/bin/a\n/usr/bin/b", "alias:work": "1"], [:],
            ])
    }

    @Test func `none where nothing was set makes no row`() throws {
        #expect(try set(nil) == ["Login"])
        #expect(keyring.collections.isEmpty)
    }

    @Test func `what no item could have is set for no collection`() throws {
        let failure = #expect(throws: SecretsFailure.self) { try set("passcode", .only(["/usr/bin/python3"])) }
        #expect(failure?.code == -100 && keyring.collections.isEmpty)
        keyring.putCollection("Work")
        #expect(throws: SecretsFailure.self) { try set("passcode", .only(["/usr/bin/python3"])) }
        #expect(attributes() == [[:]])
    }

    @Test func `an unknown collection and the portal's secrets have none`() throws {
        #expect(throws: SecretsFailure.self) { try set("passcode", in: "None") }
        let failure = #expect(throws: SecretsFailure.self) { try set("passcode", in: "portal") }
        #expect(failure?.code == -100 && keyring.collections.isEmpty)
    }
}

@Suite("Words of a command line") struct SearchTermsTests {
    @Test func `attributes are split at their first sign of equality`() throws {
        #expect(
            try SearchTerms.attributes(["a=1", "b==", "c=", "xdg:schema=org.example", "é=ü =x"]) == [
                "a": "1", "b": "=", "c": "", "xdg:schema": "org.example", "é": "ü =x",
            ])
        #expect(try SearchTerms.attributes([]) == [:])
    }

    @Test(arguments: [["a"], [""], ["=1"], ["a=1", "b"], ["a=1", "a=1"], ["e\u{301}=1", "\u{E9}=2"]])
    func `others are wrong usage`(words: [String]) {
        let failure = #expect(throws: SecretsFailure.self) { try SearchTerms.attributes(words) }
        #expect(failure?.code == -100 && failure?.status == 2)
    }

    @Test func `programs are followed to their files`() throws {
        let folder = try TestFolder()
        try folder.write("\u{7f}ELF", to: "bin/program")
        #expect(symlink("program", folder.file("bin/link")) == 0)
        let real = try #require(realpath(folder.file("bin/program"), nil))
        defer { free(real) }
        let path = String(cString: real)
        #expect(try ReaderNames.resolved([folder.file("bin/link"), folder.file("bin/./program")]) == [path])
        #expect(try ReaderNames.resolved(["org.example.app", "org.example.app"]) == ["org.example.app"])
        #expect(try ReaderNames.resolved([]) == [])
    }

    @Test(arguments: ["secret-tool", "", "./nothing", "/nonexistent/program", "org.example/../..", "a b.c", "ö.x"])
    func `a word that names no program is wrong usage`(word: String) {
        let failure = #expect(throws: SecretsFailure.self) { try ReaderNames.resolved([word]) }
        #expect(failure?.code == -100 && failure?.status == 2)
    }

    @Test func `scripts, line ends and too many are refused`() throws {
        let folder = try TestFolder()
        try folder.write("#!/bin/sh\n", to: "script")
        try folder.write("", to: "two\nlines")
        for name in ["script", "two\nlines"] {
            let failure = #expect(throws: SecretsFailure.self) { try ReaderNames.resolved([folder.file(name)]) }
            #expect(failure?.code == -100)
        }
        let ids = (0..<17).map { "org.example.a\($0)" }
        #expect(try ReaderNames.resolved(Array(ids.prefix(16))).count == 16)
        #expect(throws: SecretsFailure.self) { try ReaderNames.resolved(ids) }
    }
}
