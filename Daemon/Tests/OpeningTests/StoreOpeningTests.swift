import Enclave
import Foundation
import GRDB
import Glibc
import SecretMemory
import StoreKeys
import StoreTestSupport
import Testing
import Vault

@testable import Broker
@testable import Opening

@Suite("Opening a store")
struct StoreOpeningTests {
    private let folder: TestFolder

    init() throws { folder = try TestFolder() }

    private func open() throws -> Vault {
        try StoreOpening(path: folder.path, userID: geteuid(), observer: nil).open().vault
    }

    private func names() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
    }

    /// Without SQLite's side files, which come and go with connections.
    private func lastingNames() throws -> [String] {
        try names().filter { !$0.hasSuffix("-wal") && !$0.hasSuffix("-shm") }
    }

    private func bytes(of name: String) throws -> Data { try Data(contentsOf: URL(fileURLWithPath: folder.path(name))) }

    private func enclave() throws -> SoftwareEnclave {
        try SoftwareEnclave(directory: folder.path, ownedBy: geteuid(), createIfMissing: true)
    }

    private var file: StoreKeysFile { StoreKeysFile(directory: folder.path, ownedBy: geteuid()) }

    @Test func `an empty folder gets a device secret, keys, and the store that the keys name`() throws {
        let vault = try open()
        try vault.close()
        #expect(try names().filter { !$0.hasPrefix("vault") } == ["device-secret", "store-keys"])
        #expect(try file.read(openedBy: enclave()).storeID == vault.storeID.bytes)
        #expect(try bytes(of: "device-secret")[4] == 2)
        let keys = try bytes(of: "store-keys")
        #expect(try open().storeID == vault.storeID)
        #expect(try bytes(of: "store-keys") == keys)
    }

    @Test func `a store whose making was interrupted after its device secret is made`() throws {
        _ = try enclave()
        let secret = try bytes(of: "device-secret")
        try open().close()
        #expect(try bytes(of: "device-secret") == secret)
        _ = try open()
    }

    @Test func `a store whose making was interrupted after its keys is made with them`() throws {
        let id = VaultID()
        try file.create(RootSecret(), storeID: id.bytes, sealedBy: enclave())
        let keys = try bytes(of: "store-keys")
        let vault = try open()
        #expect(vault.storeID == id)
        #expect(try bytes(of: "store-keys") == keys)
    }

    @Test func `a database that was taken away and put back opens again`() throws {
        let vault = try open()
        try vault.close()
        for suffix in ["", "-wal", "-shm"] {
            rename(folder.path("vault.sqlite" + suffix), folder.path("away" + suffix))
        }
        let other = try open()
        try other.close()
        for suffix in ["", "-wal", "-shm"] {
            rename(folder.path("away" + suffix), folder.path("vault.sqlite" + suffix))
        }
        #expect(try open().storeID == vault.storeID)
    }

    @Test func `keys that do not open are not replaced where no store was made yet`() throws {
        let other = try TestFolder()
        try file.create(
            RootSecret(), storeID: VaultID().bytes,
            sealedBy: SoftwareEnclave(directory: other.path, ownedBy: geteuid(), createIfMissing: true))
        let keys = try bytes(of: "store-keys")
        #expect(throws: BrokerOpeningError.self) { try open() }
        #expect(try bytes(of: "store-keys") == keys)
        #expect(!FileManager.default.fileExists(atPath: folder.path("vault.sqlite")))
    }

    @Test func `the right keys under another store's name are refused`() throws {
        let root = SecretBytes(random: RootSecret.byteCount)
        func writeKeys() throws {
            try file.create(
                RootSecret(SecretBytes(copying: root))!, storeID: VaultID().bytes, sealedBy: enclave())
        }
        try writeKeys()
        try open().close()
        #expect(unlink(folder.path("store-keys")) == 0)
        try writeKeys()
        let error = #expect(throws: BrokerOpeningError.self) { try open() }
        #expect(
            error?.description
                == "The file store-keys in \(folder.path) was changed, or does not belong to this store and this device. "
                + "Restore the whole folder from one backup; nothing was changed.")
    }

    @Test func `a store whose keys are missing is refused, and nothing is changed`() throws {
        try open().close()
        #expect(unlink(folder.path("store-keys")) == 0)
        let before = try lastingNames()
        let error = #expect(throws: BrokerOpeningError.self) { try open() }
        #expect(
            error?.description
                == "The file store-keys in \(folder.path) is missing, and the store there cannot be read without it. Restore "
                + "the file from a backup. To start with an empty store, move the folder away.")
        #expect(try lastingNames() == before)
    }

    @Test(arguments: [2, 3, 4], [true, false])
    func `a store of a build from before 0.1.0 is refused, with keys or without`(version: Int, hasKeys: Bool) throws {
        try open().close()
        if !hasKeys { #expect(unlink(folder.path("store-keys")) == 0) }
        let queue = try DatabaseQueue(path: folder.path("vault.sqlite"))
        try queue.write { try $0.execute(sql: "PRAGMA user_version = \(version)") }
        try queue.close()
        let (before, database) = (try lastingNames(), try bytes(of: "vault.sqlite"))
        let error = #expect(throws: BrokerOpeningError.self) { try open() }
        #expect(
            error?.description
                == "The store in \(folder.path) has version \(version): a build from before version 0.1.0 made it, and this "
                + "daemon reads only stores from version 5 on. Take out of it what you need with that build. To start with "
                + "an empty store, move the folder away. Nothing was changed.")
        #expect(try lastingNames() == before)
        #expect(try bytes(of: "vault.sqlite") == database)
    }
}
