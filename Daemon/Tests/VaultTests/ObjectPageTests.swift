import ExactNames
import Foundation
import GRDB
import StoreTestSupport
import Synchronization
import Testing

@testable import Vault

/// Objects in pages: each reads only its own rows, and all together show what there is.
@Suite("Pages of objects")
struct ObjectPageTests {
    private let fixture: VaultFixture
    private let vault: Vault
    private let checks = CountingProtector()
    private var owner: VaultID { fixture.alice.id }

    init() throws {
        fixture = try VaultFixture()
        try fixture.vault.close()
        vault = try Vault(folder: fixture.folder.path, ownedBy: geteuid(), create: false, protector: checks)
    }

    @discardableResult
    private func addRights(_ count: Int, group: ExactName) throws -> [VaultID] {
        let rights = (0..<count).map { VaultFixture.object(owner: owner, identifier: "\($0)", group: group) }
        try vault.write("rights") { writer in for right in rights { try writer.insertObject(right) } }
        return rights.map(\.id).sorted()
    }

    private func addKeys(_ count: Int) throws -> [VaultID] {
        let keys = (0..<count).map { number in
            ObjectRecord(
                owner: owner, kind: .enclaveKey, suite: 1,
                attributes: ObjectAttributes(group: "keys", identifier: "key \(number)", created: 12, flags: 1),
                accessControl: Data([10]), enclaveKind: 2, publicKey: Data([11]), keyBlob: Data([12]), payload: nil,
                slots: Data([14]))
        }
        try vault.write("keys") { writer in for key in keys { try writer.insertObject(key) } }
        return keys.map(\.id).sorted()
    }

    private typealias Page = VaultReader.ObjectPage

    /// All pages of a walk.
    private func pages(_ next: (_ last: Data?) throws -> Page) throws -> [Page] {
        var pages: [Page] = []
        repeat { pages.append(try next(pages.last?.next)) } while pages.last?.next != nil
        return pages
    }

    private func pages(of group: ExactName, count: Int) throws -> [Page] {
        try pages { last in
            try vault.read { try $0.objectPage(owner: owner, kind: .right, group: group, after: last, count: count) }
        }
    }

    private func pages(count: Int, scanning: Int) throws -> [Page] {
        try pages { last in
            try vault.read {
                try $0.objectPage(owner: owner, kind: .right, after: last, count: count, scanning: scanning)
            }
        }
    }

    private static func ids(_ pages: [Page]) -> [VaultID] {
        pages.flatMap(\.objects).compactMap { $0.record?.id ?? $0.unreadable?.id }
    }

    @Test(arguments: [1, 7, 40, 100]) func `together they name all rights of a group, once and in order`(
        count: Int
    ) throws {
        let (own, _, _) = (try addRights(40, group: "own"), try addRights(9, group: "other"), try addKeys(1500))
        let pages = try pages(of: "own", count: count)
        #expect(pages.allSatisfy { $0.objects.count <= count })
        #expect(Self.ids(pages) == own)
        #expect(try Self.ids(self.pages(of: "none", count: count)).isEmpty)
    }

    @Test func `one reads its own rows only`() throws {
        try addRights(300, group: "own")
        _ = try vault.read { try $0.objectCount(owner: owner, kind: .right) }
        let before = checks.count
        let page = try vault.read {
            try $0.objectPage(owner: owner, kind: .right, group: "own", after: nil, count: 50)
        }
        #expect(page.objects.count == 50)
        #expect(checks.count - before == 50)
    }

    @Test func `what comes and goes between two of them disturbs neither`() throws {
        let own = try addRights(30, group: "own")
        let first = try vault.read {
            try $0.objectPage(owner: owner, kind: .right, group: "own", after: nil, count: 10)
        }
        try vault.write("remove") { writer in
            for id in own[5..<12] { try writer.removeObject(id, owner: owner) }
        }
        let second = try vault.read {
            try $0.objectPage(owner: owner, kind: .right, group: "own", after: first.next, count: 30)
        }
        #expect(Self.ids([first]) == Array(own[..<10]))
        #expect(Self.ids([second]) == Array(own[12...]))
    }

    @Test func `rows that do not verify are in the pages of the group that the list names`() throws {
        let (own, other) = (try addRights(20, group: "own"), try addRights(3, group: "other"))
        let keys = try addKeys(4)
        try fixture.tamper("UPDATE objects SET slots = x'00' WHERE row_key = ?", [own[3].bytes])
        try fixture.tamper("DELETE FROM objects WHERE row_key = ?", [own[7].bytes])
        try fixture.tamper("UPDATE objects SET slots = x'00' WHERE row_key = ?", [keys[1].bytes])
        let planted = VaultID()
        try fixture.tamper(
            """
            INSERT INTO objects SELECT owner, ?, generation, mac, 77, suite, name_digest, attribute_record,
                access_control, enclave_kind, public_key, key_blob, payload, slots FROM objects WHERE row_key = ?
            """, [planted.bytes, own[0].bytes])
        let pages = try pages(of: "own", count: 6)
        #expect(Self.ids(pages) == (own + [planted]).sorted())
        let faults = pages.flatMap(\.objects).compactMap(\.unreadable?.id)
        #expect(Set(faults) == [own[3], own[7], planted])
        #expect(try Self.ids(self.pages(of: "other", count: 6)) == (other + [planted]).sorted())
        // Of all groups: the faults of keys too, and no key that verifies.
        for (count, scanning) in [(50, 128), (2, 5), (1, 1)] {
            let all = try self.pages(count: count, scanning: scanning)
            let rights = [fixture.right.id, fixture.otherRight.id]
            #expect(Self.ids(all) == (own + other + rights + [planted, keys[1]]).sorted())
            #expect(Set(all.flatMap(\.objects).compactMap(\.unreadable?.id)) == [own[3], own[7], planted, keys[1]])
        }
    }

    @Test(arguments: [Data([7]), Data(repeating: 0xff, count: 16), Data(repeating: 0x80, count: 40), Data(count: 16)])
    func `a cursor that no page gave begins behind it, whatever its length is`(cursor: Data) throws {
        let own = try addRights(60, group: "own")
        let expected = own.filter { cursor.lexicographicallyPrecedes($0.bytes) }
        let page = try vault.read {
            try $0.objectPage(owner: owner, kind: .right, group: "own", after: cursor, count: 100)
        }
        #expect(Self.ids([page]) == expected && page.next == nil)
        let all = try vault.read {
            try $0.objectPage(owner: owner, kind: .right, after: cursor, count: 100, scanning: 200)
        }
        #expect(Set(Self.ids([all])).isSuperset(of: expected))
    }

    @Test func `faults of items are found in parts`() throws {
        let fixture = try ItemFixture()
        let records = try fixture.add(0..<30)
        try VaultFixture.tamper(
            fixture.folder.path("vault.sqlite"), "UPDATE items SET suite = 9 WHERE row_key = ?", [records[4].id.bytes])
        try VaultFixture.tamper(
            fixture.folder.path("vault.sqlite"), "DELETE FROM items WHERE row_key = ?", [records[9].id.bytes])
        for count in [1, 7, 100] {
            var (faults, last): ([RowReference], Data?) = ([], nil)
            repeat {
                let part = try fixture.vault.readItems {
                    try $0.itemFaults(owner: fixture.owner, after: last, count: count)
                }
                faults += part.faults.map(\.0)
                last = part.next
            } while last != nil
            #expect(Set(faults.map(\.key)) == [records[4].id.bytes, records[9].id.bytes] && faults.count == 2)
        }
    }

    @Test func `the parts of a list are compared with it, one after the other`() throws {
        try addRights(200, group: "own")
        func verify() throws {
            var place: Int? = 0
            while let begin = place {
                place = try vault.read { try $0.verifyPart(ofList: .objects, owner: owner, from: begin) }
            }
        }
        try verify()
        let bucket = "FROM lists WHERE substr(row_key, 1, 1) = x'07' ORDER BY row_key LIMIT 1 OFFSET 20"
        let key = try DatabaseQueue(path: fixture.folder.path("vault.sqlite")).read {
            try Data.fetchOne($0, sql: "SELECT row_key \(bucket)")
        }
        try fixture.tamper("UPDATE lists SET generation = generation + 1 WHERE row_key = ?", [key])
        let reference = RowReference(table: .lists, key: try #require(key))
        #expect(throws: VaultError.corrupt(reference, .altered)) { try verify() }
        try fixture.tamper("DELETE FROM lists WHERE row_key = ?", [key])
        #expect(throws: VaultError.corrupt(RowReference(table: .lists, key: Data([7])), .removed)) { try verify() }
    }
}

/// Counts the rows that are checked.
final class CountingProtector: RecordProtector {
    private let keys = TestProtector()
    private let checks = Atomic(0)

    var count: Int { checks.load(ordering: .relaxed) }

    func isValid(_ code: Data, for data: Data, label: String) -> Bool {
        checks.add(1, ordering: .relaxed)
        return keys.isValid(code, for: data, label: label)
    }

    func authenticationCode(for data: Data, label: String) -> Data { keys.authenticationCode(for: data, label: label) }
    func protect(_ data: Data, label: String) throws -> Data { try keys.protect(data, label: label) }
    func unprotect(_ data: Data, label: String) throws -> Data { try keys.unprotect(data, label: label) }
    func digest(_ data: Data, label: String) -> Data { keys.digest(data, label: label) }
}
