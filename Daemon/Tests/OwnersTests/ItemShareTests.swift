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
import StoreTestSupport
import Testing
import Vault

@testable import BrokerTestSupport

/// Where several owners share a store, each has a share of the items.
@Suite("The items of one owner among several")
struct ItemShareTests {
    private static let ada = SystemUser(id: 10_001, name: "ada")
    private static let grace = SystemUser(id: 10_002, name: "grace")
    private let fixture: BrokerFixture

    init() throws { fixture = try BrokerFixture(serves: .anybody(closing: .never)) }

    private func items(of user: SystemUser, share: Int?) throws -> ItemStore {
        _ = try fixture.client(as: user)
        let account = try #require(fixture.account(of: user))
        return ItemStore(
            vault: account.vault, ring: account.ring, owner: account.id, stretching: .quick, eraser: account.eraser,
            digests: account.items.digests, enrolment: account.items.enrolment, share: share)
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
}
