import AccessControl
import Foundation
import OstiaryClient
import OstiaryMessages
import SecretMemory
import Testing

@testable import SecretItems

@Suite struct SecretIDTests {
    @Test func `an id is 16 bytes, and 32 digits in lower case`() throws {
        let bytes = Data((0..<16).map { UInt8($0 * 17) })
        let id = try #require(SecretID(bytes))
        #expect(id.description == "00112233445566778899aabbccddeeff" && id.bytes == bytes)
        #expect(SecretID(id.description) == id)
        #expect(SecretID(Data(count: 16))?.description == String(repeating: "0", count: 32))
    }

    @Test func `anything else is none`() {
        for count in [0, 15, 17] { #expect(SecretID(Data(count: count)) == nil) }
        for text in [
            "", "00112233445566778899aabbccddeef", "00112233445566778899aabbccddeeff0",
            "00112233445566778899AABBCCDDEEFF", "0x112233445566778899aabbccddeeff", "00112233445566778899aabbccddeefé",
        ] { #expect(SecretID(text) == nil) }
    }

    @Test func `no two random ids are the same`() { #expect(SecretID.random() != SecretID.random()) }
}

@Suite struct ListedSecretTests {
    @Test func `an item comes back with its label, type, times and attributes`() throws {
        let item = StoredItem(
            id: Data(count: 16), itemClass: "free",
            attributes: [
                "kind": .number(0), "coll": .text("login"), "labl": .data(Data("Mail".utf8)),
                "mime": .text("text/plain"),
                "cdat": .date(Date(timeIntervalSince1970: 7)), "mdat": .date(Date(timeIntervalSince1970: 8.5)),
                ".user": .text("me"), ".xdg:schema": .text("org.example"), "only": .text("/usr/bin/a"),
            ])
        let contents = try #require(ListedSecret(item)?.contents)
        #expect(
            contents
                == SecretContents(
                    collection: "login", label: "Mail", contentType: "text/plain",
                    attributes: ["user": "me", "xdg:schema": "org.example"], created: 7, modified: 8))
    }

    @Test func `an item whose attributes are not shown has no contents`() throws {
        let item = StoredItem(id: Data(count: 16), itemClass: "free")
        #expect(try #require(ListedSecret(item)).contents == nil)
        #expect(ListedSecret(StoredItem(id: Data(), itemClass: "free")) == nil)
        let foreign = StoredItem(id: Data(count: 16), itemClass: "free", attributes: ["kind": .number(7)])
        #expect(try #require(ListedSecret(foreign)).contents == nil)
    }

    @Test func `a query asks for the group, the kind, and what is given`() throws {
        let id = try #require(SecretID(Data(count: 16)))
        let selection = SecretQuery(collection: "login", attributes: ["a": "1"], id: id).selection
        #expect(selection.itemClass == "free" && selection.id == Data(count: 16))
        #expect(
            selection.attributes == [
                "agrp": .text("ostiary.doors"), "kind": .number(0), "coll": .text("login"), ".a": .text("1"),
            ])
        let rows = SecretQuery(.collection).selection
        #expect(rows.attributes == ["agrp": .text("ostiary.doors"), "kind": .number(1)] && rows.id == nil)
    }
}

@Suite struct NewSecretTests {
    private func new(rule: String? = nil, readers: String? = nil) -> NewSecret {
        NewSecret(
            collection: "login", label: "Mail", contentType: "text/plain", attributes: ["a": "1"], rule: rule,
            readers: readers)
    }

    @Test func `an item without a rule is read for nothing, and one with a rule by it`() throws {
        let free = try new().accessControl()
        #expect(free[.read] == .unrestricted && free.availability == .whenUnlocked)
        let ruled = try new(rule: "biometry or passcode").accessControl()
        #expect(try ruled[.read] == Requirement(Rule(parsing: "biometry or passcode")))
        #expect(ruled[.change] == .unrestricted && ruled[.delete] == .unrestricted)
        let placed = try new(rule: "passcode" + PlacedRule.suffix).accessControl()
        #expect(placed.isAtTrustedPlace)
    }

    @Test func `a rule that cannot be read makes no item`() {
        for rule in ["", "pass code", "passcode or"] {
            let refused = #expect(throws: StoreRefusal.self) { try new(rule: rule).accessControl() }
            guard case .invalid = refused else {
                Issue.record("\(rule) is refused as \(String(describing: refused))")
                continue
            }
        }
    }

    @Test func `the attributes are those that the daemon knows`() {
        #expect(
            new(readers: "/usr/bin/a").values == [
                "agrp": .text("ostiary.doors"), "kind": .number(0), "labl": .text("Mail"), "pdmn": .text("aku"),
                "coll": .text("login"), "mime": .text("text/plain"), "only": .text("/usr/bin/a"), ".a": .text("1"),
            ])
        let collection = NewSecret(.collection, collection: "", label: "Work")
        #expect(
            collection.values == [
                "agrp": .text("ostiary.doors"), "kind": .number(1), "labl": .text("Work"), "pdmn": .text("aku"),
            ])
        #expect(SecretChange(label: "New", attributes: [:]).values == ["labl": .text("New")])
    }
}

@Suite struct StoreRefusalTests {
    @Test func `each failure of the daemon is a refusal`() {
        let cases: [(WireFailureCode, StoreRefusal)] = [
            (.locked, .locked), (.notInteractive, .needsQuestion), (.questionNeeded, .needsQuestion),
            (.notFound, .notFound), (.appCancel, .cancelled), (.systemCancel, .cancelled),
            (.userCancel, .declined("words")), (.authenticationFailed, .declined("words")),
            (.lockedOut, .declined("words")), (.tooMany, .tooMuch("words")), (.tooLarge, .tooMuch("words")),
            (.invalidParameter, .invalid("words")), (.passcodeNotSet, .nothingToProve),
            (.clientChanged, .noClient("words")), (.clientRefused, .noClient("words")),
            (.operationNotPermitted, .notPermitted("words")), (.missingEntitlement, .notPermitted("words")),
            (.diskFull, .failed("words")), (.internal, .failed("words")),
        ]
        for (code, refusal) in cases {
            #expect(StoreRefusal(any: OstiaryError(.init(code), "words")) == refusal, "\(code)")
        }
        #expect(StoreRefusal(any: OstiaryError(.daemonUnavailable, "words")) == .failed("words"))
        #expect(StoreRefusal(any: OstiaryError(.init(rawValue: 4711), "words")) == .failed("words"))
    }
}

@Suite struct SecretWordsTests {
    @Test func `a label that reads as a name stands in the question, and no other one`() {
        #expect(SecretWords.reading(label: "Bank") == "read “Bank” in the keyring")
        for label in [
            nil, "", String(repeating: "a", count: 61), "two\nlines", "an “end", "turned \u{202E}", " ",
        ] { #expect(SecretWords.reading(label: label) == "read a secret of the keyring") }
        #expect(SecretWords.unlocking(label: "Login", count: 1) == "unlock “Login” in the keyring")
        #expect(SecretWords.unlocking(label: "Login", count: 2) == "unlock the keyring")
    }
}
