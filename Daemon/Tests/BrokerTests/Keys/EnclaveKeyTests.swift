import AccessControl
import Auditing
import Crypto
import Enclave
import ExactNames
import Foundation
import GRDB
import KeySlots
import OstiaryMessages
import OwnerKeys
import Owners
import PromptProtocol
import StoreTestSupport
import Testing
import Vault

@testable import Broker
@testable import BrokerTestSupport
@testable import Diagnosis
@testable import ProtectedObjects
@testable import Refusals
@testable import Sessions

/// Keys of the enclave that back no right.
@Suite("Enclave keys")
struct EnclaveKeyTests {
    private static let mlDSA = "algid:sign:ML-DSA:message"
    private static let mlDSAInContext = "algid:sign:ML-DSA:message:context"
    private static let ecdsa = "algid:sign:ECDSA:digest-X962:SHA256"
    private static let kinds: [WireKeyKind] = [.p256, .mlKem768, .mlKem1024, .mlDsa65, .mlDsa87]
    private static let open = AccessControl(availability: .whenUnlocked, using: .unrestricted)
    /// Permits deleting to nobody.
    private static var signOnly: AccessControl {
        get throws { try AccessControl(availability: .always, requirements: [.sign: .unrestricted]) }
    }
    private static var bound: AccessControl {
        get throws { try AccessControl(availability: .whenUnlocked, using: .passcode) }
    }

    private let fixture: BrokerFixture
    private let client: TestClient

    init() throws {
        fixture = try BrokerFixture()
        client = try fixture.client()
    }

    /// Authorizes a key in a new context.
    private func authorized(_ key: WireKey, keepingFactors: Bool = false) throws -> UInt64 {
        let context = try client.openContext(keepingFactors: keepingFactors)
        try client.authorize(rightID: key.keyID, in: context)
        return context
    }

    /// Whether the key does in `context` what its kind is for.
    private func works(_ key: WireKey, in context: UInt64) throws -> Bool {
        let message = Data("a message".utf8)
        switch key.kind {
        case .p256:
            let right = WireRight.with { ($0.rightID, $0.publicKey) = (key.keyID, key.publicKey) }
            return try client.sign(right, in: context) && client.exchange(right, in: context)
        case .mlKem768:
            let made = try MLKEM768.PublicKey(rawRepresentation: key.publicKey).encapsulate()
            let secret = made.sharedSecret.withUnsafeBytes { Data($0) }
            return try client.decapsulate(made.encapsulated, with: key, in: context) == secret
        case .mlKem1024:
            let made = try MLKEM1024.PublicKey(rawRepresentation: key.publicKey).encapsulate()
            let secret = made.sharedSecret.withUnsafeBytes { Data($0) }
            return try client.decapsulate(made.encapsulated, with: key, in: context) == secret
        case .mlDsa65:
            return try MLDSA65.PublicKey(rawRepresentation: key.publicKey)
                .isValidSignature(client.sign(message, Self.mlDSA, with: key, in: context), for: message)
        case .mlDsa87:
            return try MLDSA87.PublicKey(rawRepresentation: key.publicKey)
                .isValidSignature(client.sign(message, Self.mlDSA, with: key, in: context), for: message)
        default: return false
        }
    }

    // MARK: use

    @Test(arguments: kinds) func `a key does what its kind is for, once it was authorized, after a restart too`(
        kind: WireKeyKind
    ) throws {
        let key = try client.createKey(kind, Self.open)
        #expect(key.kind == kind && key.shownAccessControl == Data("shown".utf8) && key.enclaveKind == "software")
        #expect(try client.findKey(key.keyID) == key)
        #expect(try refusal { _ = try works(key, in: client.openContext()) } == .notAuthorized)
        let context = try authorized(key)
        #expect(try works(key, in: context))
        #expect(try refusal { _ = try works(key, in: client.openContext()) } == .notAuthorized)
        try fixture.restart()
        let again = try EnclaveKeyTests(fixture)
        #expect(try again.works(key, in: again.authorized(key)))
    }

    private init(_ fixture: BrokerFixture) throws {
        self.fixture = fixture
        client = try fixture.client()
    }

    @Test(arguments: kinds) func `a key does nothing that its kind is not for`(kind: WireKeyKind) throws {
        let key = try client.createKey(kind, Self.open)
        let context = try authorized(key)
        let digest = Data(SHA256.hash(data: Data()))
        let right = WireRight.with { ($0.rightID, $0.publicKey) = (key.keyID, key.publicKey) }
        let exchange = WireExchangeRequest.with {
            ($0.contextID, $0.rightID, $0.algorithm) = (context, key.keyID, "algid:keyexchange:ECDH")
            $0.peerPublicKey = P256.KeyAgreement.PrivateKey().publicKey.x963Representation
        }
        if kind != .p256 {
            #expect(
                try refusal { _ = try client.sign(digest, Self.ecdsa, with: key, in: context) } == .unsupportedAlgorithm
            )
            #expect(try refusal { try client.call(.exchange(exchange)) } == .unsupportedAlgorithm)
        }
        if ![.mlDsa65, .mlDsa87].contains(kind) {
            #expect(
                try refusal { _ = try client.sign(digest, Self.mlDSA, with: key, in: context) } == .unsupportedAlgorithm
            )
        }
        let sizes = [WireKeyKind.mlKem768: 1088, .mlKem1024: 1568]
        if let size = sizes[kind] {
            for wrong in [0, size - 1, size + 1, 4096] {
                #expect(
                    try refusal { _ = try client.decapsulate(Data(count: wrong), with: key, in: context) }
                        == .invalidParameter)
            }
        } else {
            #expect(
                try refusal { _ = try client.decapsulate(Data(count: 1088), with: key, in: context) }
                    == .unsupportedAlgorithm)
        }
        #expect(try refusal { _ = try client.secret(of: right, in: context) } == .noSecret)
        #expect(try refusal { _ = try client.decapsulate(Data(count: 4097), with: key, in: context) } == .tooLarge)
    }

    @Test func `ML-DSA signs for a context`() throws {
        let (message, context) = (Data("a message".utf8), Data("of this kind".utf8))
        let key = try client.createKey(.mlDsa65, Self.open)
        let authorized = try authorized(key)
        let publicKey = try MLDSA65.PublicKey(rawRepresentation: key.publicKey)
        let signature = try client.sign(message, Self.mlDSAInContext, for: context, with: key, in: authorized)
        #expect(publicKey.isValidSignature(signature, for: message, context: context))
        #expect(!publicKey.isValidSignature(signature, for: message))
        let none = try client.sign(message, Self.mlDSAInContext, with: key, in: authorized)
        #expect(publicKey.isValidSignature(none, for: message))
        let longest = Data(count: 255)
        let last = try client.sign(message, Self.mlDSAInContext, for: longest, with: key, in: authorized)
        #expect(publicKey.isValidSignature(last, for: message, context: longest))
        #expect(
            try refusal {
                _ = try client.sign(message, Self.mlDSAInContext, for: longest + [0], with: key, in: authorized)
            } == .invalidParameter)
    }

    @Test(arguments: kinds) func `a context that cannot be signed for is refused and never left out`(
        kind: WireKeyKind
    ) throws {
        let key = try client.createKey(kind, Self.open)
        let authorized = try authorized(key)
        for (algorithm, input) in [(Self.mlDSA, Data("message".utf8)), (Self.ecdsa, Data(count: 32)), ("", Data())] {
            let code = try refusal {
                _ = try client.sign(input, algorithm, for: Data([1]), with: key, in: authorized)
            }
            #expect(code == .invalidParameter, "\(algorithm)")
        }
        guard ![.mlDsa65, .mlDsa87].contains(kind) else { return }
        for context in [Data(), Data([1])] {
            let code = try refusal {
                _ = try client.sign(Data(count: 32), Self.mlDSAInContext, for: context, with: key, in: authorized)
            }
            #expect(code == .unsupportedAlgorithm)
        }
    }

    @Test func `only what the access control permits is done`() throws {
        let signOnly = try AccessControl(availability: .whenUnlocked, requirements: [.sign: .unrestricted])
        let key = try client.createKey(.mlKem768, signOnly)
        let context = try authorized(key)
        let made = try MLKEM768.PublicKey(rawRepresentation: key.publicKey).encapsulate()
        #expect(
            try refusal { _ = try client.decapsulate(made.encapsulated, with: key, in: context) }
                == .operationNotPermitted)
        #expect(try refusal { try client.removeKey(key.keyID) } == .operationNotPermitted)
        #expect(try client.findKey(key.keyID) == key)
    }

    @Test func `a context that keeps factors asks once for several keys`() throws {
        try fixture.setPasscode()
        let keys = try [.p256, .mlDsa65].map { try client.createKey($0, Self.bound) }
        fixture.prompter.prepare([.text(BrokerFixture.passcode)])
        let context = try authorized(keys[0], keepingFactors: true)
        try client.authorize(rightID: keys[1].keyID, in: context)
        #expect(fixture.prompter.askedKinds == [.enterPasscode])
        for key in keys { #expect(try works(key, in: context)) }
        try client.lock()
        for key in keys { #expect(try refusal { _ = try works(key, in: context) } == .notAuthorized) }
    }

    @Test func `an application password may come from the context, and opens only the key it was chosen for`() throws {
        let rule = try AccessControl(availability: .always, using: Requirement(anyOf: [.applicationPassword]))
        let context = try client.openContext()
        #expect(try refusal { _ = try client.createKey(.p256, rule, in: context, asking: false) } == .notInteractive)
        try client.setApplicationPassword("1234", in: context)
        let key = try client.createKey(.p256, rule, in: context, asking: false)
        try client.authorize(rightID: key.keyID, in: context)
        #expect(try works(key, in: context))
        let other = try client.openContext()
        try client.setApplicationPassword("1235", in: other)
        #expect(try refusal { try client.authorize(rightID: key.keyID, in: other) } == .authenticationFailed)
        #expect(fixture.prompter.asked.isEmpty)
    }

    // MARK: what is not made

    @Test func `what is refused is not made`() throws {
        #expect(try refusal { _ = try client.createKey(.unspecified, Self.open) } == .invalidParameter)
        #expect(try refusal { _ = try client.createKey(.UNRECOGNIZED(6), Self.open) } == .invalidParameter)
        #expect(try refusal { _ = try client.createKey(.UNRECOGNIZED(257), Self.open) } == .invalidParameter)
        #expect(try refusal { _ = try client.createKey(.p256, Self.bound) } == .passcodeNotSet)
        #expect(try refusal { _ = try client.createKey(.p256, Self.open, in: 99) } == .unknownContext)
        let finger = try AccessControl(availability: .always, using: Requirement(anyOf: [.biometry]))
        #expect(try refusal { _ = try client.createKey(.p256, finger) } == .passcodeNotSet)
        var request = WireCreateKeyRequest.with {
            $0.kind = .p256
            $0.accessControl = Data([9])
        }
        #expect(try refusal { try client.call(.createKey(request)) } == .invalidRule)
        request.accessControl = Data(Self.open.canonicalBytes)
        request.shownAccessControl = Data(count: ItemRequestLimits.shownAccessControlByteCount + 1)
        #expect(try refusal { try client.call(.createKey(request)) } == .tooLarge)
        let keys = try fixture.broker.vault.read { try $0.objects(owner: fixture.account.id, kind: .enclaveKey) }
        #expect(keys.isEmpty)
    }

    @Test(arguments: [WireKeyKind.mlKem768, .mlKem1024, .mlDsa65, .mlDsa87], [false, true])
    func `an enclave that cannot make a kind of key says so, and no other key is made instead`(
        kind: WireKeyKind, awaitsItem: Bool
    ) throws {
        let fixture = try BrokerFixture(around: PlainEnclave.init)
        let client = try fixture.client()
        do {
            _ = try client.createKey(kind, Self.open, awaitsItem: awaitsItem)
            Issue.record("a key was made")
        } catch let refused as Refused {
            #expect(refused.code == .unsupportedAlgorithm && refused.cause == "key.type")
        }
        func stored() throws -> Int {
            try fixture.broker.vault.read { try $0.objects(owner: fixture.account.id, kind: .enclaveKey).count }
        }
        #expect(try stored() == 0)
        #expect(try client.log().allSatisfy { $0.event != "key-create" })
        #expect(try client.createKey(.p256, Self.open).kind == .p256)
        #expect(try stored() == 1)
    }

    private func draft(of group: ExactName) throws -> ObjectRecord {
        try fixture.account.rights.prepare(.key(.p256, in: group, Self.open, shown: Data(), applicationPassword: nil))
    }

    @Test func `each program keeps so many keys, and all of them so many`() throws {
        var store = fixture.account.rights
        store.limits = ObjectLimits(keyCount: 4, keyCountOfGroup: 2)
        for group in ["a", "a", "b"] as [ExactName] { _ = try store.store(draft(of: group), replacing: false) }
        #expect(throws: (any Error).self) { try store.store(draft(of: "a"), replacing: false) }
        do { _ = try store.store(draft(of: "a"), replacing: false) } catch let refused as Refusal {
            #expect(refused.code == .tooMany && refused.cause == "key.too-many")
        }
        _ = try store.store(draft(of: "b"), replacing: false)
        do {
            _ = try store.store(draft(of: "c"), replacing: false)
            Issue.record("more than all may keep")
        } catch let refused as Refusal { #expect(refused.code == .tooMany && refused.cause == "store.too-many") }
        // Rights are counted by themselves.
        try client.create("right", Self.open)
    }

    // MARK: whose it is

    @Test func `a key of another group does not exist for a program`() throws {
        let foreign = try draft(of: "another program")
        _ = try fixture.account.rights.store(foreign, replacing: false)
        let id = foreign.id.bytes
        #expect(try refusal { _ = try client.findKey(id) } == .notFound)
        #expect(try refusal { try client.removeKey(id) } == .notFound)
        #expect(try refusal { try client.authorize(rightID: id, in: client.openContext()) } == .notFound)
        #expect(try fixture.broker.vault.read { try $0.object(foreign.id, owner: fixture.account.id) } != nil)
    }

    @Test func `a key is no right, and a right no key`() throws {
        let key = try client.createKey(.p256, Self.open)
        let right = try client.create("right", Self.open)
        let hexadecimal = key.keyID.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        #expect(try refusal { _ = try client.find(hexadecimal) } == .notFound)
        #expect(try refusal { try client.remove(hexadecimal) } == .notFound)
        #expect(try refusal { try client.call(.removeRight(.with { $0.which = .rightID(key.keyID) })) } == .notFound)
        #expect(try refusal { _ = try client.findKey(right.rightID) } == .notFound)
        #expect(try refusal { try client.removeKey(right.rightID) } == .notFound)
        #expect(try client.list() == [right])
        try client.removeAll()
        #expect(try client.findKey(key.keyID) == key)
        for id in [Data(), Data(count: 15), Data(count: 16)] {
            #expect(try refusal { _ = try client.findKey(id) } == .notFound)
        }
    }

    @Test func `removing a key ends the grants on it`() throws {
        let key = try client.createKey(.p256, Self.open)
        let context = try authorized(key)
        try client.removeKey(key.keyID)
        #expect(try refusal { _ = try works(key, in: context) } == .notAuthorized)
        #expect(try refusal { _ = try client.findKey(key.keyID) } == .notFound)
        #expect(try refusal { try client.removeKey(key.keyID) } == .notFound)
        let events = try client.log().map { "\($0.event) \($0.result)" }
        #expect(events.contains("key-create done") && events.contains("key-remove done"))
    }

    // MARK: the items that stand for it

    /// Adds an item of the key; the tag tells it apart from others of the key.
    @discardableResult
    private func addItem(of key: WireKey, _ tag: String, _ more: ItemValues = [:]) throws -> WireItem {
        let values: ItemValues = ["atag": .text(tag), "tkid": .text("com.apple.setoken"), "pdmn": .text("dk")]
        return try client.addItem("keys", values.merging(more) { $1 }, data: nil, keyID: key.keyID)
    }

    private func query(_ tag: String) -> WireItemQuery { TestClient.query("keys", ["atag": .text(tag)]) }

    @Test func `a key goes with the last of the items that stand for it`() throws {
        let key = try client.createKey(.p256, Self.open)
        for tag in ["one", "two"] { try addItem(of: key, tag) }
        let context = try authorized(key)
        #expect(try client.deleteItems(query("one")) == 1)
        #expect(try client.findKey(key.keyID) == key)
        #expect(try works(key, in: context), "another item stands for it")
        #expect(try client.deleteItems(query("two")) == 1)
        #expect(try refusal { _ = try client.findKey(key.keyID) } == .notFound)
        #expect(try refusal { _ = try works(key, in: context) } == .notAuthorized)
        #expect(try client.log().filter { $0.event == "key-remove" }.count == 1)
    }

    @Test func `a key goes with all of its items at once, and takes no other along`() throws {
        let (key, other) = (try client.createKey(.p256, Self.open), try client.createKey(.p256, Self.open))
        for tag in ["one", "two"] { try addItem(of: key, tag) }
        try addItem(of: other, "other", ["labl": .text("stays")])
        try client.addItem("keys", ["atag": .text("software"), "labl": .text("stays")])
        try client.updateItems(query("one"), ["labl": .text("goes")])
        try client.updateItems(query("two"), ["labl": .text("goes")])
        #expect(try client.deleteItems(TestClient.query("keys", ["labl": .text("goes")])) == 2)
        #expect(try refusal { _ = try client.findKey(key.keyID) } == .notFound)
        #expect(try client.findKey(other.keyID) == other)
        #expect(try client.log().filter { $0.event == "key-remove" }.count == 1)
    }

    @Test func `the items of a key that may not be deleted stay with it`() throws {
        let key = try client.createKey(.p256, Self.signOnly)
        for tag in ["one", "two"] { try addItem(of: key, tag) }
        // The key's access control is the item's, too.
        #expect(try refusal { try client.deleteItems(query("one")) } == .operationNotPermitted)
        #expect(try client.findItems(TestClient.query("keys"), data: false).count == 2)
        #expect(try client.findKey(key.keyID) == key)
    }

    @Test func `the item of a key is not synchronizable, neither when it is added nor later`() throws {
        let key = try client.createKey(.p256, Self.open)
        let refused = try refusal { try addItem(of: key, "one", ["sync": .number(1)]) }
        #expect(refused == .invalidParameter)
        try addItem(of: key, "one", ["sync": .number(0)])
        #expect(try refusal { try client.updateItems(query("one"), ["sync": .number(1)]) } == .invalidParameter)
        try client.updateItems(query("one"), ["sync": .number(0), "labl": .text("changed")])
        try client.addItem("keys", ["atag": .text("software"), "sync": .number(1)])
    }

    // MARK: all keys of the owner

    @Test func `the owner sees the keys of every program, and which of them have an item`() throws {
        let own = try client.createKey(.mlDsa65, Self.open)
        let foreign = try draft(of: "another program")
        _ = try fixture.account.rights.store(foreign, replacing: false)
        try client.create("right", Self.open)
        let named = try client.createKey(.p256, Self.open)
        try addItem(of: named, "one")
        let listed = try client.listKeys()
        #expect(Set(listed.map(\.key.keyID)) == [own.keyID, foreign.id.bytes, named.keyID])
        for key in listed {
            #expect(key.hasItem_p == (key.key.keyID == named.keyID))
            let isForeign = key.key.keyID == foreign.id.bytes
            #expect(key.accessGroup == (isForeign ? "another program" : try client.status().caller.program))
            #expect(abs(key.createdAt - Date().timeIntervalSince1970) < 600 && !key.key.publicKey.isEmpty)
            #expect(key.key.shownAccessControl.isEmpty)
        }
        #expect(listed.map(\.key.kind).contains(.mlDsa65))
    }

    @Test func `the list of all keys comes in pages`() throws {
        let store = fixture.account.rights
        let ids = try (0..<60).map { number in
            let record = try draft(of: "program \(number % 3)")
            _ = try store.store(record, replacing: false)
            return record.id.bytes
        }
        let listed = try client.listKeys()
        #expect(Set(listed.map(\.key.keyID)) == Set(ids) && listed.count == 60)
        #expect(listed.map(\.key.keyID) == ids.sorted { $0.lexicographicallyPrecedes($1) })
    }

    @Test func `the key of another program is removed with its items once the owner said so`() throws {
        let key = try client.createKey(.p256, Self.open)
        for tag in ["one", "two"] { try addItem(of: key, tag) }
        try client.addItem("keys", ["atag": .text("software")])
        let context = try authorized(key)
        fixture.prompter.prepare([.cancel])
        #expect(try refusal { try client.removeKeyOfAnyGroup(key.keyID) } == .userCancel)
        #expect(try works(key, in: context))
        fixture.prompter.prepare([.confirm])
        try client.removeKeyOfAnyGroup(key.keyID)
        let shown = try #require(fixture.prompter.asked.first?.object?.string)
        #expect(shown.contains("\(VaultID(bytes: key.keyID)!)"), "\(shown)")
        #expect(try refusal { _ = try works(key, in: context) } == .notAuthorized)
        #expect(try client.findItems(TestClient.query("keys")).map { $0.item.values["atag"] } == [.text("software")])
        #expect(try client.listKeys().isEmpty)
        let removals = try client.log().filter { $0.event == "key-remove" }.map(\.result)
        #expect(removals == ["refused", "begun", "done"])
        let items = try client.log().filter { $0.event == "item-delete" }
        #expect(items.map(\.object) == ["2 items"] && items.map(\.operation) == ["key-remove"])
    }

    @Test func `with a passcode the owner proves it before the key of another program goes`() throws {
        try fixture.setPasscode()
        let foreign = try draft(of: "another program")
        _ = try fixture.account.rights.store(foreign, replacing: false)
        let id = foreign.id.bytes
        #expect(try refusal { try client.removeKeyOfAnyGroup(id, interactive: false) } == .notInteractive)
        fixture.prompter.prepare(Array(repeating: .text("wrong"), count: 3))
        #expect(try refusal { try client.removeKeyOfAnyGroup(id) } == .authenticationFailed)
        #expect(try client.listKeys().map(\.accessGroup) == ["another program"])
        fixture.prompter.prepare([.text(BrokerFixture.passcode)])
        try client.removeKeyOfAnyGroup(id)
        #expect(try client.listKeys().isEmpty)
    }

    @Test func `nobody is asked about what is no key or may not be removed`() throws {
        let right = try client.create("right", Self.open)
        let kept = try client.createKey(.p256, Self.signOnly)
        fixture.prompter.prepare([.confirm, .confirm])
        for id in [Data(), Data(count: 16), right.rightID] {
            #expect(try refusal { try client.removeKeyOfAnyGroup(id) } == .notFound)
        }
        #expect(try refusal { try client.removeKeyOfAnyGroup(kept.keyID) } == .operationNotPermitted)
        #expect(fixture.prompter.asked.isEmpty)
        #expect(try client.list() == [right] && client.findKey(kept.keyID) == kept)
    }

    @Test func `doctor counts keys, and warns before a program may make no more`() throws {
        func finding() throws -> WireFinding {
            try #require(
                fixture.broker.diagnosis(for: fixture.account, as: .daemon).findings.first { $0.check == "keys" })
        }
        #expect(try finding().message == "0 keys of the enclave, 0 of them without an item.")
        let key = try client.createKey(.p256, Self.open)
        try addItem(of: key, "one")
        _ = try client.createKey(.p256, Self.open)
        let two = try finding()
        #expect(two.verdict == .ok && two.message == "2 keys of the enclave, 1 of them without an item.")
        let full = StoreExamination(
            vault: fixture.broker.vault, account: fixture.account,
            callerLines: fixture.broker.store.log.callerLines, requester: .daemon, isOfSeveral: false
        ).keyFinding(limit: 2)
        #expect(full.verdict == .notice && full.advice.contains("ostiary key prune"))
    }

    @Test func `counting keys reads no row of them`() throws {
        var store = fixture.account.rights
        store.limits = ObjectLimits(keyCountOfGroup: 2)
        let (vault, owner) = (fixture.broker.vault, fixture.account.id)
        func counts() throws -> [Int] {
            try vault.read { reader in
                try (["a", "b", "c"] as [ExactName]).map {
                    try reader.objectCount(owner: owner, kind: .enclaveKey, group: $0)
                }
            }
        }
        for group in ["a", "a", "b"] as [ExactName] { _ = try store.store(draft(of: group), replacing: false) }
        let database = try DatabaseQueue(path: "\(fixture.stateDirectory)/vault.sqlite")
        try database.write { try $0.execute(sql: "UPDATE objects SET mac = zeroblob(32)") }
        #expect(try counts() == [2, 1, 0])
        #expect(throws: Refusal.self) { try store.store(draft(of: "a"), replacing: false) }
        let third = try draft(of: "c")
        _ = try store.store(third, replacing: false)
        #expect(try counts() == [2, 1, 1])
        try store.remove(third.id)
        #expect(try counts() == [2, 1, 0])
        #expect(try store.list(application: nil, as: .daemon).compactMap(\.unreadable).count == 3)
    }

    // MARK: the passcode's life

    @Test(arguments: kinds) func `keys live with the passcode as rights do`(kind: WireKeyKind) throws {
        let free = try client.createKey(kind, Self.open)
        try fixture.setPasscode()
        let bound = try client.createKey(kind, Self.bound)
        try fixture.changePasscode(to: "another battery 8")
        try client.lock()
        fixture.prompter.prepare([.text(BrokerFixture.passcode), .text("another battery 8")])
        let context = try authorized(bound)
        #expect(try works(bound, in: context))
        #expect(try works(free, in: authorized(free)))

        fixture.prompter.prepare([.text("another battery 8"), .confirm])
        try client.passcode(.remove)
        let warning = "\(try #require(fixture.prompter.askedKinds.last))"
        #expect(warning.contains("1 enclave key") && !warning.contains("right"))
        #expect(try refusal { _ = try works(bound, in: context) } == .notAuthorized)
        #expect(try refusal { _ = try client.findKey(bound.keyID) } == .notFound)
        #expect(try works(free, in: authorized(free)))
        #expect(try client.log().contains { $0.event == "remove" && $0.operation == "passcode-remove" })
    }
}
