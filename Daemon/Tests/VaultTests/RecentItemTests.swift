import Foundation
import GRDB
import Testing

@testable import Vault

@Suite("Keychain items that were read lately")
struct RecentItemTests {
    let fixture: ItemFixture
    let items: [ItemRecord]
    var owner: VaultID { fixture.owner }

    init() throws {
        fixture = try ItemFixture()
        items = try fixture.add(1...3)
    }

    private func update(_ item: ItemRecord, payload: Data) throws -> ItemRecord {
        var changed = item
        changed.generation += 1
        changed.payload = payload
        try fixture.vault.write("update") { try $0.updateItem(changed) }
        return changed
    }

    @Test func `they are given as they were verified, and what became of the row is found by looking for faults`()
        throws
    {
        #expect(try fixture.item(items[0].id) == items[0])
        try fixture.tamper("UPDATE items SET payload = x'00' WHERE row_key = ?", [items[0].id.bytes])
        #expect(try fixture.item(items[0].id) == items[0])
        let faults = try fixture.vault.readItems { try $0.itemFaults(owner: owner) }
        #expect(faults.map(\.1) == [.altered])
        let reopened = try fixture.reopened()
        #expect(throws: VaultError.corrupt(RowReference(table: .items, key: items[0].id.bytes), .altered)) {
            try fixture.item(items[0].id, in: reopened)
        }
    }

    @Test func `a changed item is given as changed, a removed one not at all`() throws {
        for item in items { _ = try fixture.item(item.id) }
        let changed = try update(items[0], payload: Data([42]))
        try fixture.vault.write("remove") { try $0.removeItem(items[1].id, owner: owner) }
        #expect(try fixture.item(items[0].id) == changed)
        #expect(try fixture.item(items[1].id) == nil)
        #expect(try fixture.item(items[2].id) == items[2])
    }

    @Test func `what an abandoned transaction read is not taken for the next change of the same generation`() throws {
        struct Abandoned: Error {}
        var abandoned = items[0]
        abandoned.generation += 1
        abandoned.payload = Data([13])
        #expect(throws: Abandoned.self) {
            try fixture.vault.write("abandoned") { writer in
                try writer.updateItem(abandoned)
                #expect(try writer.item(abandoned.id, owner: owner) == abandoned)
                throw Abandoned()
            }
        }
        #expect(try fixture.item(items[0].id) == items[0])
        let changed = try update(items[0], payload: Data([42]))
        #expect(try fixture.item(items[0].id) == changed)
    }

    private static let code = RowCode(high: 1, low: 2)

    @Test func `of another writing than the one that is kept none is given`() {
        var recent = RecentItems()
        recent.keep(items[0], code: Self.code)
        #expect(recent.record(items[0].id, code: Self.code) == items[0])
        #expect(recent.record(items[0].id, code: RowCode(high: 1, low: 3)) == nil)
        #expect(recent.record(items[0].id, code: RowCode(high: 0, low: 2)) == nil)
        #expect(recent.record(items[1].id, code: Self.code) == nil)
    }

    @Test func `what is asked for again outlives what is not, and what is forgotten is gone from both halves`() {
        var recent = RecentItems()
        let many = (1...600).map { ItemFixture.item($0, owner: owner) }
        for item in many {
            recent.keep(item, code: Self.code)
            #expect(recent.record(many[0].id, code: Self.code) == many[0])
        }
        #expect(recent.record(many[1].id, code: Self.code) == nil)
        for item in [many[0], many[500], many[599]] {
            recent.forget(item.id)
            #expect(recent.record(item.id, code: Self.code) == nil)
        }
        #expect(recent.record(many[598].id, code: Self.code) != nil)
    }

    @Test func `as many as one likes come back right`() throws {
        let many = try fixture.add(100..<1000)
        for _ in 0..<2 { for item in many { #expect(try fixture.item(item.id) == item) } }
        let large = ItemFixture.item(5000, owner: owner, payload: Data(repeating: 1, count: 100_000))
        try fixture.vault.write("add") { try $0.insertItem(large) }
        for _ in 0..<2 { #expect(try fixture.item(large.id) == large) }
    }
}
