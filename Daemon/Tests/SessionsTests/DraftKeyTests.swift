import AccessControl
import Enclave
import ExactNames
import Foundation
import OstiaryMessages
import Owners
import StoreTestSupport
import Testing
import Vault

@testable import Broker
@testable import BrokerTestSupport
@testable import ProtectedObjects
@testable import Refusals
@testable import Sessions

/// Enclave keys that are made for an item.
@Suite("Keys that await their item")
struct DraftKeyTests {
    private static let open = AccessControl(availability: .whenUnlocked, using: .unrestricted)

    private let fixture: BrokerFixture
    private let client: TestClient

    init() throws {
        fixture = try BrokerFixture()
        client = try fixture.client()
    }

    private func draft(_ accessControl: AccessControl = Self.open, by client: TestClient? = nil) throws -> WireKey {
        try (client ?? self.client).createKey(.p256, accessControl, awaitsItem: true)
    }

    @discardableResult
    private func addItem(of key: WireKey, _ label: String = "release", by client: TestClient? = nil) throws -> WireItem
    {
        try (client ?? self.client).addItem(
            "keys", ["labl": .text(label), "pdmn": .text("dk")], data: nil, keyID: key.keyID)
    }

    private func storedKeys() throws -> [Data] {
        try fixture.broker.vault.read { try $0.objects(owner: fixture.account.id, kind: .enclaveKey) }
            .compactMap(\.record?.id.bytes)
    }

    private func events() throws -> [String] {
        try client.log().map { "\($0.event) \($0.result)" }.filter { $0.hasPrefix("key-") || $0.hasPrefix("item-") }
    }

    @Test func `a key and its item are stored together, and then the key is like any other`() throws {
        let key = try draft()
        #expect(try storedKeys().isEmpty && events().isEmpty)
        #expect(try addItem(of: key).keyID == key.keyID)
        #expect(try storedKeys() == [key.keyID])
        #expect(try events() == ["key-create begun", "item-add begun", "key-create done", "item-add done"])
        #expect(try client.findKey(key.keyID) == key)
        let right = WireRight.with { ($0.rightID, $0.publicKey) = (key.keyID, key.publicKey) }
        let context = try client.openContext()
        try client.authorize(rightID: key.keyID, in: context)
        #expect(try client.sign(right, in: context))
        try fixture.restart()
        #expect(try fixture.client().findKey(key.keyID) == key)
    }

    @Test func `before its item is there a key can be neither found nor used, not by its maker either`() throws {
        let key = try draft()
        for other in [client, try fixture.client()] {
            #expect(try refusal { _ = try other.findKey(key.keyID) } == .notFound)
            #expect(try refusal { try other.authorize(rightID: key.keyID, in: other.openContext()) } == .notFound)
        }
        let other = try fixture.client()
        #expect(try refusal { try addItem(of: key, by: other) } == .notFound)
        #expect(try refusal { try other.removeKey(key.keyID) } == .notFound)
        try addItem(of: key)
    }

    @Test func `with its connection a key that awaits its item is gone, and one that does not is not`() throws {
        var leaving: TestClient? = try fixture.client()
        let awaiting = try draft(by: leaving)
        let stored = try #require(leaving).createKey(.p256, Self.open)
        leaving = nil
        #expect(try storedKeys() == [stored.keyID])
        #expect(try refusal { try addItem(of: awaiting) } == .notFound)
        try addItem(of: stored)
    }

    @Test func `an item that is refused takes its key with it into nothing, and may be tried again`() throws {
        try addItem(of: draft(), "taken")
        let before = try storedKeys()
        let key = try draft()
        #expect(try refusal { try addItem(of: key, "taken") } == .duplicate)
        #expect(try storedKeys() == before)
        try client.addItem(
            "keys", ["atag": .text("another"), "pdmn": .text("dk")], data: nil, keyID: key.keyID)
        #expect(try Set(storedKeys()) == Set(before + [key.keyID]))
        #expect(try refusal { try addItem(of: key, "taken") } == .duplicate)
    }

    @Test func `a key that is not wanted any more can be removed`() throws {
        let key = try draft()
        try client.removeKey(key.keyID)
        #expect(try refusal { try client.removeKey(key.keyID) } == .notFound)
        #expect(try refusal { try addItem(of: key) } == .notFound)
        #expect(try storedKeys().isEmpty)
    }

    @Test func `a connection has so many keys that await their items`() throws {
        let keys = try (1...SessionLimits.draftKeyCount).map { _ in try draft() }
        #expect(try refusal { _ = try draft() } == .tooMany)
        _ = try draft(by: fixture.client())
        try addItem(of: keys[0])
        _ = try draft()
        #expect(try refusal { _ = try draft() } == .tooMany)
        try client.removeKey(keys[1].keyID)
        _ = try draft()
    }

    @Test func `the limits on keys hold when the item comes`() throws {
        var store = fixture.account.rights
        store.limits = ObjectLimits(keyCount: 2, keyCountOfGroup: 1)
        func insert(hasItem: Bool) throws {
            let record = try store.prepare(.key(.p256, in: "a", Self.open, shown: Data(), applicationPassword: nil))
            try fixture.broker.vault.write("test") { try store.insert(record, hasItem: hasItem, in: $0) }
        }
        func cause(_ body: () throws -> Void) -> String? {
            do { try body() } catch let refused as Refusal { return refused.cause } catch { return "\(error)" }
            return nil
        }
        try insert(hasItem: false)
        #expect(cause { try insert(hasItem: false) } == "key.too-many")
        // A key with an item is no key without one, but one of all.
        try insert(hasItem: true)
        #expect(cause { try insert(hasItem: true) } == "store.too-many")
    }

    @Test(arguments: ["set", "changed", "removed", "removed and set"])
    func `a key that was made before the passcode became another is refused and not stored`(_ what: String) throws {
        if what != "set" { try fixture.setPasscode() }
        let key = try draft()
        switch what {
        case "set": try fixture.setPasscode()
        case "changed": try fixture.changePasscode(to: "another battery 8")
        case "removed": try fixture.removePasscode()
        default:
            try fixture.removePasscode()
            try fixture.setPasscode()
        }
        #expect(try refusal { try addItem(of: key) } == .systemCancel)
        #expect(try storedKeys().isEmpty)
        #expect(try refusal { _ = try client.page(TestClient.query("keys")) } == .notFound)
        try addItem(of: draft())
    }
}
