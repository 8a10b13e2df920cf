import AccessControl
import Enclave
import ExactNames
import Foundation
import OstiaryMessages
import Owners
import PromptProtocol
import StoreTestSupport
import Testing
import Vault

@testable import Broker
@testable import BrokerTestSupport
@testable import ProtectedObjects
@testable import Refusals

/// Keys that no item refers to: shown by group, and destroyed with the owner's word.
@Suite("Keys without an item")
struct UnusedKeyTests {
    private static let open = AccessControl(availability: .whenUnlocked, using: .unrestricted)
    private static let ecdsa = "algid:sign:ECDSA:digest-X962:SHA256"

    private let fixture: BrokerFixture
    private let client: TestClient
    /// This program's group.
    private let group: String

    init() throws {
        fixture = try BrokerFixture()
        client = try fixture.client()
        group = try client.status().caller.program
    }

    private func makeKeys(_ count: Int) throws -> [WireKey] {
        try (0..<count).map { _ in try client.createKey(.p256, Self.open) }
    }

    @discardableResult
    private func addItem(of key: WireKey, by other: TestClient? = nil) throws -> WireItem {
        try (other ?? client).addItem(
            "keys", ["atag": .text("tag"), "tkid": .text("com.apple.setoken"), "pdmn": .text("dk")], data: nil,
            keyID: key.keyID)
    }

    /// A key of another program.
    private func makeForeignKey(in group: ExactName, created: UInt64? = nil) throws -> VaultID {
        let rights = fixture.account.rights
        let made = try rights.prepare(.key(.p256, in: group, Self.open, shown: Data(), applicationPassword: nil))
        guard let created else {
            _ = try rights.store(made, replacing: false)
            return made.id
        }
        let attributes = ObjectAttributes(
            group: group, identifier: made.attributes.identifier, created: created, flags: made.attributes.flags)
        let old = ObjectRecord(
            id: made.id, owner: made.owner, kind: made.kind, suite: made.suite, attributes: attributes,
            accessControl: made.accessControl, enclaveKind: made.enclaveKind, publicKey: made.publicKey,
            keyBlob: made.keyBlob, payload: nil, slots: made.slots)
        _ = try rights.store(old, replacing: false)
        return old.id
    }

    private func isThere(_ key: WireKey) throws -> Bool { try refusal { _ = try client.findKey(key.keyID) } == nil }

    private func sign(_ key: WireKey, in context: UInt64) throws {
        _ = try client.sign(Data(count: 32), Self.ecdsa, with: key, in: context)
    }

    private func events(_ name: String) throws -> [WireLogRecord] { try client.log().filter { $0.event == name } }

    // MARK: showing

    @Test func `are shown by group, with their number and age, and nobody is asked`() throws {
        _ = try makeKeys(3)
        try addItem(of: client.createKey(.p256, Self.open))
        _ = try makeForeignKey(in: "another program", created: 1_000_000)
        _ = try makeForeignKey(in: "another program", created: 2_000_000)
        try client.create("a right", Self.open)
        let groups = try client.unusedKeys()
        #expect(groups.map(\.accessGroup) == [group, "another program"].sorted())
        let own = try #require(groups.first { $0.accessGroup == group })
        #expect(own.keyCount == 3 && own.unusedCount == 3 && own.lastUse == nil)
        #expect(abs(try #require(own.newest) - Date().timeIntervalSince1970) < 600)
        let foreign = try #require(groups.first { $0.accessGroup == "another program" })
        #expect(foreign.keyCount == 2 && foreign.oldest == 1_000_000 && foreign.newest == 2_000_000)
        #expect(try client.unusedKeys(group: "another program") == [foreign])
        #expect(try client.unusedKeys(group: "no such group").isEmpty)
        #expect(fixture.prompter.asked.isEmpty)
        #expect(try client.listKeys().count == 6)
    }

    @Test func `that are open, were made or used lately, or may not be deleted are not unused`() throws {
        let keys = try makeKeys(3)
        let signOnly = try AccessControl(availability: .always, requirements: [.sign: .unrestricted])
        _ = try client.createKey(.p256, signOnly)
        _ = try makeForeignKey(in: ExactName(group), created: 1_000_000)
        let context = try client.openContext()
        try client.authorize(rightID: keys[0].keyID, in: context)
        var own = try client.unusedKeys()[0]
        #expect(own.keyCount == 5 && own.unusedCount == 3)
        // Of this group one key alone was made before then.
        own = try client.unusedKeys(since: 1_000_000)[0]
        #expect(own.keyCount == 5 && own.unusedCount == 1 && own.oldest == own.newest)
        #expect(try client.unusedKeys(since: 999_999)[0].unusedCount == 0)

        try sign(keys[0], in: context)
        try client.close(context)
        own = try client.unusedKeys()[0]
        #expect(own.unusedCount == 4)
        #expect(abs(try #require(own.lastUse) - Date().timeIntervalSince1970) < 600)
    }

    @Test func `come in pages of groups`() throws {
        for number in 0..<60 { _ = try makeForeignKey(in: "program \(number)") }
        var (groups, page): ([WireUnusedKeyGroup], Int) = ([], 0)
        repeat {
            let request = WirePruneKeysRequest.with { $0.offset = UInt32(groups.count) }
            guard case .unusedKeys(let keys) = try client.call(.pruneKeys(request)).body else {
                throw TestClient.UnexpectedAnswer()
            }
            #expect(keys.total == 60)
            page = keys.groups.count
            groups += keys.groups
        } while page > 0
        #expect(groups.count == 60 && groups.map(\.accessGroup) == groups.map(\.accessGroup).sorted())
    }

    @Test(arguments: [-1, .infinity, .nan, -.infinity] as [Double])
    func `a time that is none is refused`(time: Double) throws {
        #expect(try refusal { _ = try client.unusedKeys(since: time) } == .invalidParameter)
    }

    // MARK: removing

    @Test func `nobody is asked about a group that does not fit into the prompt`() throws {
        let group = String(repeating: "g", count: 300)
        _ = try makeForeignKey(in: ExactName(group))
        let refused = #expect(throws: Refused.self) { _ = try client.removeUnusedKeys(group: group) }
        #expect(refused?.code == .invalidParameter && refused?.cause == "name.unshowable")
        #expect(fixture.prompter.asked.isEmpty)
    }

    @Test func `are destroyed once the owner said so, in one group, and each is recorded`() throws {
        try fixture.setPasscode()
        let keys = try makeKeys(150)
        let named = try client.createKey(.p256, Self.open)
        try addItem(of: named)
        let foreign = try makeForeignKey(in: "another program")
        fixture.prompter.prepare([.text(BrokerFixture.passcode)])
        #expect(try client.removeUnusedKeys(group: group) == 150)
        #expect(fixture.prompter.askedKinds == [.enterPasscode])
        let question = try #require(fixture.prompter.asked.first)
        #expect(question.operation.string == "destroy 150 keys of the enclave for good")
        #expect(question.object?.string.contains(group) == true)
        #expect(question.consequence?.string.contains("handle") == true)
        #expect(try Set(client.listKeys().map(\.key.keyID)) == [named.keyID, foreign.bytes])
        let removals = try events("key-remove")
        #expect(Set(removals.map(\.object)) == Set(keys.map { "\(VaultID(bytes: $0.keyID)!)" }))
        #expect(removals.allSatisfy { $0.operation == "keys-prune" && $0.result == "done" })
        let prunes = try events("keys-prune")
        #expect(prunes.map(\.result) == ["begun", "done"])
        #expect(prunes.allSatisfy { $0.object == group && $0.operation == "150 keys" })
        try fixture.restart()
        #expect(try fixture.client().listKeys().count == 2)
        let findings = try fixture.client().diagnosis().findings.filter { ["store", "keys"].contains($0.check) }
        #expect(findings.map(\.verdict) == [.ok, .ok])
    }

    @Test func `stay when the owner cancels or mistypes, and nothing but the refusal is recorded`() throws {
        try fixture.setPasscode()
        let keys = try makeKeys(2)
        fixture.prompter.prepare([.cancel])
        #expect(try refusal { try client.removeUnusedKeys(group: group) } == .userCancel)
        fixture.prompter.prepare([.nobody])
        #expect(try refusal { try client.removeUnusedKeys(group: group) } == .notInteractive)
        let wrong = ScriptedPrompter.Answer.text("wrong")
        fixture.prompter.prepare([wrong, wrong, wrong])
        #expect(try refusal { try client.removeUnusedKeys(group: group) } == .authenticationFailed)
        for key in keys { #expect(try isThere(key)) }
        #expect(try events("key-remove").isEmpty)
        #expect(try events("keys-prune").allSatisfy { $0.result == "refused" })
    }

    @Test func `without a passcode the owner confirms`() throws {
        _ = try makeKeys(1)
        fixture.prompter.prepare([.cancel])
        #expect(try refusal { try client.removeUnusedKeys(group: group) } == .userCancel)
        fixture.prompter.prepare([.confirm])
        #expect(try client.removeUnusedKeys(group: group) == 1)
        #expect(fixture.prompter.asked.first?.operation.string == "destroy 1 key of the enclave for good")
    }

    @Test func `stay when the store is locked while the owner is asked`() throws {
        try fixture.setPasscode()
        let keys = try makeKeys(2)
        fixture.prompter.prepare([.wait])
        nonisolated(unsafe) let other = try fixture.client()
        fixture.prompter.duringNextQuestion { try? other.lock() }
        #expect(try refusal { try client.removeUnusedKeys(group: group) } != nil)
        for key in keys { #expect(try isThere(key)) }
        // Afterwards the passcode that the question asks for opens the store, too.
        fixture.prompter.prepare([.text(BrokerFixture.passcode)])
        #expect(try client.removeUnusedKeys(group: group) == 2)
    }

    @Test func `of no group, of a group without any, and of one that no prompt can show`() throws {
        _ = try makeKeys(1)
        #expect(try refusal { try client.removeUnusedKeys(group: "") } == .invalidParameter)
        #expect(try client.removeUnusedKeys(group: "another program") == 0)
        let long = String(repeating: "g", count: 4000)
        _ = try makeForeignKey(in: ExactName(long))
        #expect(try refusal { try client.removeUnusedKeys(group: long) } == .invalidParameter)
        #expect(fixture.prompter.asked.isEmpty)
        #expect(try client.listKeys().count == 2)
    }

    @Test func `that are used, opened, named by an item or made while the owner is asked stay`() throws {
        let keys = try makeKeys(5)
        nonisolated(unsafe) let other = try fixture.client()
        let context = try other.openContext()
        try other.authorize(rightID: keys[0].keyID, in: context)
        let (opened, used, named) = (keys[1], keys[2], keys[3])
        nonisolated(unsafe) let test = self
        fixture.prompter.prepare([.confirm])
        fixture.prompter.duringNextQuestion {
            do {
                for key in [opened, used] {
                    let context = try other.openContext()
                    try other.authorize(rightID: key.keyID, in: context)
                    if key == used { try other.close(context) }
                }
                try test.addItem(of: named, by: other)
                _ = try other.createKey(.p256, Self.open)
            } catch { Issue.record(error) }
        }
        #expect(try client.removeUnusedKeys(group: group) == 1)
        // The first is open in a program already when the owner is asked.
        #expect(fixture.prompter.asked.first?.operation.string.contains("4 keys") == true)
        for key in [keys[0], opened, used, named] { #expect(try isThere(key)) }
        #expect(try !isThere(keys[4]))
        #expect(try client.listKeys().count == 5)
    }

    @Test func `the reply to one that was removed under a running authorization is a refusal`() throws {
        try fixture.setPasscode()
        let bound = try AccessControl(availability: .whenUnlocked, using: .passcode)
        let key = try client.createKey(.p256, bound)
        nonisolated(unsafe) let other = try fixture.client()
        fixture.prompter.prepare([.text(BrokerFixture.passcode), .text(BrokerFixture.passcode)])
        let group = group
        fixture.prompter.duringNextQuestion { _ = try? other.removeUnusedKeys(group: group) }
        let context = try client.openContext()
        #expect(try refusal { try client.authorize(rightID: key.keyID, in: context) } == .notFound)
        #expect(try !isThere(key))
    }

    // MARK: many

    @Test func `a group may have so many of them, and more with items`() throws {
        var store = fixture.account.rights
        store.limits = ObjectLimits(keyCountOfGroup: 3)
        func cause() -> String? {
            do {
                let record = try store.prepare(
                    .key(.p256, in: ExactName(group), Self.open, shown: Data(), applicationPassword: nil))
                _ = try store.store(record, replacing: false)
                return nil
            } catch let refused as Refusal { return refused.cause } catch { return "\(error)" }
        }
        let keys = try makeKeys(3)
        #expect(cause() == "key.too-many")
        try addItem(of: keys[0])
        #expect(cause() == nil)
        #expect(cause() == "key.too-many")
        try client.removeKey(keys[1].keyID)
        #expect(cause() == nil)
        fixture.prompter.prepare([.confirm])
        #expect(try client.removeUnusedKeys(group: group) == 3)
        #expect(cause() == nil)
    }
}
