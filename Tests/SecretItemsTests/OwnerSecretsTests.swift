import AccessControl
import Foundation
import OstiaryClient
import OstiaryMessages
import Testing

@testable import SecretItems

@Suite struct OwnedSecretTests {
    private static func item(
        _ attributes: ItemAttributeValues, _ rule: String?, limits: GrantLimits? = nil
    ) throws -> StoredItem {
        let reading = try rule.map { try Requirement(Rule(parsing: $0)) } ?? .unrestricted
        return StoredItem(
            id: Data(count: 16), itemClass: "free", attributes: attributes.merging(["kind": .number(0)]) { $1 },
            accessControl: try AccessControl(
                availability: .whenUnlocked, requirements: [.read: reading, .change: .unrestricted], limits: limits))
    }

    @Test func `an item shows its rule as it is written, its programs, and where it came from`() throws {
        let item = try #require(
            OwnedSecret(
                Self.item(
                    [
                        "only": .text("/usr/bin/a\norg.example.b"), "alis": .data(Data("import 1 x".utf8)),
                        ".a": .text("1"),
                    ],
                    "passcode or biometry")))
        #expect(item.readers == ["/usr/bin/a", "org.example.b"] && item.origin == "import 1 x")
        #expect(item.contents?.attributes == ["a": "1"], "neither is an attribute of a program's")
        let rule = try #require(item.rule)
        #expect(try Requirement(Rule(parsing: rule)) == Requirement(Rule(parsing: "biometry or passcode")))
        let placed = try Self.item([:], "passcode", limits: GrantLimits(isAtTrustedPlace: true))
        #expect(OwnedSecret(placed)?.rule == "passcode at trusted place")
    }

    @Test func `a rule that asks for nothing is none, and what is not shown is absent`() throws {
        let free = try #require(OwnedSecret(Self.item([:], nil)))
        #expect(free.rule == nil && free.readers == [] && free.origin == nil)
        let closed = try #require(OwnedSecret(StoredItem(id: Data(count: 16), itemClass: "free")))
        #expect(closed.contents == nil && closed.rule == nil)
        #expect(OwnedSecret(StoredItem(id: Data(), itemClass: "free")) == nil)
    }
}

@Suite struct SecretProtectionTests {
    @Test func `a protection guards reading alone, and names the programs`() throws {
        let protection = try SecretProtection(
            rule: "passcode at trusted place", readers: .only(["/usr/bin/a", "org.example.b"]))
        #expect(try protection.accessControl[.read] == Requirement(Rule(parsing: "passcode")))
        #expect(protection.accessControl[.change] == .unrestricted && protection.accessControl.isAtTrustedPlace)
        #expect(protection.rule == "passcode at trusted place")
        #expect(protection.values == ["only": .text("/usr/bin/a\norg.example.b")])
        #expect(try SecretProtection(rule: "passcode", readers: .unchanged).values == [:])
        #expect(try SecretProtection(rule: "passcode", readers: .any).values == ["only": .text("")])
    }

    /// The daemon refuses programs without a rule.
    @Test(arguments: [nil, "unrestricted"]) func `no rule takes the programs away`(rule: String?) throws {
        let protection = try SecretProtection(rule: rule, readers: .unchanged)
        #expect(protection.rule == nil && protection.values == ["only": .text("")])
        #expect(protection.accessControl[.read] == .unrestricted)
        let failure = #expect(throws: SecretsFailure.self) {
            try SecretProtection(rule: rule, readers: .only(["/usr/bin/a"]))
        }
        #expect(failure?.code == -100 && failure?.status == 2)
    }

    @Test func `defaults of a row keep its other attributes`() throws {
        let present = ["alias:work": "1", "only": "/usr/bin/a"]
        let ruled = try SecretProtection(rule: "passcode", readers: .unchanged)
        #expect(
            CollectionDefaults.attributes(present, with: ruled) == present.merging(["rule": "passcode"]) { $1 })
        let none = try SecretProtection(rule: nil, readers: .unchanged)
        #expect(CollectionDefaults.attributes(present, with: none) == ["alias:work": "1"])
    }
}

@Suite struct SecretsFailureTests {
    @Test func `the daemon's failures keep their numbers and statuses`() {
        let statuses: [(WireFailureCode, Int32)] = [
            (.userCancel, 3), (.notFound, 1), (.locked, 3), (.missingEntitlement, 3), (.diskFull, 1),
        ]
        for (code, status) in statuses {
            let failure = SecretsFailure(any: OstiaryError(.init(code), "words"))
            #expect(failure.code == code.rawValue && failure.status == status && failure.description == "words")
        }
        #expect(SecretsFailure(any: OstiaryError(.daemonUnavailable, "")).code == -1)
        #expect(SecretsFailure(any: CancellationError()).code == -199)
    }

    @Test func `only a refusal of one item lets the others go on`() {
        for code in [WireFailureCode.tooLarge, .invalidParameter, .invalidRule, .malformed, .noSuchAttribute] {
            #expect(SecretsFailure(any: OstiaryError(.init(code), "")).isOfItem)
        }
        for code in [WireFailureCode.tooMany, .diskFull, .locked, .notAuthorized, .userCancel, .missingEntitlement] {
            #expect(!SecretsFailure(any: OstiaryError(.init(code), "")).isOfItem)
        }
        #expect(!SecretsFailure.usage("").isOfItem && !SecretsFailure.keyringFailed("").isOfItem)
    }
}
