import AccessControl
import Enclave
import ExactNames
import Foundation
import OstiaryMessages
import Owners
import PromptProtocol
import StoreTestSupport
import Testing
import Vault

@testable import Broker
@testable import BrokerTestSupport
@testable import ProtectedObjects

/// What a prompt calls an enclave key.
@Suite("Names of enclave keys")
struct EnclaveKeyNameTests {
    private static var bound: AccessControl {
        get throws { try AccessControl(availability: .whenUnlocked, using: .passcode) }
    }

    private let fixture: BrokerFixture
    private let client: TestClient

    init() throws {
        fixture = try BrokerFixture()
        client = try fixture.client()
    }

    private func addItem(of key: WireKey, _ values: ItemValues) throws -> WireItem {
        try client.addItem(
            "keys", values.merging(["kcls": .number(1), "pdmn": .text("dk")]) { given, _ in given }, data: nil,
            keyID: key.keyID)
    }

    /// What the person is shown when the key is authorized.
    private func shownName(of key: WireKey) throws -> String? {
        fixture.prompter.prepare([.text(BrokerFixture.passcode)])
        try client.authorize(rightID: key.keyID, in: client.openContext())
        #expect(fixture.prompter.asked.count == 1)
        return fixture.prompter.asked.first?.object?.string
    }

    private func shortName(of key: WireKey) -> String { "key \("\(VaultID(bytes: key.keyID)!)".prefix(8))" }

    private func boundKey() throws -> WireKey {
        try fixture.setPasscode()
        return try client.createKey(.p256, Self.bound)
    }

    @Test func `a key is shown under the label of its item, as a program's word`() throws {
        let key = try boundKey()
        #expect(try shownName(of: key) == shortName(of: key), "no item stands for it")
        _ = try addItem(of: key, ["labl": .text("Release signing")])
        #expect(try shownName(of: key) == "\(shortName(of: key)), which a program named “Release signing”")
        try client.updateItems(TestClient.query("keys"), ["labl": .data(Data("Nightly".utf8))])
        #expect(try shownName(of: key) == "\(shortName(of: key)), which a program named “Nightly”")
        try fixture.changePasscode(to: "another battery 8")
        fixture.prompter.prepare([.text("another battery 8")])
        try client.authorize(rightID: key.keyID, in: client.openContext())
        #expect(fixture.prompter.asked.first?.object?.string.hasSuffix("“Nightly”") == true)
    }

    @Test(
        arguments: [
            ["labl": .text("")], ["labl": .number(7)], ["labl": .data(Data([0xFF, 0xFE]))],
            ["labl": .text("\u{202E}\u{1B}\n \u{200B}")], ["klbl": .data(Data(count: 20))], ["atag": .text("tag")],
        ] as [ItemValues])
    func `without a label that can be read a key is shown by its id`(_ values: ItemValues) throws {
        let key = try boundKey()
        _ = try addItem(of: key, values)
        #expect(try shownName(of: key) == shortName(of: key))
    }

    @Test(arguments: [
        ("a\u{1B}[2Jb\nTo: \u{202E}nothing\u{200B}", "a[2Jb To: nothing"), ("\u{7}bell", "bell"),
        ("a”, as Ostiary knows “b", #"a\u{201d}, as Ostiary knows \u{201c}b"#),
        (String(repeating: "x", count: 101), String(repeating: "x", count: 99) + "…"),
    ])
    func `what steers a terminal is taken out of a label, and its length is bounded`(
        label: String, shown: String
    ) throws {
        let key = try boundKey()
        _ = try addItem(of: key, ["labl": .text(label)])
        #expect(try shownName(of: key) == "\(shortName(of: key)), which a program named “\(shown)”")
    }

    @Test func `an application label that is text serves where there is no label`() throws {
        let key = try boundKey()
        _ = try addItem(of: key, ["klbl": .data(Data("release".utf8))])
        #expect(try shownName(of: key)?.hasSuffix("named “release”") == true)
    }

    @Test func `a label that is locked is not shown, and the key is used all the same`() throws {
        let key = try boundKey()
        _ = try addItem(of: key, ["labl": .text("Release signing"), "pdmn": .text("ak")])
        #expect(try shownName(of: key)?.contains("Release") == true)
        try client.lock()
        #expect(try shownName(of: key) == shortName(of: key))
    }

    @Test func `a wrong passcode is recorded under the key's id, not under its label`() throws {
        let key = try boundKey()
        _ = try addItem(of: key, ["labl": .text("marker-4f81")])
        fixture.prompter.prepare([.text("wrong"), .text(BrokerFixture.passcode)])
        try client.authorize(rightID: key.keyID, in: client.openContext())
        let attempts = try client.log().filter { $0.event == "attempt" }
        #expect(attempts.map(\.object) == ["\(VaultID(bytes: key.keyID)!)"])
        #expect(try client.log().allSatisfy { !$0.object.contains("marker-4f81") })
    }

    @Test func `only an item of the key's own group names it`() throws {
        let store = fixture.account.items
        let open = AccessControl(availability: .whenUnlocked, using: .unrestricted)
        let key = try fixture.account.rights.prepare(
            .key(.p256, in: "a", open, shown: Data(), applicationPassword: nil))
        _ = try fixture.account.rights.store(key, replacing: false)
        func add(_ label: String, in group: String, keyID: VaultID) throws {
            var attributes = try ItemAttributes(
                TestClient.attributes(["labl": .text(label), "atag": .text(label)]), of: .key)
            let accessControl = try attributes.prepareForAdding(
                as: .key, given: key.accessControl, isForKey: true, groups: AccessGroups([ExactName(group)]), now: 0)
            _ = try store.add(
                ItemDraft(
                    itemClass: .key, attributes: attributes, accessControl: accessControl, keyID: keyID, data: nil,
                    applicationPassword: nil))
        }
        try add("of another group", in: "b", keyID: key.id)
        try add("of another key", in: "a", keyID: VaultID())
        #expect(store.label(ofKey: key) == nil)
        try add("its own", in: "a", keyID: key.id)
        #expect(store.label(ofKey: key) == "its own")
    }
}
