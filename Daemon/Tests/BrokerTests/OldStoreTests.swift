import AccessControl
import BrokerTestSupport
import Crypto
import Enclave
import ExactNames
import Foundation
import GRDB
import Glibc
import KeySlots
import OstiaryWire
import SecretMemory
import StoreKeys
import StoreTestSupport
import Testing
import Vault

@testable import Authenticators
@testable import Broker
@testable import OwnerKeys
@testable import ProtectedObjects

/// A state folder that the programs of version 0.1.0 wrote, before a store had keys of its own: the passcode
/// `BrokerFixture.passcode`, the right "bound" that requires it and has the secret "secret of bound", an item of the class
/// *always*, made by `/usr/local/bin/ostiary` for the user root, and one wrong try.
enum OldStore {
    static let user = "root"
    private static let files = ["device-secret", "vault.sqlite", "audit.log"]

    /// Copies it to `state`.
    static func copy(to state: String) throws {
        try FileManager.default.createDirectory(
            atPath: state, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        for name in files { try copy(name, to: state) }
    }

    /// Copies one of its files in the place of what is there.
    static func copy(_ name: String, to state: String) throws {
        let source = try #require(Bundle.module.resourceURL).appendingPathComponent("Stores/0.1/\(name)")
        try Data(contentsOf: source).write(to: URL(fileURLWithPath: "\(state)/\(name)"))
        #expect(chmod("\(state)/\(name)", 0o600) == 0)
    }

    static func folder() throws -> TestFolder {
        let folder = try TestFolder()
        try copy(to: BrokerFixture.stateDirectory(in: folder))
        return folder
    }
}

@Suite("A store that version 0.1.0 wrote")
struct OldStoreTests {
    private let folder: TestFolder
    private var state: String { BrokerFixture.stateDirectory(in: folder) }

    init() throws { folder = try OldStore.folder() }

    private func open() throws -> BrokerFixture {
        try BrokerFixture(in: folder, stretching: .argon2id, adoptedUserName: OldStore.user)
    }

    private func bytes(of name: String) throws -> Data {
        try Data(contentsOf: URL(fileURLWithPath: "\(state)/\(name)"))
    }

    private func put(_ bytes: Data, in name: String) throws {
        try bytes.write(to: URL(fileURLWithPath: "\(state)/\(name)"))
        #expect(chmod("\(state)/\(name)", 0o600) == 0)
    }

    private func names() throws -> Set<String> { Set(try FileManager.default.contentsOfDirectory(atPath: state)) }

    /// The rows of tables that nothing changes at a start.
    private func rows() throws -> [[DatabaseValue]] {
        let queue = try DatabaseQueue(path: state + "/vault.sqlite")
        defer { withExtendedLifetime(queue) {} }
        return try queue.read { database in
            try ["key_pairs", "passcode_records", "attempt_counters", "objects", "items"].flatMap { table in
                try Row.fetchAll(database, sql: "SELECT * FROM \(table) ORDER BY owner, row_key").map {
                    Array($0.databaseValues)
                }
            }
        }
    }

    /// Everything in the store opens with the passcode, and the log is whole.
    private func expectAll(in fixture: BrokerFixture) throws {
        let broker = fixture.broker
        #expect(try fixture.client().status().passcode.failedAttempts == 1)
        let proved = try broker.accounts[0].keeper.prove(SecretBytes(text: BrokerFixture.passcode))
        broker.accounts[0].ring.add(
            try broker.accounts[0].life.privateHalves(openedBy: proved), since: broker.accounts[0].ring.era)

        let object = try #require(try broker.accounts[0].rights.list(application: nil).first?.record)
        #expect(object.attributes.identifier == "bound")
        let opener = try RightOpener(
            object, label: nil, in: broker.vault, ring: broker.accounts[0].ring, stretching: .argon2id)
        let evaluation = Evaluation(of: proved)
        let right = try opener.opened(by: evaluation, enclave: broker.enclave)
        let secret = try right.secret()
        let secretText = Data(exposing: secret)
        #expect(secretText == Data("secret of bound".utf8))
        let digest = SHA256.hash(data: Data("message".utf8))
        let signature = try P256.Signing.ECDSASignature(
            rawRepresentation: right.key.signature(forDigest: Data(digest)))
        #expect(
            try P256.Signing.PublicKey(x963Representation: object.publicKey).isValidSignature(signature, for: digest))

        let item = try #require(
            try broker.vault.readItems { reader in
                try reader.itemIDs(owner: broker.accounts[0].id).first.flatMap {
                    try reader.item($0, owner: broker.accounts[0].id)
                }
            })
        #expect(
            item.index.terms.contains(
                broker.accounts[0].items.digests.term("acct", .text("alice"), of: .genericPassword)))
        let itemOpener = try ItemOpener(
            item, storeID: broker.vault.storeID, ring: broker.accounts[0].ring, stretching: .argon2id, current: { item }
        )
        let password = try itemOpener.data(itemOpener.takeSecret(by: nil)) ?? SecretBytes(zeroed: 0)
        let text = Data(exposing: password)
        #expect(text == Data("password of alice".utf8))

        fixture.prompter.prepare([.text(BrokerFixture.passcode)])
        let verdict = try fixture.client().verifyLog(interactive: true)
        #expect(verdict.intact && verdict.sealsChecked)
    }

    @Test func `opens with all it holds, and again`() throws {
        let fixture = try open()
        try expectAll(in: fixture)
        fixture.close()
        let reopened = try open()
        #expect(try reopened.client().status().passcode.failedAttempts == 0)
        fixture.prompter.prepare([])
        #expect(try reopened.client().verifyLog(interactive: false).intact)
    }

    @Test func `gets keys of its own without a change of any row`() throws {
        let before = try rows()
        #expect(try bytes(of: "device-secret")[4] == 1)
        try open().close()
        #expect(try rows() == before)
        #expect(try names().contains("store-keys"))
        let secret = try bytes(of: "device-secret")
        #expect(secret[4] == 2)
        let keys = try bytes(of: "store-keys")
        try open().close()
        #expect(try bytes(of: "store-keys") == keys && bytes(of: "device-secret") == secret)
    }

    @Test func `that was interrupted between two steps is finished`() throws {
        let oldSecret = try bytes(of: "device-secret")
        try open().close()
        let keys = try bytes(of: "store-keys")
        // Each step gives one file its name; a file that was cut off before has another one.
        for leftover in ["", "store-keys.1E5A", "device-secret.1E5A"] {
            try put(oldSecret, in: "device-secret")
            if !leftover.isEmpty { try put(Data([1, 2, 3]), in: leftover) }
            try open().close()
            #expect(try bytes(of: "store-keys") == keys)
            #expect(try bytes(of: "device-secret")[4] == 2)
        }
        try expectAll(in: open())
    }

    @Test func `without the keys it got is refused, and nothing is changed`() throws {
        try open().close()
        #expect(unlink(state + "/store-keys") == 0)
        let before = try names()
        let error = #expect(throws: BrokerOpeningError.self) { try open() }
        #expect(
            error?.description
                == "The file store-keys in \(state) is missing, and the store there cannot be read without it. Restore "
                + "the file from a backup. To start with an empty store, move the folder away.")
        #expect(try names() == before)
    }

    @Test func `with another device secret is refused, and gets no keys`() throws {
        let other = try TestFolder()
        _ = try SoftwareEnclave(directory: other.path, ownedBy: geteuid(), createIfMissing: true)
        var foreign = try Data(contentsOf: URL(fileURLWithPath: other.path("device-secret")))
        // As version 1 wrote it.
        let head = Data("OSDS".utf8) + [1]
        foreign =
            head + foreign[5..<37]
            + Data(HMAC<SHA256>.authenticationCode(for: head, using: SymmetricKey(data: foreign[5..<37])))
        try put(foreign, in: "device-secret")
        let error = #expect(throws: BrokerOpeningError.self) { try open() }
        #expect(error?.description.contains("the record of the store is missing or does not verify") == true)
        #expect(try !names().contains("store-keys"))
        #expect(try bytes(of: "device-secret") == foreign)
    }

    @Test(.enabled(if: SmallDisk.canBeMounted, "mounting a small file system takes root and CAP_SYS_ADMIN"))
    func `on a full disk opens and gets its keys`() throws {
        let disk = try SmallDisk(byteCount: 16 * 1024 * 1024)
        let state = disk.path + "/state"
        try OldStore.copy(to: state)
        let opening = StoreOpening(path: state, userID: geteuid(), observer: nil)
        try opening.open().vault.close()
        // Back to the beginning, but with the reserve that the vault keeps beside the database.
        #expect(unlink(state + "/store-keys") == 0)
        try OldStore.copy("device-secret", to: state)
        try disk.fill()
        for _ in 1...2 { try opening.open().vault.close() }
        #expect(FileManager.default.fileExists(atPath: state + "/store-keys"))
        #expect(try Data(contentsOf: URL(fileURLWithPath: state + "/device-secret"))[4] == 2)
    }
}
