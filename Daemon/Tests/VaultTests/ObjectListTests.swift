import ExactNames
import Foundation
import GRDB
import StoreTestSupport
import Testing

@testable import Vault

/// The list of an owner's objects: in many buckets, and with the number of objects of each kind and group at hand.
@Suite("The list of objects")
struct ObjectListTests {
    private let fixture: VaultFixture
    private var vault: Vault { fixture.vault }
    private var owner: VaultID { fixture.alice.id }
    private var path: String { fixture.folder.path("vault.sqlite") }

    init() throws { fixture = try VaultFixture() }

    private func reopened() throws -> Vault {
        try Vault(folder: fixture.folder.path, ownedBy: geteuid(), create: false, protector: TestProtector())
    }

    private static func key(_ number: Int, owner: VaultID, group: ExactName = "group") -> ObjectRecord {
        ObjectRecord(
            owner: owner, kind: .enclaveKey, suite: 1,
            attributes: ObjectAttributes(group: group, identifier: "key \(number)", created: 12, flags: 1),
            accessControl: Data([10]), enclaveKind: 2, publicKey: Data([11]), keyBlob: Data([12]), payload: nil,
            slots: Data([14]))
    }

    @discardableResult
    private func addKeys(_ numbers: Range<Int>, group: ExactName = "group") throws -> [ObjectRecord] {
        let keys = numbers.map { Self.key($0, owner: owner, group: group) }
        try vault.write("keys") { writer in for key in keys { try writer.insertObject(key) } }
        return keys
    }

    private func counts(in vault: Vault) throws -> [Int] {
        try vault.read { reader in
            try [
                reader.objectCount(owner: owner, kind: .right), reader.objectCount(owner: owner, kind: .enclaveKey),
                reader.objectCount(owner: owner, kind: .enclaveKey, group: "group"),
                reader.objectCount(owner: owner, kind: .enclaveKey, group: "other"),
                reader.objectCount(owner: owner, kind: .application),
            ]
        }
    }

    // MARK: counting

    @Test func `says how many objects of each kind and group there are, after each change and each start`() throws {
        #expect(try counts(in: vault) == [2, 0, 0, 0, 0])
        let keys = try addKeys(0..<30)
        try addKeys(30..<40, group: "other")
        #expect(try counts(in: vault) == [2, 40, 30, 10, 0])
        struct Failure: Error {}
        #expect(throws: Failure.self) {
            try vault.write("undone") { writer in
                try writer.removeObject(keys[0].id, owner: owner)
                try writer.insertObject(Self.key(99, owner: owner))
                try writer.insertObject(Self.key(98, owner: owner))
                #expect(try writer.objectCount(owner: owner, kind: .enclaveKey, group: "group") == 31)
                throw Failure()
            }
        }
        #expect(try counts(in: vault) == [2, 40, 30, 10, 0])
        try vault.write("remove") { writer in
            for key in keys.prefix(5) { try writer.removeObject(key.id, owner: owner) }
            try writer.removeObject(fixture.right.id, owner: owner)
        }
        var changed = keys[7]
        (changed.generation, changed.slots) = (2, Data([99]))
        let update = changed
        try vault.write("update") { try $0.updateObject(update) }
        #expect(try counts(in: vault) == [1, 35, 25, 10, 0])
        try vault.close()
        let again = try reopened()
        #expect(try counts(in: again) == [1, 35, 25, 10, 0])
        #expect(try again.read { try $0.objectCount(owner: fixture.bob.id, kind: .enclaveKey) } == 0)
    }

    @Test func `names the objects of a kind in the order of their ids, in parts too`() throws {
        let keys = try addKeys(0..<50).map(\.id).sorted()
        let others = try addKeys(50..<55, group: "other").map(\.id)
        try vault.read { reader throws in
            let all = try reader.objectIDs(owner: owner, kind: .enclaveKey)
            #expect(all == (keys + others).sorted())
            #expect(try reader.objectIDs(owner: owner, kind: .enclaveKey, group: "group") == keys)
            #expect(try reader.objectIDs(owner: owner, kind: .enclaveKey, group: "none").isEmpty)
            #expect(try reader.objectIDsOfLargestGroup(owner: owner, kind: .enclaveKey) == keys)
            #expect(try reader.objectIDsOfLargestGroup(owner: owner, kind: .application).isEmpty)
            for size in [1, 7, 55, 100] {
                var (found, offset): ([VaultID], Int) = ([], 0)
                while offset < 60 {
                    found += try reader.objectIDs(owner: owner, kind: .enclaveKey, from: offset, count: size)
                    offset += size
                }
                #expect(found == all)
            }
            #expect(try reader.objects(owner: owner, kind: .right).compactMap(\.record).count == 2)
            #expect(try reader.objectFaults(owner: owner, among: reader.objectKeys(owner: owner)).isEmpty)
        }
    }

    @Test func `a change writes one short bucket of it`() throws {
        try addKeys(0..<300)
        func buckets() throws -> [Data: Int64] {
            try DatabaseQueue(path: path).read { database in
                let rows = try Row.fetchAll(
                    database, sql: "SELECT row_key, generation FROM lists WHERE substr(row_key, 1, 1) = x'07'")
                return Dictionary(uniqueKeysWithValues: rows.map { ($0[0], $0[1]) })
            }
        }
        let before = try buckets()
        #expect(before.count > 200)
        let key = try addKeys(300..<301)[0]
        let after = try buckets()
        #expect(
            after.filter { before[$0.key] != $0.value }.map(\.key).map(Array.init) == [
                [7, UInt8(key.id.bucket >> 8), UInt8(key.id.bucket & 0xff)]
            ])
    }

    // MARK: damage

    @Test func `rows that do not verify are found among all kinds, each by its own listing too`() throws {
        let keys = try addKeys(0..<3)
        try fixture.tamper("UPDATE objects SET slots = x'00' WHERE row_key = ?", [keys[0].id.bytes])
        try fixture.tamper("DELETE FROM objects WHERE row_key = ?", [keys[1].id.bytes])
        let planted = VaultID().bytes
        try fixture.tamper(
            """
            INSERT INTO objects SELECT owner, ?, generation, mac, 77, suite, name_digest, attribute_record,
                access_control, enclave_kind, public_key, key_blob, payload, slots FROM objects WHERE row_key = ?
            """, [planted, keys[2].id.bytes])
        try vault.read { reader throws in
            let faults = try reader.objectFaults(owner: owner, among: reader.objectKeys(owner: owner))
            #expect(Set(faults.map(\.reference.key)) == [keys[0].id.bytes, keys[1].id.bytes, planted])
            let listed = try reader.objects(owner: owner, kind: .enclaveKey)
            #expect(listed.compactMap(\.record).map(\.id) == [keys[2].id])
            #expect(Set(listed.compactMap(\.unreadable?.key)) == [keys[0].id.bytes, keys[1].id.bytes, planted])
            // A row that claims a kind that does not exist may be anything; the others are keys, as the list says.
            #expect(try reader.objects(owner: owner, kind: .right).compactMap(\.unreadable?.key) == [planted])
        }
        #expect(try counts(in: vault) == [2, 3, 3, 0, 0])
    }

    @Test func `a rebuilt list counts again, and rows that do not verify may be of any kind`() throws {
        let keys = try addKeys(0..<10)
        try vault.close()
        try fixture.tamper("UPDATE objects SET slots = x'00' WHERE row_key = ?", [keys[0].id.bytes])
        try fixture.tamper("DELETE FROM lists WHERE substr(row_key, 1, 1) = x'07'")
        let damaged = try reopened()
        #expect(throws: VaultError.corrupt(RowReference(table: .lists, key: Data([7])), .removed)) {
            try counts(in: damaged)
        }
        let relisting = try damaged.write("repair") { try $0.relistObjects(owner: owner) { _ in true } }
        #expect(relisting == Relisting(kept: 11, refused: 1, removed: []))
        #expect(try counts(in: damaged) == [3, 10, 9, 0, 1])
        try damaged.close()
        #expect(try counts(in: reopened()) == [3, 10, 9, 0, 1])
    }

    // MARK: a store of version 3

    /// The fixture's store with ten keys, in the format before.
    private func makeFormer() throws -> [ObjectRecord] {
        let keys = try addKeys(0..<10)
        try vault.close()
        try Version3Fixture.make(of: path)
        return keys
    }

    private func version() throws -> Int? {
        try DatabaseQueue(path: path).read { try Int.fetchOne($0, sql: "PRAGMA user_version") }
    }

    @Test func `of version 3 is converted with everything in it, and counted`() throws {
        let keys = try makeFormer()
        #expect(try version() == 3)
        var converted = try reopened()
        for _ in 1...2 {
            #expect(try version() == 4)
            #expect(try counts(in: converted) == [2, 10, 10, 0, 0])
            #expect(try converted.read { try $0.object(keys[3].id, owner: owner) } == keys[3])
            #expect(try converted.read { try $0.objects(owner: owner, kind: .right) }.compactMap(\.record).count == 2)
            #expect(try converted.read { try $0.keyPairs(owner: owner) }.compactMap(\.record).count == 2)
            try converted.close()
            converted = try reopened()
        }
    }

    @Test func `of version 3 keeps a refused row refused`() throws {
        let keys = try makeFormer()
        try fixture.tamper("UPDATE objects SET slots = x'00' WHERE row_key = ?", [keys[0].id.bytes])
        try fixture.tamper("DELETE FROM objects WHERE row_key = ?", [keys[1].id.bytes])
        let converted = try reopened()
        func fault(_ key: ObjectRecord, _ fault: RowFault) -> VaultError {
            .corrupt(RowReference(table: .objects, key: key.id.bytes), fault)
        }
        #expect(throws: fault(keys[0], .altered)) { try converted.read { try $0.object(keys[0].id, owner: owner) } }
        #expect(throws: fault(keys[1], .removed)) { try converted.read { try $0.object(keys[1].id, owner: owner) } }
        // Of unknown kind, so they count as each.
        #expect(try counts(in: converted) == [4, 10, 8, 0, 2])
        try converted.write("remove") { try $0.removeObject(keys[0].id, owner: owner) }
        #expect(try counts(in: converted) == [3, 9, 8, 0, 1])
    }

    @Test(arguments: ["entries", "mac", "generation", "DELETE"])
    func `of version 3 keeps a damaged list refused, and the rest usable`(_ damage: String) throws {
        _ = try makeFormer()
        let row = "owner = ? AND row_key = x'070000'"
        let sql =
            switch damage {
            case "entries": "UPDATE lists SET entries = x'0100000000' WHERE \(row)"
            case "mac": "UPDATE lists SET mac = zeroblob(32) WHERE \(row)"
            case "generation": "UPDATE lists SET generation = generation - 1 WHERE \(row)"
            default: "DELETE FROM lists WHERE \(row)"
            }
        #expect(try fixture.tamper(sql, [owner.bytes]) == 1)
        let converted = try reopened()
        #expect(throws: VaultError.self) { try counts(in: converted) }
        #expect(try converted.read { try $0.damagedLists(owner: owner) } == [.objects])
        #expect(try converted.read { try $0.keyPairs(owner: owner) }.compactMap(\.record).count == 2)
        let relisting = try converted.write("repair") { try $0.relistObjects(owner: owner) { _ in true } }
        #expect(relisting.kept == 12)
        #expect(try counts(in: converted) == [2, 10, 10, 0, 0])
    }

    @Test func `of version 3 is refused unchanged when a row is newer than its root`() throws {
        _ = try makeFormer()
        let former = try DatabaseQueue(path: path).read {
            try Row.fetchAll($0, sql: "SELECT * FROM roots")
        }
        // What the programs of version 3 would have written: here with the present ones, and back.
        let converted = try reopened()
        try converted.write("guess") { try $0.setAttempts(VaultFixture.attempts(fixture.alice, failedCount: 9)) }
        try converted.close()
        try Version3Fixture.make(of: path)
        try fixture.tamper(
            "INSERT OR REPLACE INTO roots VALUES (?, ?, ?, ?, ?)",
            StatementArguments(former[0].databaseValues))
        let before = try Data(contentsOf: URL(fileURLWithPath: path))
        #expect(throws: VaultError.unreadable(.newerThanRoot)) { try reopened() }
        #expect(try version() == 3)
        #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == before)
    }

    @Test(arguments: ["record", "root", "both"])
    func `of version 3 does not lend a converted store its record or root`(_ part: String) throws {
        _ = try makeFormer()
        let former = try DatabaseQueue(path: path).read { database in
            try ["store", "roots"].map { try Row.fetchAll(database, sql: "SELECT * FROM \($0)")[0] }
        }
        try reopened().close()
        if part != "root" {
            try fixture.tamper(
                "INSERT OR REPLACE INTO store VALUES (?, ?, ?, ?, ?, ?)", StatementArguments(former[0].databaseValues))
        }
        if part != "record" {
            try fixture.tamper(
                "INSERT OR REPLACE INTO roots VALUES (?, ?, ?, ?, ?)", StatementArguments(former[1].databaseValues))
        }
        #expect(throws: VaultError.self) { try reopened() }
        try fixture.tamper("DELETE FROM grdb_migrations WHERE identifier = '4'")
        try fixture.tamper("PRAGMA user_version = 3")
        #expect(throws: VaultError.self) { try reopened() }
    }

    @Test func `of version 3 without users gets a root of the present version`() throws {
        let folder = try TestFolder()
        func open(create: Bool) throws -> Vault {
            try Vault(folder: folder.path, ownedBy: geteuid(), create: create, protector: TestProtector())
        }
        try open(create: true).close()
        try Version3Fixture.make(of: folder.path("vault.sqlite"))
        try open(create: false).close()
        #expect(try open(create: false).read { try $0.users() }.isEmpty)
    }
}
