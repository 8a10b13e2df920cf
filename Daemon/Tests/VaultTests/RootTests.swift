import Foundation
import GRDB
import SeededRandomness
import StoreTestSupport
import Testing
import Vault

/// What one root over all lists is for: that parts of different times do not fit together, and that a running vault knows
/// what it wrote.
@Suite("The root of a store")
struct RootTests {
    private let fixture: VaultFixture
    private var vault: Vault { fixture.vault }
    private var owner: VaultID { fixture.alice.id }
    private var path: String { fixture.folder.path("vault.sqlite") }

    init() throws { fixture = try VaultFixture() }

    private func reopened() throws -> Vault {
        try Vault(folder: fixture.folder.path, ownedBy: geteuid(), create: false, protector: TestProtector())
    }

    private func guess(_ count: UInt32, in vault: Vault? = nil) throws {
        try (vault ?? self.vault).write("guess") {
            try $0.setAttempts(VaultFixture.attempts(fixture.alice, failedCount: count))
        }
    }

    private func guesses(in vault: Vault) throws -> UInt32? {
        try vault.read { try $0.attempts(owner: owner, subject: VaultFixture.subject) }?.failedCount
    }

    private func rows(_ table: String, _ condition: String = "1", _ arguments: StatementArguments = []) throws -> [Row]
    {
        try DatabaseQueue(path: path).read {
            try Row.fetchAll($0, sql: "SELECT * FROM \(table) WHERE \(condition)", arguments: arguments)
        }
    }

    private func restore(_ rows: [Row], into table: String) throws {
        for row in rows {
            let places = row.columnNames.map { _ in "?" }.joined(separator: ", ")
            try fixture.tamper(
                "INSERT OR REPLACE INTO \(table) VALUES (\(places))", StatementArguments(Array(row.databaseValues)))
        }
    }

    // MARK: while the vault is open

    @Test func `after somebody else changed the root nothing is read or written`() throws {
        let old = try rows("roots")
        try guess(4)
        let generation = vault.storeGeneration
        try restore(old, into: "roots")
        #expect(throws: VaultError.changedByOthers) { try guesses(in: vault) }
        #expect(throws: VaultError.changedByOthers) { try guess(5) }
        #expect(throws: VaultError.changedByOthers) { try vault.read { try $0.users() } }
        #expect(throws: VaultError.changedByOthers) { try vault.write("") { try $0.removeUser(fixture.bob.id) } }
        #expect(vault.storeGeneration == generation)
    }

    @Test(arguments: [
        "DELETE FROM roots", "UPDATE roots SET generation = generation + 1", "UPDATE roots SET owner = zeroblob(16)",
        "UPDATE roots SET mac = CAST(substr(mac, 1, 31) || x'00' AS BLOB)",
        "UPDATE roots SET lists = CAST(lists || x'00' AS BLOB)",
    ])
    func `each part of the root counts`(sql: String) throws {
        #expect(try fixture.tamper(sql) == 1)
        #expect(throws: VaultError.changedByOthers) { try guesses(in: vault) }
        #expect(throws: VaultError.changedByOthers) { try guess(5) }
    }

    @Test func `another vault's change is noticed by the first one`() throws {
        let other = try reopened()
        try guess(4, in: other)
        #expect(throws: VaultError.changedByOthers) { try guess(1) }
        #expect(try guesses(in: other) == 4)
    }

    @Test func `an older list beside a running vault changes nothing of what it says`() throws {
        let (list, row) = (try rows("lists"), try rows("attempt_counters"))
        try guess(4)
        try restore(list, into: "lists")
        #expect(try guesses(in: vault) == 4)
        try restore(row, into: "attempt_counters")
        #expect(throws: VaultError.corrupt(RowReference(table: .attemptCounters, key: VaultFixture.subject), .replayed))
        {
            try guesses(in: vault)
        }
        try guess(5)
        #expect(try guesses(in: vault) == 5)
        #expect(try guesses(in: reopened()) == 5)
    }

    // MARK: parts of different times

    /// The counter's row, its list and the root, before and after a change.
    @Test(arguments: 1..<7) func `no mixture of a row, its list and the root of two times is accepted`(parts: Int)
        throws
    {
        let before = try (rows("attempt_counters"), rows("lists"), rows("roots"))
        try guess(9)
        try vault.close()
        if parts & 1 != 0 { try restore(before.0, into: "attempt_counters") }
        if parts & 2 != 0 { try restore(before.1, into: "lists") }
        if parts & 4 != 0 {
            // What is not put back is newer than the root.
            try restore(before.2, into: "roots")
            #expect(throws: VaultError.unreadable(.newerThanRoot)) { try reopened() }
            return
        }
        let vault = try reopened()
        #expect(throws: VaultError.self) { try guesses(in: vault) }
        // What the change did not touch is as it was.
        #expect(try vault.read { try $0.object(fixture.right.id, owner: owner) } == fixture.right)
    }

    @Test(arguments: ["rights", "items", "a list of items"])
    func `everything put back but one row of a thing that counts its own changes is refused`(left: String) throws {
        let item = ItemFixture.item(1, owner: owner)
        try vault.write("add") { try $0.insertItem(item) }
        let tables = ["lists", "item_lists", "roots", "objects", "items"]
        let before = try tables.map { try rows($0) }
        let (changedRight, changedItem) = (right(changed: 2), item.changed(payload: 9))
        try vault.write("change") { writer in
            try writer.updateObject(changedRight)
            try writer.updateItem(changedItem)
        }
        try vault.close()
        let leftTable = ["rights": "objects", "items": "items", "a list of items": "item_lists"][left]
        for (table, rows) in zip(tables, before) where table != leftTable { try restore(rows, into: table) }
        #expect(throws: VaultError.unreadable(.newerThanRoot)) { try reopened() }
        // A row that only claims to be newer is damaged, and nothing else is.
        try fixture.tamper("UPDATE \(leftTable!) SET mac = zeroblob(32) WHERE generation > 3")
        #expect(try guesses(in: reopened()) == 3)
    }

    private func right(changed generation: UInt64) -> ObjectRecord {
        var right = fixture.right
        right.generation = generation
        right.payload = Data([99])
        return right
    }

    @Test func `a flipped bit in one list makes that list unreadable and not the rest`() throws {
        try vault.close()
        for list in try rows("lists", "owner = ?", [owner.bytes]) {
            let key: Data = list["row_key"]
            var entries: Data = list["entries"]
            entries[entries.endIndex - 1] ^= 1
            try fixture.tamper(
                "UPDATE lists SET entries = ? WHERE owner = ? AND row_key = ?", [entries, owner.bytes, key])
            let refused = VaultError.corrupt(RowReference(table: .lists, key: key), .altered)
            let vault = try reopened()
            func read(_ table: VaultTable, _ body: (VaultReader) throws -> Void) throws {
                guard table.rawValue == key[key.startIndex] else { return try vault.read(body) }
                #expect(throws: refused) { try vault.read(body) }
            }
            try read(.keyPairs) { _ = try $0.keyPairs(owner: owner) }
            try read(.passcodeRecords) { _ = try $0.passcodeRecords(owner: owner) }
            try read(.attemptCounters) { _ = try $0.attemptCounters(owner: owner) }
            try read(.objects) { _ = try $0.objects(owner: owner, kind: .right) }
            try read(.items) { _ = try $0.itemIDs(owner: owner) }
            try vault.close()
            try restore([list], into: "lists")
        }
        #expect(try guesses(in: reopened()) == 3)
    }

    /// Two histories that part after one copy count the same numbers. Only the codes of what they wrote tell them apart.
    @Test func `rows and lists of a history that parted are refused, although their generations are equal`() throws {
        try vault.close()
        let copy = try TestFolder()
        let shared = try Data(contentsOf: URL(fileURLWithPath: path))
        try shared.write(to: URL(fileURLWithPath: copy.path("vault.sqlite")))
        let other = try Vault(folder: copy.path, ownedBy: geteuid(), create: false, protector: TestProtector())
        try guess(7, in: other)
        #expect(try guesses(in: other) == 7)
        try other.close()
        let one = try reopened()
        try guess(8, in: one)
        try one.close()
        func theirs(_ table: String) throws -> [Row] {
            try DatabaseQueue(path: copy.path("vault.sqlite")).read {
                try Row.fetchAll($0, sql: "SELECT * FROM \(table)")
            }
        }
        func generations(_ rows: [Row]) -> [Int64] { rows.map { $0["generation"] } }
        #expect(try generations(theirs("attempt_counters")) == generations(rows("attempt_counters")))
        #expect(try generations(theirs("lists")) == generations(rows("lists")))

        let (ownRows, ownLists) = (try rows("attempt_counters"), try rows("lists"))
        try restore(theirs("attempt_counters"), into: "attempt_counters")
        #expect(throws: VaultError.corrupt(RowReference(table: .attemptCounters, key: VaultFixture.subject), .replayed))
        {
            try guesses(in: reopened())
        }
        try restore(theirs("lists"), into: "lists")
        #expect(throws: VaultError.corrupt(RowReference(table: .lists, key: Data([6])), .replayed)) {
            try guesses(in: reopened())
        }
        try restore(ownRows, into: "attempt_counters")
        #expect(throws: VaultError.corrupt(RowReference(table: .lists, key: Data([6])), .replayed)) {
            try guesses(in: reopened())
        }
        try restore(ownLists, into: "lists")
        #expect(try guesses(in: reopened()) == 8)
    }

    @Test func `items of a history that parted are refused, although their generations are equal`() throws {
        let first = ItemFixture.item(1, owner: owner)
        try vault.write("add") { try $0.insertItem(first) }
        try vault.close()
        let copy = try TestFolder()
        try FileManager.default.copyItem(atPath: path, toPath: copy.path("vault.sqlite"))
        func change(in folder: String, _ payload: UInt8) throws {
            let vault = try Vault(folder: folder, ownedBy: geteuid(), create: false, protector: TestProtector())
            try vault.write("change") { try $0.updateItem(first.changed(payload: payload)) }
            try vault.close()
        }
        try change(in: copy.path, 66)
        try change(in: fixture.folder.path, 77)
        let theirs = try DatabaseQueue(path: copy.path("vault.sqlite")).read {
            (try Row.fetchAll($0, sql: "SELECT * FROM items"), try Row.fetchAll($0, sql: "SELECT * FROM item_lists"))
        }
        let own = try (rows("items"), rows("item_lists"))
        func payload() throws -> Data? { try reopened().readItems { try $0.item(first.id, owner: owner)?.payload } }
        #expect(try payload() == Data([77]))
        try restore(theirs.0, into: "items")
        #expect(throws: VaultError.corrupt(RowReference(table: .items, key: first.id.bytes), .replayed)) {
            try payload()
        }
        try restore(theirs.1, into: "item_lists")
        #expect(throws: VaultError.corrupt(RowReference(table: .itemLists, key: Data([10])), .replayed)) {
            try payload()
        }
        try restore(own.0, into: "items")
        #expect(throws: VaultError.corrupt(RowReference(table: .itemLists, key: Data([10])), .replayed)) {
            try payload()
        }
        try restore(own.1, into: "item_lists")
        #expect(try payload() == Data([77]))
    }

    @Test func `lists of a removed user have no place under the root`() throws {
        let (lists, roots) = (try rows("lists"), try rows("roots"))
        try vault.write("remove") { try $0.removeUser(owner) }
        try restore(lists, into: "lists")
        #expect(throws: VaultError.corrupt(RowReference(table: .lists, key: Data([3])), .replayed)) {
            try reopened().read { try $0.users() }
        }
        try restore(roots, into: "roots")
        // Everything but the user's rows is of before now, and nothing is newer.
        #expect(throws: VaultError.corrupt(RowReference(table: .users, key: owner.bytes), .removed)) {
            try reopened().read { try $0.user(owner) }
        }
    }
}

extension ItemRecord {
    fileprivate func changed(payload: UInt8) -> ItemRecord {
        var item = self
        item.generation += 1
        item.payload = Data([payload])
        return item
    }
}
