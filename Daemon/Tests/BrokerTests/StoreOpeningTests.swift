import BrokerTestSupport
import Enclave
import Foundation
import Glibc
import SecretMemory
import StoreKeys
import StoreTestSupport
import Testing
import Vault

@testable import Broker

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
}
