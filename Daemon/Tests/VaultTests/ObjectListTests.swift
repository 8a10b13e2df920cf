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
}
