import Foundation
import GRDB
import StoreTestSupport
import Testing
import Vault

@Suite("A store of version 1")
struct VaultMigrationTests {
    let folder: TestFolder
    private var path: String { folder.path("vault.sqlite") }
    private let owner: VaultID

    init() throws {
        folder = try TestFolder()
        let digits = Array(Version1Store.ownerHexadecimal)
        let bytes = stride(from: 0, to: digits.count, by: 2).map { UInt8(String(digits[$0...$0 + 1]), radix: 16)! }
        owner = VaultID(bytes: Data(bytes))!
        try Version1Store.make(at: folder.path("vault.sqlite")).close()
    }

    private func open(_ number: UInt8 = 1) throws -> Vault {
        try Vault(folder: folder.path, ownedBy: geteuid(), create: false, protector: TestProtector(number: number))
    }

    private func version() throws -> Int {
        try DatabaseQueue(path: path).read { try Int.fetchOne($0, sql: "PRAGMA user_version")! }
    }

    @Test func `keeps all it holds and takes items`() throws {
        let vault = try open()
        try vault.read { reader throws in
            #expect(try CrashTestData.consistentNumber(in: reader, owner: owner, withItems: false) == 1)
            #expect(try reader.itemIDs(owner: owner) == [])
        }
        #expect(try version() == 4)
        let item = ItemFixture.item(1, owner: owner)
        try vault.write("add") { try $0.insertItem(item) }
        try vault.close()
        #expect(try open().read { try $0.item(item.id, owner: owner) } == item)
    }

    @Test func `is not migrated by another enclave`() throws {
        #expect(throws: VaultError.unreadable(.storeRecord)) { try open(2) }
        let vault = try open()
        #expect(try vault.read { try $0.itemIDs(owner: owner) } == [])
    }

    @Test func `is migrated once: a root that is gone afterwards is missed`() throws {
        try open().close()
        try VaultFixture.tamper(path, "DELETE FROM roots")
        #expect(throws: VaultError.unreadable(.root)) { try open() }
    }

    @Test func `with an altered schema is refused`() throws {
        try VaultFixture.tamper(path, "CREATE TRIGGER t AFTER DELETE ON key_pairs BEGIN SELECT 1; END")
        #expect(throws: VaultError.unreadable(.alteredSchema)) { try open() }
    }
}
