import BrokerTestSupport
import Crypto
import Enclave
import Foundation
import GRDB
import Glibc
import OstiaryWire
import Prompting
import SecretMemory
import StoreKeys
import StoreTestSupport
import Synchronization
import Testing
import Vault

@testable import Broker
@testable import OwnerKeys

/// State folders that earlier programs of version 0.1.0 wrote, with a store of version 2 or 3.
///
/// Each was made with `ostiary` on a terminal: passcode, a registration, two rights of which one was removed, three items of
/// which one was deleted, a key, a signature, a lock, and three wrong tries. Its user was "root".
enum FormerStore: Int, CaseIterable, CustomTestStringConvertible {
    case version2 = 2
    case version3 = 3

    var testDescription: String { "version \(rawValue)" }

    static let passcode = "correct horse 9"
    /// The content of the file `device-secret`.
    var deviceSecret: String {
        switch self {
        case .version2:
            """
            4f53445301214d034ca9aafe2d4b58d54e8584a87d63ba9345d52d4555de3542ecc22a8d3897e73174b93da9e591337621e05d\
            944912a7d5d3ec86382c0f706db5533c03fe
            """
        case .version3:
            """
            4f534453020643dcd38cb4d04ebb6db215c2cb6a7d6789c70500c4c722f3c81315885eb2dc9135da7bbf234d760ce92465c45b\
            dd3e580afd0258f853c2f5801575cb49c84c
            """
        }
    }
    static let userName = "root"
    static let application = "com.example.fixture"

    /// A copy of the folder, to be opened or changed.
    func copy() throws -> StoppedStore {
        let folder = try TestFolder()
        let state = BrokerFixture.stateDirectory(in: folder)
        try FileManager.default.createDirectory(
            atPath: state, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        let archive = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("Stores/version-\(rawValue).tar.gz")
        let tar = Process()
        tar.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        tar.arguments = ["tar", "-xzf", archive.path, "-C", state, "--no-same-owner"]
        try tar.run()
        tar.waitUntilExit()
        guard tar.terminationStatus == 0 else { throw TestClient.UnexpectedAnswer() }
        return StoppedStore(of: folder)
    }
}

@Suite("A store of the released format")
struct FormerStoreTests {
    /// One of version 2.
    private let store: StoppedStore

    init() throws { store = try FormerStore.version2.copy() }

    private func state(_ store: StoppedStore) -> String { BrokerFixture.stateDirectory(in: store.folder) }

    /// A broker over the store, with real stretching.
    private func fixture(_ store: StoppedStore? = nil) throws -> BrokerFixture {
        try BrokerFixture(
            in: (store ?? self.store).folder, stretching: .argon2id, adoptedUserName: FormerStore.userName)
    }

    private func rows() throws -> [String: [Row]] { try store.allRows() }

    private static let ownProgram =
        (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""

    /// Makes this program the registered one, which costs the passcode.
    private func adopt(_ fixture: BrokerFixture) throws {
        fixture.prompter.prepare([.text(FormerStore.passcode)])
        let request = WireRegisterApplicationRequest.with {
            $0.path = Self.ownProgram
            $0.applicationID = FormerStore.application
            $0.adopts = true
            $0.question = TestClient.question
        }
        guard case .applications(let list) = try fixture.client().call(.registerApplication(request)).body else {
            throw TestClient.UnexpectedAnswer()
        }
        #expect(list.applications.map(\.applicationID) == [FormerStore.application])
        #expect(list.applications.map(\.accessGroups) == [["com.example.shared"]])
    }

    /// Everything that was in the store is there and works; nothing that was removed is.
    private func expectEverything(_ fixture: BrokerFixture) throws {
        let client = try fixture.client()
        let passcode = ScriptedPrompter.Answer.text(FormerStore.passcode)

        let right = try client.find("2fa")
        #expect(try refusal { _ = try client.find("other") } == .notFound)
        let context = try client.openContext()
        fixture.prompter.prepare([passcode])
        #expect(try client.authorize(right, in: context) == ["passcode"])
        #expect(try client.sign(right, in: context))
        #expect(try client.secret(of: right, in: context) == "secret of the right")

        func data(_ account: String) throws -> [Data] {
            try client.findItems(TestClient.query("genp", ["acct": .text(account)])).map(\.data)
        }
        fixture.prompter.prepare([passcode])
        #expect(try data("plain") == [Data("data of plain".utf8)])
        #expect(try data("guarded") == [Data("data of guarded".utf8)])
        #expect(try refusal { _ = try data("gone") } == .notFound)
        #expect(fixture.prompter.askedKinds == [.enterPasscode])

        let listed = try #require(client.listKeys().first)
        let key = try client.findKey(listed.key.keyID)
        let digest = SHA256.hash(data: Data("message".utf8))
        fixture.prompter.prepare([passcode])
        let keyContext = try client.openContext()
        try client.authorize(rightID: key.keyID, in: keyContext)
        let signature = try client.sign(
            Data(digest), "algid:sign:ECDSA:digest-X962:SHA256", with: key, in: keyContext)
        #expect(
            try P256.Signing.PublicKey(x963Representation: key.publicKey)
                .isValidSignature(P256.Signing.ECDSASignature(derRepresentation: signature), for: digest))

        fixture.prompter.prepare([passcode])
        let verdict = try client.verifyLog(interactive: true)
        #expect(verdict.intact && verdict.sealsChecked, "\(verdict.explanation)")
        let problems = try client.diagnosis().findings.filter { $0.verdict == .problem }.map(\.check)
        #expect(Set(problems).isSubset(of: ["prompt", "dumps"]), "\(problems)")
    }

    @Test(arguments: FormerStore.allCases) func `is the one that these tests describe`(former: FormerStore) throws {
        let store = try former.copy()
        let bytes = try Data(contentsOf: URL(fileURLWithPath: state(store) + "/device-secret"))
        #expect(bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined() == former.deviceSecret)
        #expect(try store.rows("PRAGMA user_version")[0][0] == former.rawValue)
        #expect(try store.rows("SELECT * FROM items").count == 3)
        #expect(try store.rows("SELECT * FROM objects").count == 3)
    }

    @Test(arguments: FormerStore.allCases)
    func `opens with everything that was in it, again and again`(former: FormerStore) throws {
        let store = try former.copy()
        let fixture = try fixture(store)
        #expect(try fixture.client().status().passcode.failedAttempts == 3)
        #expect(try fixture.client().log().count == 29)
        try adopt(fixture)
        try expectEverything(fixture)
        try fixture.restart()
        try expectEverything(fixture)
        #expect(try store.rows("PRAGMA user_version")[0][0] == 4)
        #expect(
            try store.rows("SELECT name FROM sqlite_schema WHERE name IN ('manifests', 'item_leaves', 'item_roots')")
                .isEmpty)
        fixture.prompter.prepare([.text(FormerStore.passcode), .text("another battery 8"), .text("another battery 8")])
        try fixture.client().passcode(.change)
        #expect(try fixture.client().findItems(TestClient.query("genp", ["acct": .text("plain")])).count == 1)
    }

    @Test(arguments: FormerStore.allCases)
    func `counts the next wrong try where it had stopped`(former: FormerStore) throws {
        let fixture = try fixture(former.copy())
        let client = try fixture.client()
        fixture.prompter.prepare([.text("wrong"), .cancel])
        #expect(try refusal { try client.evaluatePolicy(2, in: client.openContext()) } != nil)
        #expect(try client.status().passcode.failedAttempts == 4)
    }

    // MARK: cut off

    /// Fails at one call, as a process that dies there.
    private final class Failing: RecordProtector {
        struct Failure: Error {}
        private let real: StoreKeys
        private let callsLeft: Atomic<Int>

        init(_ keys: StoreKeys, after callCount: Int) {
            real = keys
            callsLeft = Atomic(callCount)
        }

        private func step<Result>(_ body: () throws -> Result) throws -> Result {
            guard callsLeft.subtract(1, ordering: .relaxed).newValue >= 0 else { throw Failure() }
            return try body()
        }

        func authenticationCode(for data: Data, label: String) throws -> Data {
            try step { real.authenticationCode(for: data, label: label) }
        }
        func isValid(_ code: Data, for data: Data, label: String) throws -> Bool {
            try step { real.isValid(code, for: data, label: label) }
        }
        func protect(_ data: Data, label: String) throws -> Data { try step { try real.protect(data, label: label) } }
        func unprotect(_ data: Data, label: String) throws -> Data {
            try step { try real.unprotect(data, label: label) }
        }
        func digest(_ data: Data, label: String) throws -> Data { try step { real.digest(data, label: label) } }
    }

    /// The keys of the store's rows: in the device secret, or sealed by the enclave.
    private func keys(of former: FormerStore, in state: String) throws -> StoreKeys {
        switch former {
        case .version2:
            guard let bytes = try FormerStoreKeys(directory: state, ownedBy: geteuid()).read(),
                let root = RootSecret(bytes)
            else { throw StoreKeysFileError.missing }
            return StoreKeys(root)
        case .version3:
            let enclave = try SoftwareEnclave(directory: state, ownedBy: geteuid(), createIfMissing: false)
            return try StoreKeysFile(directory: state, ownedBy: geteuid()).read(openedBy: enclave).keys
        }
    }

    @Test(arguments: FormerStore.allCases)
    func `is converted whole or not at all, wherever that is cut off`(former: FormerStore) throws {
        let store = try former.copy()
        let keys = try keys(of: former, in: state(store))
        let before = try store.allRows()
        var cuts = 0
        while true {
            do {
                let vault = try Vault(
                    folder: state(store), ownedBy: geteuid(), create: false, protector: Failing(keys, after: cuts))
                try vault.close()
                break
            } catch is Failing.Failure {
                // The last few calls are those of opening the converted store.
                guard try store.rows("PRAGMA user_version")[0][0] == former.rawValue else {
                    cuts += 1
                    continue
                }
                #expect(try store.allRows() == before)
                cuts += 1
            }
        }
        #expect(cuts > (former == .version2 ? 60 : 20))
        let fixture = try fixture(store)
        try adopt(fixture)
        try expectEverything(fixture)
    }

    // MARK: damaged before

    private func owner() throws -> Data { try store.rows("SELECT row_key FROM users")[0][0] }

    @Test func `keeps a damaged list refused and everything else usable`() throws {
        #expect(try store.alter("entries", of: "manifests", where: "row_key = x'06'") == 1)
        let fixture = try fixture()
        let client = try fixture.client()
        #expect(try client.status().passcode.failedAttempts == nil)
        fixture.prompter.prepare([.text(FormerStore.passcode)])
        #expect(try refusal { try client.evaluatePolicy(2, in: client.openContext()) } == .itemUnreadable)
        #expect(fixture.prompter.asked.isEmpty)
        #expect(try client.listKeys().count == 1)
    }

    @Test(arguments: ["leaf", "missing leaf", "sum"])
    func `keeps items with damaged leaves refused until the owner repairs the list`(_ damage: String) throws {
        switch damage {
        case "leaf": #expect(try store.alter("entries", of: "item_leaves", where: "rowid = 1") == 1)
        case "missing leaf": #expect(try store.write("DELETE FROM item_leaves WHERE rowid = 1") == 1)
        default: #expect(try store.alter("generation", of: "item_roots", where: "1") == 1)
        }
        let fixture = try fixture()
        let client = try fixture.client()
        #expect(try refusal { _ = try client.findItems(TestClient.query()) } == .itemUnreadable)
        fixture.prompter.prepare([.text(FormerStore.passcode)])
        let repaired = try client.repair()
        #expect(repaired.map(\.list) == ["keychain items"] && repaired.map(\.kept) == [3])
        try adopt(fixture)
        try expectEverything(fixture)
    }

    @Test func `keeps a row that is not the listed one refused`() throws {
        let id = try store.rows("SELECT row_key FROM objects WHERE kind = 1")[0][0] as Data
        #expect(try store.alter("slots", of: "objects", where: "row_key = ?", [id]) == 1)
        let item = try store.rows("SELECT row_key FROM items WHERE class = 1 AND wrap_kind = 1")[0][0] as Data
        #expect(try store.write("DELETE FROM items WHERE row_key = ?", [item]) == 1)
        let fixture = try fixture()
        try adopt(fixture)
        let client = try fixture.client()
        #expect(try refusal { _ = try client.find("2fa") } == .itemUnreadable)
        let plain = TestClient.query("genp", ["acct": .text("plain")])
        #expect(try refusal { _ = try client.findItems(plain) } == .itemUnreadable)
        #expect(try client.deleteItems(plain) == 1)
    }

    @Test func `without the list of its users is refused unchanged`() throws {
        #expect(try store.alter("mac", of: "manifests", where: "row_key = x'03'") == 1)
        let before = try rows()
        #expect(throws: BrokerOpeningError.self) { try fixture() }
        #expect(try rows() == before)
    }

    @Test func `with an altered schema is refused before anything in it runs`() throws {
        try store.write("CREATE TRIGGER spy AFTER DELETE ON manifests BEGIN SELECT 1; END")
        let before = try rows()
        #expect(throws: BrokerOpeningError.self) { try fixture() }
        #expect(try rows() == before)
    }

    // MARK: back again

    /// No row of version 2 says which others it belongs to, so such a database may be put together from several.
    @Test func `its database and log beside the keys of the converted store are refused unchanged`() throws {
        let converted = try FormerStore.version2.copy()
        try fixture(converted).close()
        let files = FileManager.default
        func names(_ store: StoppedStore) throws -> [String] {
            try files.contentsOfDirectory(atPath: state(store)).filter { name in
                ["vault.sqlite", "audit.log"].contains { name.hasPrefix($0) }
            }
        }
        for name in try names(converted) { try files.removeItem(atPath: state(converted) + "/" + name) }
        for name in try names(store) {
            try files.copyItem(atPath: state(store) + "/" + name, toPath: state(converted) + "/" + name)
        }
        let error = #expect(throws: BrokerOpeningError.self) { try fixture(converted) }
        #expect(error?.description.contains("vault.sqlite is older than store-keys") == true)
        #expect(try converted.rows("PRAGMA user_version")[0][0] == 2)
    }

    @Test(arguments: FormerStore.allCases)
    func `its record beside a converted store does not have it converted again`(former: FormerStore) throws {
        let store = try former.copy()
        let record = try store.rows("SELECT * FROM store")
        try fixture(store).close()
        try store.restore(record, into: "store")
        #expect(throws: BrokerOpeningError.self) { try fixture(store) }
    }

    @Test(arguments: FormerStore.allCases)
    func `with a counter of today it is not taken for the present`(version: FormerStore) throws {
        let (store, former) = (try version.copy(), try version.copy())
        let fixture = try fixture(store)
        fixture.prompter.prepare([.text(FormerStore.passcode)])
        let current = try fixture.client()
        try current.evaluatePolicy(2, in: current.openContext())
        #expect(try current.status().passcode.failedAttempts == 0)
        fixture.close()
        try former.restore(store.rows("SELECT * FROM attempt_counters"), into: "attempt_counters")
        guard version == .version2 else {
            // A row that is newer than the root: the rest of the store was put back.
            #expect(throws: BrokerOpeningError.self) { try self.fixture(former) }
            return
        }
        let mixed = try BrokerFixture(in: former.folder, stretching: .argon2id, adoptedUserName: FormerStore.userName)
        mixed.prompter.prepare([.text(FormerStore.passcode)])
        let client = try mixed.client()
        #expect(try refusal { try client.evaluatePolicy(2, in: client.openContext()) } == .itemUnreadable)
    }
}
