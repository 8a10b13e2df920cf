import AccessControl
import ExactNames
import Foundation
import OstiaryMessages
import OwnerKeys
import Owners
import Passcodes
import ProtectedObjects
import Refusals
import SecretMemory
import Settings
import StoreTestSupport
import Testing
import Vault

@testable import BrokerTestSupport

/// Where several owners share a store, each has a share of the items, and of the bytes that items, rights and keys take.
@Suite("The items of one owner among several")
struct ItemShareTests {
    private static let ada = SystemUser(id: 10_001, name: "ada")
    private static let grace = SystemUser(id: 10_002, name: "grace")
    private static let mebibyte = 1 << 20
    private let fixture: BrokerFixture

    init() throws {
        var prompts = PromptConfiguration()
        prompts.storeMebibytes = 1
        fixture = try BrokerFixture(serves: .anybody(closing: .never), prompts: prompts)
    }

    private func items(of user: SystemUser, share: StoreShare) throws -> ItemStore {
        _ = try fixture.client(as: user)
        let account = try #require(fixture.account(of: user))
        return ItemStore(
            vault: account.vault, ring: account.ring, owner: account.id, stretching: .quick, eraser: account.eraser,
            digests: account.items.digests, enrolment: account.items.enrolment, share: share)
    }

    private func items(of user: SystemUser, share: Int?) throws -> ItemStore {
        try items(of: user, share: StoreShare(itemCount: share, mebibytes: nil))
    }

    private func add(_ name: String, to items: ItemStore) throws {
        var attributes = try ItemAttributes(TestClient.attributes(["acct": .text(name)]), of: .genericPassword)
        let accessControl = try attributes.prepareForAdding(
            as: .genericPassword, given: Data(), isForKey: false, groups: AccessGroups(["group"]), now: 0)
        _ = try items.add(
            ItemDraft(
                itemClass: .genericPassword, attributes: attributes, accessControl: accessControl, keyID: nil,
                data: SecretBytes(text: "data"), applicationPassword: nil))
    }

    @Test func `are as many as the share allows, and another owner's are not counted`() throws {
        let (adas, graces) = (try items(of: Self.ada, share: 2), try items(of: Self.grace, share: 2))
        for name in ["1", "2"] { try add(name, to: adas) }
        do {
            try add("3", to: adas)
            Issue.record("a third one was taken")
        } catch let refusal as Refusal {
            #expect(refusal.code == .tooMany)
            #expect(refusal.cause == "item.too-many")
            #expect(
                refusal.explanation
                    == "You have 2 items in the store of this machine, and no more are allowed; delete some.")
        }
        for name in ["1", "2"] { try add(name, to: graces) }
        try add("3", to: items(of: Self.ada, share: nil))
    }

    @Test func `are a quarter of those of an only owner`() {
        #expect(ItemLimits.itemCountOfSeveral == 50_000)
        #expect(4 * ItemLimits.itemCountOfSeveral == ItemLimits.itemCount)
    }

    // MARK: bytes

    private func client(_ user: SystemUser) throws -> TestClient { try fixture.client(as: user) }

    private func size(of user: SystemUser) throws -> Int {
        let account = try #require(fixture.account(of: user))
        return try account.vault.write("size") { try $0.byteCount(owner: account.id) }
    }

    private func addItem(_ name: String, _ byteCount: Int, of user: SystemUser) throws {
        try client(user).addItem(["acct": .text(name), "pdmn": .text("dk")], data: Data(count: byteCount))
    }

    private func expectFull(_ store: () throws -> Void, _ location: SourceLocation = #_sourceLocation) {
        do {
            try store()
            Issue.record("it was stored", sourceLocation: location)
        } catch let refused as Refused {
            #expect(refused.code == .tooMany && refused.cause == "store.share", sourceLocation: location)
            #expect(
                refused.explanation
                    == "Your items, rights and keys may take 1 MiB in the store of this machine, and this would be more. "
                    + "Delete some, or ask the administrator to raise users.store-mebibytes in ostiaryd.conf.",
                sourceLocation: location)
        } catch { Issue.record(error, sourceLocation: location) }
    }

    /// Leaves room for exactly so much data in one more item, whose name has one letter.
    private func fill(_ user: SystemUser, but left: Int) throws {
        let empty = try size(of: user)
        try addItem("a", 0, of: user)
        let ofItem = try size(of: user) - empty
        try addItem("b", Self.mebibyte - empty - 3 * ofItem - left, of: user)
        #expect(try size(of: user) == Self.mebibyte - ofItem - left)
    }

    @Test func `may take as many bytes as the share has, and not one more`() throws {
        _ = try client(Self.ada)
        try fill(Self.ada, but: 1000)
        expectFull { try addItem("c", 1001, of: Self.ada) }
        try addItem("c", 1000, of: Self.ada)
        #expect(try size(of: Self.ada) == Self.mebibyte)
        expectFull { try addItem("d", 0, of: Self.ada) }
    }

    @Test func `of a full owner keep no other owner from storing`() throws {
        _ = try client(Self.ada)
        try fill(Self.ada, but: 0)
        expectFull { try addItem("c", 1, of: Self.ada) }
        try addItem("c", 1000, of: Self.grace)
        try fixture.restart()
        expectFull { try addItem("c", 1, of: Self.ada) }
        try addItem("d", 1000, of: Self.grace)
    }

    @Test func `that are deleted leave their room to others`() throws {
        _ = try client(Self.ada)
        try fill(Self.ada, but: 0)
        try addItem("c", 0, of: Self.ada)
        expectFull { try addItem("d", 0, of: Self.ada) }
        try client(Self.ada).deleteItems(TestClient.query("genp", ["acct": .text("a")]))
        try addItem("d", 0, of: Self.ada)
        expectFull { try addItem("e", 0, of: Self.ada) }
    }

    @Test func `grow no further by a change, and may shrink`() throws {
        _ = try client(Self.ada)
        try fill(Self.ada, but: 1000)
        let a = TestClient.query("genp", ["acct": .text("a")])
        expectFull { try client(Self.ada).updateItems(a, data: Data(count: 500_000)) }
        try client(Self.ada).updateItems(a, data: Data(count: 1000))
        try client(Self.ada).updateItems(a, data: Data(count: 10))
    }

    @Test func `count together with rights and their secrets`() throws {
        let client = try client(Self.ada)
        let open = AccessControl(availability: .always, using: .unrestricted)
        let secret = String(repeating: "x", count: 60_000)
        try client.create("one", open, secret: secret)
        try addItem("a", 940_000, of: Self.ada)
        expectFull { try client.create("two", open, secret: secret) }
        expectFull { try addItem("b", 60_000, of: Self.ada) }
        try client.create("one", open, secret: secret, replace: true)
        try self.client(Self.grace).create("one", open, secret: secret)
    }

    @Test func `of an only owner have no limit of bytes`() throws {
        var prompts = PromptConfiguration()
        prompts.storeMebibytes = 1
        let alone = try BrokerFixture(prompts: prompts)
        for name in ["a", "b"] {
            try alone.client().addItem(["acct": .text(name), "pdmn": .text("dk")], data: Data(count: 700_000))
        }
    }
}
