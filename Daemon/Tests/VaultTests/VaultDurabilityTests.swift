import ExactNames
import Foundation
import GRDB
import Glibc
import StoreTestSupport
import Testing

@testable import Vault

@Suite("Durability of a vault", .serialized)
struct VaultDurabilityTests {
    let folder: TestFolder

    init() throws { folder = try TestFolder() }

    private func storedNumber() throws -> UInt32 {
        let vault = try Vault(folder: folder.path, ownedBy: geteuid(), create: false, protector: TestProtector())
        return try vault.read { reader throws in
            let owner = try #require(try reader.users().first?.record).id
            return try CrashTestData.consistentNumber(in: reader, owner: owner)
        }
    }

    private func lastNumber(in output: String) -> UInt32 {
        output.split(separator: "\n").compactMap { UInt32($0) }.last ?? 0
    }

    @Test(.enabled(if: TestProgram.isInstalled("strace"), "strace is not installed"))
    func `each commit is followed by a disk flush before it is acknowledged`() throws {
        let trace = folder.path("trace")
        let store = folder.path("store")
        let result = try TestProgram(
            "vault-writer", [store, "20"],
            under: ["strace", "-f", "-e", "trace=fdatasync,fsync,write", "-o", trace]
        ).run()
        #expect(result.code == 0)
        let calls = try SystemCallTrace(file: trace).calls
        let ready = try #require(calls.firstIndex { $0.name == "write" && $0.rest.contains("ready") })
        let afterwards = calls[ready...].map {
            $0.name == "write" ? ($0.rest.hasPrefix("(1,") ? "answer" : "write") : "flush"
        }
        #expect(afterwards.count { $0 == "flush" } >= 20)
        // Between two answers there is always a flush.
        let answers = afterwards.indices.filter { afterwards[$0] == "answer" }
        #expect(answers.count == 21)
        for (earlier, later) in zip(answers, answers.dropFirst()) {
            #expect(afterwards[earlier..<later].contains("flush"))
        }
    }

    @Test(arguments: [10, 40, 100, 250, 600]) func `kill -9 loses no acknowledged commit and shows no half one`(
        bytes: Int
    ) throws {
        for _ in 0..<3 {
            let output = try TestProgram("vault-writer", [folder.path, "100000"]).runAndKill(afterPrinting: bytes)
            let stored = try storedNumber()
            let acknowledged = lastNumber(in: output)
            #expect(stored == acknowledged || stored == acknowledged + 1 || acknowledged == 0)
            #expect(stored >= acknowledged)
        }
    }

    /// What each thread's user has, compared with what the threads were told is on disk.
    private func requireAcknowledged(in output: String, threads: UInt32) throws {
        let vault = try Vault(folder: folder.path, ownedBy: geteuid(), create: false, protector: TestProtector())
        var acknowledged: [UInt32: UInt32] = [:]
        for line in output.split(separator: "\n") {
            let numbers = line.split(separator: " ").compactMap { UInt32($0) }
            if numbers.count == 2 { acknowledged[numbers[0]] = numbers[1] }
        }
        try vault.read { reader in
            for user in try reader.users().compactMap(\.record) where user.uid < threads {
                let stored = try CrashTestData.consistentNumber(in: reader, owner: user.id)
                let known = acknowledged.removeValue(forKey: user.uid) ?? 0
                #expect(stored == known || stored == known + 1)
            }
        }
        #expect(acknowledged.isEmpty)
    }

    @Test(arguments: [40, 200, 500, 1000, 2000])
    func `kill -9 loses no acknowledged change of any thread and shows no half one`(bytes: Int) throws {
        let output = try TestProgram("vault-writer", [folder.path, "100000", "threads", "8"])
            .runAndKill(afterPrinting: bytes)
        try requireAcknowledged(in: output, threads: 8)
    }

    @Test(arguments: ["before", "after"], [1, 2, 9, 30])
    func `a crash at a commit of several threads keeps each change whole`(moment: String, number: Int) throws {
        let program = TestProgram(
            "vault-writer", [folder.path, "100", "threads", "8", "die-\(moment)-commit", "3 \(number)"])
        let output = try program.run().output
        #expect(!output.contains("\n3 \(number)\n"))
        try requireAcknowledged(in: output, threads: 8)
    }

    @Test(.enabled(if: TestProgram.isInstalled("strace"), "strace is not installed"))
    func `eight threads flush less than half as often as they change`() throws {
        let trace = folder.path("trace")
        let result = try TestProgram(
            "vault-writer", [folder.path("store"), "25", "threads", "8"],
            under: ["strace", "-f", "-e", "trace=fdatasync,fsync", "-o", trace]
        ).run()
        #expect(result.code == 0)
        #expect(result.output.split(separator: "\n").count == 201)
        #expect(try SystemCallTrace(file: trace).calls.count < 100)
    }

    @Test(arguments: [1, 2, 9, 10]) func `a crash just before the commit leaves the state before`(commit: UInt32) throws
    {
        let output = try TestProgram("vault-writer", [folder.path, "20", "die-before-commit", "\(commit)"]).run().output
        #expect(lastNumber(in: output) == commit - 1)
        #expect(try storedNumber() == commit - 1)
    }

    @Test(arguments: [1, 2, 9, 10]) func `a crash just after the commit leaves the state after`(commit: UInt32) throws {
        let output = try TestProgram("vault-writer", [folder.path, "20", "die-after-commit", "\(commit)"]).run().output
        #expect(lastNumber(in: output) == commit - 1)
        #expect(try storedNumber() == commit)
    }

    @Test(.enabled(if: SmallDisk.canBeMounted, "mounting a small file system takes root and CAP_SYS_ADMIN"))
    func `a full disk refuses the write, keeps what was there, and lets things be removed`() throws {
        let disk = try SmallDisk(byteCount: 3 * 1024 * 1024)
        let vault = try Vault(folder: disk.path, ownedBy: geteuid(), create: true, protector: TestProtector())
        let user = UserRecord(uid: 1, name: "a", created: 0)
        try vault.write("user") { try $0.addUser(user) }
        var stored: [ObjectRecord] = []
        #expect(throws: VaultError.diskFull) {
            while stored.count < 1000 {
                var object = VaultFixture.object(owner: user.id, identifier: "\(stored.count)")
                object.payload = Data(repeating: 1, count: 10_000)
                try vault.write("insert") { try $0.insertObject(object) }
                stored.append(object)
            }
        }
        #expect(stored.count > 3)
        #expect(
            try vault.read { try $0.objects(owner: user.id, kind: .right).compactMap(\.record).count } == stored.count)
        let remove = { (writer: VaultWriter) throws in
            for object in stored { try writer.removeObject(object.id, owner: user.id) }
        }
        #expect(throws: VaultError.diskFull) { try vault.write("remove", remove) }
        try vault.write("remove", usingReserve: true, remove)
        #expect(try vault.read { try $0.objects(owner: user.id, kind: .right) }.isEmpty)
    }

    private func sizeOfFile(_ name: String, in folder: String) throws -> Int {
        let attributes = try FileManager.default.attributesOfItem(atPath: folder + "/" + name)
        return try #require(attributes[.size] as? Int)
    }

    @Test func `with each commit the database file has space for what lies in the journal`() throws {
        let fixture = try VaultFixture()
        for number in 0..<60 {
            var object = VaultFixture.object(owner: fixture.alice.id, identifier: "\(number)")
            object.payload = Data(repeating: 1, count: 10_000)
            try fixture.vault.write("") { [object] in try $0.insertObject(object) }
            #expect(try sizeOfFile("vault.sqlite", in: fixture.folder.path) > number * 10_000)
        }
        // The commits alone, not SQLite's own emptying of a journal of 1,000 pages.
        #expect(try sizeOfFile("vault.sqlite-wal", in: fixture.folder.path) > 600_000)
    }

    @Test(.enabled(if: SmallDisk.canBeMounted, "mounting a small file system takes root and CAP_SYS_ADMIN"))
    func `what a full disk kept from being erased is erased when something can be written again`() throws {
        let disk = try SmallDisk(byteCount: 12 * 1024 * 1024)
        let vault = try Vault(folder: disk.path, ownedBy: geteuid(), create: true, protector: TestProtector())
        let user = UserRecord(uid: 1, name: "a", created: 0)
        try vault.write("user") { try $0.addUser(user) }
        try vault.compactAfterSecretsChanged()
        let size = try sizeOfFile("vault.sqlite", in: disk.path)
        var object = VaultFixture.object(owner: user.id, identifier: "large")
        object.payload = Data(repeating: 1, count: 3_000_000)
        try vault.write("insert") { [object] in try $0.insertObject(object) }
        // As a file system has it that holds no space.
        try #require(truncate(disk.path + "/vault.sqlite", off_t(size)) == 0)
        try disk.fill()
        #expect(throws: VaultError.diskFull) { try vault.compactAfterSecretsChanged() }
        try disk.empty()
        try vault.write("user") { try $0.setUser(user) }
        #expect(try sizeOfFile("vault.sqlite-wal", in: disk.path) == 0)
    }

    @Test func `a database that another process holds is busy`() throws {
        let fixture = try VaultFixture()
        let other = try DatabaseQueue(path: fixture.folder.path("vault.sqlite"))
        try other.writeWithoutTransaction { database in
            try database.execute(sql: "BEGIN IMMEDIATE")
            #expect(throws: VaultError.busy) { try fixture.vault.write("") { try $0.removeUser(fixture.bob.id) } }
            try database.execute(sql: "ROLLBACK")
        }
        try fixture.vault.write("") { try $0.removeUser(fixture.bob.id) }
    }

    @Test(arguments: [
        (ResultCode.SQLITE_FULL, VaultError.diskFull), (.SQLITE_BUSY_SNAPSHOT, .busy), (.SQLITE_LOCKED, .busy),
        (.SQLITE_CORRUPT, .unreadable(.notADatabase)), (.SQLITE_NOTADB, .unreadable(.notADatabase)),
        (.SQLITE_CONSTRAINT_UNIQUE, .duplicate), (.SQLITE_CONSTRAINT_FOREIGNKEY, .notFound),
        (.SQLITE_IOERR_WRITE, .io(code: 778)), (.SQLITE_READONLY, .io(code: 8)),
    ])
    func `each database error has one meaning`(code: ResultCode, error: VaultError) {
        #expect(VaultError(DatabaseError(resultCode: code, message: "secret")) == error)
    }
}
