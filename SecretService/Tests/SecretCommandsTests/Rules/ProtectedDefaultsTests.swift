import SecretItems
import Testing

@testable import SecretCommands

/// What says how new items are protected is protected in the same way.
@Suite("Rules of rules for new items") struct ProtectedDefaultsTests {
    private let keyring = PlayedKeyring()

    private func set(_ rule: String?, in collection: String? = nil) throws {
        _ = try DefaultRuleChange(
            keyring: keyring, collection: collection, protection: SecretProtection(rule: rule, readers: .unchanged),
            reason: nil
        ).apply()
    }

    private func rules() -> [String?] { keyring.collections.map(\.item.rule) }

    @Test func `the rows have the rule themselves, and the programs`() throws {
        keyring.putCollection("Work")
        _ = try DefaultRuleChange(
            keyring: keyring, collection: nil,
            protection: SecretProtection(rule: "passcode", readers: .only(["/usr/bin/a"])), reason: nil
        ).apply()
        #expect(rules() == ["passcode", "passcode"])
        #expect(keyring.collections.allSatisfy { $0.item.readers == ["/usr/bin/a"] })
        #expect(keyring.questions == [], "nothing was protected before")
    }

    @Test func `taking the rule away asks for it once, and declined nothing changes`() throws {
        keyring.putCollection("Work")
        try set("passcode")
        keyring.declines = true
        #expect(throws: SecretsFailure.self) { try set(nil) }
        #expect(rules() == ["passcode", "passcode"] && keyring.questions.count == 1)
        #expect(keyring.collections.allSatisfy { $0.item.contents?.attributes["rule"] == "passcode" })
        keyring.declines = false
        try set(nil)
        #expect(rules() == [nil, nil] && keyring.questions.count == 2)
    }

    @Test func `where the person declines, login's row is not made either`() throws {
        keyring.putCollection("Work")
        try set("passcode", in: "Work")
        keyring.declines = true
        #expect(throws: SecretsFailure.self) { try set("biometry") }
        #expect(rules() == ["passcode"])
    }

    @Test func `a row that a program has made at the same moment gets the rule, too`() throws {
        keyring.beforeAddition = { [keyring] in keyring.putCollection("", "login") }
        try set("passcode")
        #expect(rules() == ["passcode", "passcode"])
        let collections = try OwnedCollections(of: keyring)
        #expect(collections.all[0].row?.id == keyring.collections[0].item.id, "the older one counts")
        #expect(collections.all[0].defaults == ["rule": "passcode"])
    }

    /// A row of before, or one that another program wrote.
    @Test func `a row that only says its rule gets it`() throws {
        keyring.putCollection("Work", "", ["rule": "passcode"])
        #expect(rules() == [nil])
        try set("passcode", in: "Work")
        #expect(rules() == ["passcode"])
    }
}
