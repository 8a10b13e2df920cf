import Foundation
import GRDB
import StoreTestSupport
import Testing
import Vault

@Suite("Keychain items in a database that somebody else writes")
struct ItemTamperTests {
    let fixture: ItemFixture
    let items: [ItemRecord]
    var owner: VaultID { fixture.owner }

    init() throws {
        fixture = try ItemFixture()
        items = try fixture.add(1...6, terms: [5])
    }

    private func fault(of item: ItemRecord, in vault: Vault? = nil) throws -> RowFault? {
        do {
            _ = try fixture.item(item.id, in: vault)
            return nil
        } catch VaultError.corrupt(RowReference(table: .items, key: item.id.bytes), let fault) { return fault }
    }

    /// What opening the store anew and looking for anything is refused with.
    private func refusal() throws -> VaultError? {
        let vault = try fixture.reopened()
        do {
            let found = try fixture.found(ItemQuery(allOf: [5], anyOf: []), in: vault)
            #expect(Set(found) == Set(items.map(\.id)), "a wrong answer was given")
            return nil
        } catch let error as VaultError {
            #expect(throws: error) { try fixture.item(items[0].id, in: vault) }
            #expect(throws: error) { try fixture.add([99], to: vault) }
            #expect(throws: error) { try vault.write("") { try $0.removeItem(items[0].id, owner: owner) } }
            return error
        }
    }

    private func bucket(_ item: ItemRecord) -> Data {
        let bytes = item.id.bytes
        return Data([10, bytes[bytes.startIndex] >> 4, bytes[bytes.startIndex] << 4 | bytes[bytes.startIndex + 1] >> 4])
    }

    private static func refused(_ fault: RowFault, _ key: Data = Data([10])) -> VaultError {
        .corrupt(RowReference(table: .itemLists, key: key), fault)
    }

    @Test func `an untouched store has no faults`() throws {
        #expect(try refusal() == nil)
        #expect(try fixture.reopened().read { try $0.itemFaults(owner: owner) }.isEmpty)
    }

    // MARK: items

    @Test(arguments: [
        "generation", "mac", "class", "suite", "attribute_record", "access_control", "wrap_kind", "wrapped_secret",
        "payload", "key_id",
    ])
    func `cases 55 and 57: one changed column makes the item unreadable and no other`(column: String) throws {
        let changed = try fixture.tamper(
            """
            UPDATE items SET \(column) = CASE typeof(\(column)) WHEN 'integer' THEN \(column) + 1
                WHEN 'blob' THEN CAST(\(column) || x'00' AS BLOB) ELSE zeroblob(16) END WHERE row_key = ?
            """, [items[0].id.bytes])
        #expect(changed == 1)
        for vault in [fixture.vault, try fixture.reopened()] {
            #expect(try fault(of: items[0], in: vault) == .altered)
            for item in items.dropFirst() { #expect(try fixture.item(item.id, in: vault) == item) }
            #expect(try fixture.found(ItemQuery(allOf: [5], anyOf: []), in: vault).count == 6)
        }
    }

    @Test(arguments: ["attribute_record", "wrapped_secret", "payload", "mac", "access_control"])
    func `case 58: a column swapped between two items makes both unreadable`(column: String) throws {
        var different = items[1]
        different.generation = 2
        different.payload = Data([99])
        different.wrap = .classKey(Data([98]))
        different.accessControl = Data([97])
        let update = different
        try fixture.vault.write("change") { try $0.updateItem(update) }
        let pair = [items[0].id.bytes, items[1].id.bytes]
        let values = try pair.map {
            try fixture.rows("SELECT \(column) FROM items WHERE row_key = ?", [$0])[0][0] as Data
        }
        for (key, value) in zip(pair, values.reversed()) {
            try fixture.tamper("UPDATE items SET \(column) = ? WHERE row_key = ?", [value, key])
        }
        #expect(try fault(of: items[0]) == .altered && fault(of: items[1]) == .altered)
    }

    @Test func `a whole row under another item's key is altered`() throws {
        try fixture.tamper("DELETE FROM items WHERE row_key = ?", [items[1].id.bytes])
        try fixture.tamper("UPDATE items SET row_key = ? WHERE row_key = ?", [items[1].id.bytes, items[0].id.bytes])
        #expect(try fault(of: items[1]) == .altered)
        #expect(try fault(of: items[0]) == .removed)
    }

    @Test func `an older row of an item is a replay`() throws {
        let old = try fixture.rows("SELECT * FROM items WHERE row_key = ?", [items[0].id.bytes])
        var changed = items[0]
        changed.generation = 2
        changed.payload = Data([55])
        let update = changed
        try fixture.vault.write("change") { try $0.updateItem(update) }
        try fixture.restore(old, into: "items")
        for vault in [fixture.vault, try fixture.reopened()] {
            #expect(try fault(of: items[0], in: vault) == .replayed)
        }
    }

    @Test func `case 56: a deleted row is removed, never absent, and can be deleted for good`() throws {
        try fixture.tamper("DELETE FROM items WHERE row_key = ?", [items[0].id.bytes])
        let vault = try fixture.reopened()
        #expect(try fault(of: items[0], in: vault) == .removed)
        #expect(try fixture.found(ItemQuery(allOf: [1001], anyOf: []), in: vault) == [items[0].id])
        #expect(throws: VaultError.duplicate) { try fixture.add([1], to: vault) }
        try vault.write("delete") { try $0.removeItem(items[0].id, owner: owner) }
        #expect(try fixture.item(items[0].id, in: fixture.reopened()) == nil)
    }

    @Test func `a deleted item that is put back is planted`() throws {
        let old = try fixture.rows("SELECT * FROM items WHERE row_key = ?", [items[0].id.bytes])
        try fixture.vault.write("delete") { try $0.removeItem(items[0].id, owner: owner) }
        try fixture.restore(old, into: "items")
        for vault in [fixture.vault, try fixture.reopened()] {
            #expect(try fault(of: items[0], in: vault) == .planted)
            #expect(try fixture.found(ItemQuery(allOf: [1001], anyOf: []), in: vault) == [])
            let faults = try vault.read { try $0.itemFaults(owner: owner) }
            #expect(faults.count == 1 && faults[0] == (RowReference(table: .items, key: items[0].id.bytes), .planted))
        }
        try fixture.add([1])
    }

    @Test func `every kind of fault is listed`() throws {
        try fixture.tamper("DELETE FROM items WHERE row_key = ?", [items[0].id.bytes])
        try fixture.tamper("UPDATE items SET payload = x'00' WHERE row_key = ?", [items[1].id.bytes])
        try fixture.tamper("UPDATE items SET row_key = x'0102' WHERE row_key = ?", [items[2].id.bytes])
        let faults = try fixture.vault.read { try $0.itemFaults(owner: owner) }
        #expect(
            Dictionary(faults.map { ($0.0.key, $0.1) }) { $1 } == [
                items[0].id.bytes: .removed, items[1].id.bytes: .altered, items[2].id.bytes: .removed,
                Data([1, 2]): .planted,
            ])
    }

    @Test func `another user's item is not accepted as one's own`() throws {
        let theirs = ItemFixture.item(50, owner: fixture.bob.id)
        try fixture.vault.write("theirs") { try $0.insertItem(theirs) }
        try fixture.tamper("UPDATE items SET owner = ? WHERE row_key = ?", [owner.bytes, theirs.id.bytes])
        #expect(try fault(of: theirs) == .altered)
    }

    // MARK: the list

    @Test func `a bucket that is changed, moved or another user's makes the items unreadable and is named`() throws {
        let key = bucket(items[0])
        let saved = try fixture.rows("SELECT * FROM item_lists")
        for sql in [
            "UPDATE item_lists SET entries = x'0100000000' WHERE row_key = ?",
            "UPDATE item_lists SET generation = generation + 1 WHERE row_key = ?",
            "UPDATE item_lists SET mac = zeroblob(32) WHERE row_key = ?",
        ] {
            #expect(try fixture.tamper(sql, [key]) == 1)
            #expect(try refusal() == Self.refused(.altered, key))
            try fixture.restore(saved, into: "item_lists")
        }
        #expect(try refusal() == nil)
        let free = Data(
            try #require(
                (0..<4096).map { [10, UInt8($0 >> 8), UInt8($0 & 255)] }.first { candidate in
                    !saved.contains { $0["row_key"] == Data(candidate) }
                }))
        try fixture.tamper("UPDATE item_lists SET row_key = ? WHERE row_key = ?", [free, key])
        #expect(try refusal() == Self.refused(.altered, free))
    }

    @Test func `one older bucket is noticed, although it is authentic`() throws {
        let key = bucket(items[0])
        let old = try fixture.rows("SELECT * FROM item_lists WHERE row_key = ?", [key])
        try fixture.vault.write("delete") { try $0.removeItem(items[0].id, owner: owner) }
        try fixture.restore(old, into: "item_lists")
        let vault = try fixture.reopened()
        #expect(throws: Self.refused(.replayed)) { try fixture.found(ItemQuery(anyOf: []), in: vault) }
    }

    @Test(arguments: [1, 2]) func `deleted buckets are noticed`(count: Int) throws {
        try fixture.tamper("DELETE FROM item_lists WHERE rowid IN (SELECT rowid FROM item_lists LIMIT \(count))")
        #expect(try refusal() == Self.refused(.replayed))
    }

    @Test func `older buckets do not make up for newer ones, whatever their generations`() throws {
        // One bucket of before, and another one whose generation is higher by as much as the first one's is lower.
        let key = bucket(items[0])
        let old = try fixture.rows("SELECT * FROM item_lists WHERE row_key = ?", [key])
        try fixture.vault.write("delete") { try $0.removeItem(items[0].id, owner: owner) }
        for number in 100...120 as ClosedRange<UInt64> { try fixture.add([number]) }
        try fixture.restore(old, into: "item_lists")
        let vault = try fixture.reopened()
        #expect(throws: Self.refused(.replayed)) { try fixture.found(ItemQuery(anyOf: []), in: vault) }
    }

    @Test func `everything of the items deleted is not an empty store`() throws {
        for table in ["items", "item_lists"] { try fixture.tamper("DELETE FROM \(table)") }
        #expect(throws: Self.refused(.removed)) {
            try fixture.found(ItemQuery(anyOf: []), in: fixture.reopened())
        }
    }

    @Test func `a removed user does not come back with their items`() throws {
        let tables = ["items", "item_lists", "lists"]
        let saved = try tables.map { try fixture.rows("SELECT * FROM \($0) WHERE owner = ?", [owner.bytes]) }
        try fixture.vault.write("remove") { try $0.removeUser(owner) }
        for (table, rows) in zip(tables, saved) { try fixture.restore(rows, into: table) }
        for vault in [fixture.vault, try fixture.reopened()] {
            #expect(throws: VaultError.notFound) { try fixture.found(ItemQuery(anyOf: []), in: vault) }
        }
    }
}
