import Foundation
import GRDB
import Glibc
import StoreTestSupport
import Testing
import Vault

@Suite("Opening a vault")
struct VaultOpeningTests {
    let folder: TestFolder
    var path: String { folder.path("vault.sqlite") }

    init() throws { folder = try TestFolder() }

    @discardableResult
    private func open(create: Bool = false, enclave: UInt8 = 1) throws -> Vault {
        try Vault(folder: folder.path, ownedBy: geteuid(), create: create, protector: TestProtector(number: enclave))
    }

    private func mode(_ path: String) throws -> mode_t {
        var status = stat()
        try #require(lstat(path, &status) == 0)
        return status.st_mode & 0o777
    }

    @Test func `nothing is created unless asked for`() throws {
        #expect(throws: VaultError.missing) { try open() }
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty)
    }

    @Test func `a created store opens again with the same identity`() throws {
        let first = try open(create: true).storeID
        #expect(try open().storeID == first)
        #expect(try open(create: true).storeID == first)
    }

    @Test func `two stores differ`() throws {
        let other = try TestFolder()
        let otherVault = try Vault(folder: other.path, ownedBy: geteuid(), create: true, protector: TestProtector())
        #expect(try open(create: true).storeID != otherVault.storeID)
    }

    @Test func `a missing folder is made, closed to others`() throws {
        let inner = folder.path("inner")
        _ = try Vault(folder: inner, ownedBy: geteuid(), create: true, protector: TestProtector())
        #expect(try mode(inner) == 0o700)
        #expect(try mode(inner + "/vault.sqlite") == 0o600)
    }

    @Test func `a folder and a file that were opened to others are closed again`() throws {
        try open(create: true).close()
        #expect(chmod(folder.path, 0o755) == 0 && chmod(path, 0o644) == 0)
        let vault = try open()
        try vault.write("user") { try $0.addUser(UserRecord(uid: 1, name: "a", created: 0)) }
        #expect(try mode(folder.path) == 0o700 && mode(path) == 0o600 && mode(path + "-wal") == 0o600)
    }

    @Test(arguments: [0, 100, 8192]) func `case 53: garbage is unreadable and left alone`(size: Int) throws {
        let garbage = Data((0..<size).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ 1) })
        try garbage.write(to: URL(fileURLWithPath: path))
        let reason: UnreadableReason = size == 0 ? .anotherProgram : .notADatabase
        #expect(throws: VaultError.unreadable(reason)) { try open(create: true) }
        if size > 0 { #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == garbage) }
    }

    @Test func `another program's database is unreadable and left alone`() throws {
        try VaultFixture.tamper(path, "CREATE TABLE other (x)")
        let before = try Data(contentsOf: URL(fileURLWithPath: path))
        #expect(throws: VaultError.unreadable(.anotherProgram)) { try open(create: true) }
        #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == before)
    }

    @Test func `a newer store is refused by its version`() throws {
        try open(create: true).close()
        try VaultFixture.tamper(path, "PRAGMA user_version = 6")
        #expect(throws: VaultError.tooNew(found: 6, supported: 5)) { try open() }
    }

    @Test(arguments: [0, 1, 2, 3, 4] as [UInt32])
    func `a store from before the first kept version is refused by its version, and left alone`(version: UInt32) throws
    {
        try open(create: true).close()
        try VaultFixture.tamper(path, "PRAGMA user_version = \(version)")
        let before = try Data(contentsOf: URL(fileURLWithPath: path))
        #expect(throws: VaultError.tooOld(found: version, supported: 5)) { try open() }
        #expect(throws: VaultError.tooOld(found: version, supported: 5)) { try open(create: true) }
        #expect(throws: VaultError.tooOld(found: version, supported: 5)) {
            try Vault.requirePresentVersion(inFolder: folder.path, ownedBy: geteuid())
        }
        #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == before)
    }

    @Test func `the version is known without the keys`() throws {
        func check() throws { try Vault.requirePresentVersion(inFolder: folder.path, ownedBy: geteuid()) }
        #expect(throws: VaultError.missing) { try check() }
        try open(create: true).close()
        try check()
        try VaultFixture.tamper(path, "PRAGMA user_version = 6")
        #expect(throws: VaultError.tooNew(found: 6, supported: 5)) { try check() }
        try VaultFixture.tamper(path, "PRAGMA application_id = 1")
        #expect(throws: VaultError.unreadable(.anotherProgram)) { try check() }
    }

    @Test func `a store that does not say that its tables were made is refused`() throws {
        try open(create: true).close()
        #expect(try VaultFixture.tamper(path, "DELETE FROM grdb_migrations") == 1)
        #expect(throws: VaultError.unreadable(.alteredSchema)) { try open() }
    }

    @Test func `another enclave's store is unreadable`() throws {
        try open(create: true).close()
        #expect(throws: VaultError.unreadable(.storeRecord)) { try open(enclave: 2) }
    }

    @Test(arguments: [
        "CREATE TRIGGER t AFTER DELETE ON key_pairs BEGIN SELECT 1; END", "CREATE VIEW v AS SELECT * FROM key_pairs",
        "CREATE TABLE copies (wrap BLOB)", "DROP INDEX IF EXISTS x; ALTER TABLE users ADD COLUMN extra BLOB",
        "DROP TABLE log_epochs",
    ])
    func `an altered schema is refused`(sql: String) throws {
        try open(create: true).close()
        try VaultFixture.tamper(path, sql)
        #expect(throws: VaultError.unreadable(.alteredSchema)) { try open() }
    }

    @Test(arguments: ["DELETE FROM store", "UPDATE store SET created = 1", "UPDATE store SET owner = zeroblob(16)"])
    func `a store without its authentic record is unreadable`(sql: String) throws {
        try open(create: true).close()
        try VaultFixture.tamper(path, sql)
        #expect(throws: VaultError.unreadable(.storeRecord)) { try open(create: true) }
    }

    @Test(arguments: [
        "DELETE FROM roots", "UPDATE roots SET generation = generation + 1", "UPDATE roots SET lists = x'0100000000'",
        "UPDATE roots SET mac = zeroblob(32)", "UPDATE roots SET owner = zeroblob(16)",
        "UPDATE roots SET row_key = x'00'",
    ])
    func `a store without its authentic root is unreadable`(sql: String) throws {
        try open(create: true).close()
        #expect(try VaultFixture.tamper(path, sql) == 1)
        #expect(throws: VaultError.unreadable(.root)) { try open(create: true) }
    }

    @Test func `a symbolic link, a hard link and a folder in its place are refused`() throws {
        try open(create: true).close()
        let elsewhere = folder.path("elsewhere")
        #expect(rename(path, elsewhere) == 0 && symlink(elsewhere, path) == 0)
        #expect(throws: VaultError.unreadable(.notOurFile)) { try open(create: true) }
        #expect(unlink(path) == 0 && link(elsewhere, path) == 0)
        #expect(throws: VaultError.unreadable(.notOurFile)) { try open(create: true) }
        #expect(unlink(path) == 0 && mkdir(path, 0o700) == 0)
        #expect(throws: VaultError.unreadable(.notOurFile)) { try open(create: true) }
    }

    @Test func `a symbolic link in the folder's place is refused`() throws {
        let link = folder.path("link")
        #expect(symlink(folder.path, link) == 0)
        #expect(throws: VaultError.unreadable(.notOurFile)) {
            try Vault(folder: link, ownedBy: geteuid(), create: true, protector: TestProtector())
        }
    }

    @Test func `what an interrupted creation left is no store`() throws {
        try Data([1, 2, 3]).write(to: URL(fileURLWithPath: path + ".new"))
        #expect(throws: VaultError.missing) { try open() }
        try open(create: true)
        #expect(!FileManager.default.fileExists(atPath: path + ".new"))
    }

    @Test func `a write sees its own changes`() throws {
        let vault = try open(create: true)
        let count = try vault.write("user") { writer in
            try writer.addUser(UserRecord(uid: 1, name: "a", created: 0))
            return try writer.users().count
        }
        #expect(count == 1)
    }
}
