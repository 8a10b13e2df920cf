import AccessControl
import ExactNames
import Foundation
import KeySlots
import OstiaryMessages
import Owners
import PromptProtocol
import ProtectedObjects
import SecretMemory
import StoreTestSupport
import Synchronization
import TerminalTestSupport
import Testing
import Vault

@testable import Broker
@testable import BrokerTestSupport
@testable import OwnerKeys
@testable import Refusals

@Suite("The life of a passcode")
struct PasscodeLifeTests {
    static let new = "another battery 8"
    let fixture: BrokerFixture

    init() throws { fixture = try BrokerFixture() }

    /// Every small rule in every class: the rights that can exist now.
    private func createAll() throws {
        for availability in AvailabilityClass.allCases {
            for rule in SmallRules.creatable { try fixture.create(name(rule, availability), rule, availability) }
        }
    }

    private func name(_ rule: Requirement, _ availability: AvailabilityClass) -> String { "\(rule) \(availability)" }

    private func answers(_ rule: Requirement, passcode: String?) -> [ScriptedPrompter.Answer] {
        let asksForPassword = rule.factors.contains(.applicationPassword)
        return (passcode.map { [.text($0)] } ?? [])
            + (asksForPassword ? [.text(BrokerFixture.applicationPassword)] : [])
    }

    /// Opens every right that there is, each after a lock, so that each proves all that it needs.
    private func expectAllOpen(passcode: String) throws {
        for availability in AvailabilityClass.allCases {
            for rule in SmallRules.creatable {
                try fixture.client().lock()
                let isAsked =
                    rule.factors.contains(.passcode) || [.whenUnlocked, .whenPasscodeSet].contains(availability)
                #expect(
                    try fixture.opens(
                        name(rule, availability), answers: answers(rule, passcode: isAsked ? passcode : nil)),
                    "\(rule) \(availability)")
            }
        }
    }

    // MARK: none

    @Test func `without a passcode there is nothing to change or remove`() throws {
        let client = try fixture.client()
        #expect(try refusal { try client.passcode(.change) } == .passcodeNotSet)
        #expect(try refusal { try client.passcode(.remove) } == .passcodeNotSet)
        #expect(try refusal { try client.evaluatePolicy(2, in: client.openContext()) } == .passcodeNotSet)
        #expect(fixture.prompter.asked.isEmpty)
    }

    // MARK: set

    @Test func `setting a passcode keeps every right, and closes it`() throws {
        let open = try [Requirement.unrestricted, Requirement(anyOf: [.applicationPassword])]
        let classes: [AvailabilityClass] = [.always, .afterFirstUnlock, .whenUnlocked]
        for availability in classes {
            for rule in open { try fixture.create(name(rule, availability), rule, availability) }
        }
        let before = try fixture.client().list()
        try fixture.setPasscode()
        #expect(try fixture.client().list() == before)
        for availability in classes {
            for rule in open {
                #expect(try fixture.opens(name(rule, availability), answers: answers(rule, passcode: nil)))
            }
        }
        try fixture.restart()
        for availability in classes {
            try fixture.restart()
            for rule in open {
                try fixture.client().lock()
                let isAsked = availability == .whenUnlocked || (availability == .afterFirstUnlock && rule == open[0])
                #expect(
                    try fixture.opens(
                        name(rule, availability),
                        answers: answers(rule, passcode: isAsked ? BrokerFixture.passcode : nil)))
            }
        }
    }

    @Test func `a passcode that is set is not set again`() throws {
        try fixture.setPasscode()
        fixture.prompter.prepare([.text(Self.new), .text(Self.new)])
        #expect(try refusal { try fixture.client().passcode(.set) } == .passcodeAlreadySet)
        #expect(fixture.prompter.asked.isEmpty)
    }

    @Test(arguments: [
        (["short 1", "12345678901", "aaaaaaaaaaaa"], WireFailureCode.passcodeTooWeak),
        (["good enough 1", "good enough 2", "good enough 1", "other", "good enough 1", ""], .passcodeMismatch),
    ])
    func `a weak or mistyped passcode is not set`(entries: [String], code: WireFailureCode) throws {
        fixture.prompter.prepare(entries.map { .text($0) })
        #expect(try refusal { try fixture.client().passcode(.set) } == code)
        #expect(fixture.prompter.unusedAnswers.isEmpty)
        #expect(try !fixture.client().status().passcode.isSet)
    }

    @Test func `the first question tells the rule, and no mistake`() throws {
        fixture.prompter.prepare([.text("short 1"), .text(Self.new), .text(Self.new)])
        try fixture.client().passcode(.set)
        let asked = fixture.prompter.asked
        let rule = "At least 8 characters, not digits alone."
        #expect(asked.map { $0.hint?.string } == [rule, rule, nil])
        #expect(asked.map { $0.notice?.string } == [nil, "A passcode needs at least 8 characters.", nil])
    }

    @Test(arguments: 0...1) func `cancelling leaves no passcode`(answered: Int) throws {
        fixture.prompter.prepare(Array(repeating: .text(Self.new), count: answered) + [.cancel])
        #expect(try refusal { try fixture.client().passcode(.set) } == .userCancel)
        #expect(try !fixture.client().status().passcode.isSet)
    }

    // MARK: change

    @Test func `changing the passcode keeps every right and refuses the old passcode`() throws {
        try fixture.setPasscode()
        try createAll()
        let before = try fixture.client().list()
        try fixture.changePasscode(to: Self.new)
        #expect(try fixture.client().list() == before)
        try expectAllOpen(passcode: Self.new)
        let old = ScriptedPrompter.Answer.text(BrokerFixture.passcode)
        #expect(
            try fixture.refusalOfAuthorizing("passcode always", answers: [old, old, old])?.code == .authenticationFailed
        )
        try fixture.restart()
        try expectAllOpenAfterRestart()
    }

    private func expectAllOpenAfterRestart() throws {
        try fixture.unlock(Self.new)
        try expectAllOpen(passcode: Self.new)
    }

    @Test func `a change leaves one record and new keys for all but the class 'always'`() throws {
        try fixture.setPasscode()
        let before = Set(fixture.account.ring.publicHalves.map(\.encoded))
        try fixture.changePasscode(to: Self.new)
        let after = Set(fixture.account.ring.publicHalves.map(\.encoded))
        #expect(before.count == 6 && after.count == 6)
        #expect(before.intersection(after) == [fixture.account.ring.publicHalf(.classKey(.always))!.encoded])
        let records = try fixture.broker.vault.read { try $0.passcodeRecords(owner: fixture.account.id) }
        #expect(records.compactMap(\.record?.state) == [.current])
    }

    @Test func `a change needs the passcode, and three wrong ones end it`() throws {
        try fixture.setPasscode()
        fixture.prompter.prepare([.text("wrong"), .text("wrong"), .text("wrong"), .text(Self.new), .text(Self.new)])
        #expect(try refusal { try fixture.client().passcode(.change) } == .authenticationFailed)
        #expect(fixture.prompter.askedKinds == [.enterPasscode, .enterPasscode, .enterPasscode])
        try fixture.unlock()
    }

    @Test func `an old copy of the files opens itself with the old passcode, and nothing of the new store`() throws {
        try fixture.setPasscode()
        try createAll()
        let copy = try fixture.crashCopy()
        try fixture.changePasscode(to: Self.new)
        let old = try BrokerFixture(in: copy)
        #expect(
            try old.refusalOfAuthorizing("passcode always", answers: [.text(Self.new), .cancel])?.code == .userCancel)
        #expect(try old.opens("passcode always", answers: [.text(BrokerFixture.passcode)]))
        let proved = try old.account.keeper.prove(SecretBytes(text: BrokerFixture.passcode))
        let halves = try old.account.life.privateHalves(openedBy: proved)
        let opener = StandaloneOpener(halves: halves, applicationPassword: BrokerFixture.applicationPassword)
        for slot in try old.storedSlots() { #expect(opener.opens(slot)) }
        for slot in try fixture.storedSlots() {
            let isFree =
                slot.header.availability == .always
                && slot.slot.factors.isDisjoint(with: [.passcode, .biometry])
            #expect(opener.opens(slot) == isFree, "\(slot.slot.factors) \(slot.header.availability)")
        }
    }

    // MARK: what happens at the same time

    @Test func `a passcode that is changed while it is asked for is refused, the new one opens`() throws {
        try fixture.setPasscode()
        try fixture.create("right", Requirement(anyOf: [.passcode]), .whenUnlocked)
        let (fixture, path) = (fixture, fixture.socketPath)
        nonisolated(unsafe) let shared = fixture
        fixture.prompter.prepare([.text(BrokerFixture.passcode), .text(Self.new)])
        fixture.prompter.duringNextQuestion {
            shared.prompter.always { [prompter = shared.prompter] _ in
                Self.changing(prompter.asked.count - 1)
            }
            try? TestClient(socketPath: path).passcode(.change)
            shared.prompter.always(nil)
        }
        #expect(try fixture.client().authorize("right") > 0)
        #expect(fixture.prompter.unusedAnswers.isEmpty)
    }

    /// The answers of somebody who changes the passcode, by the question's number.
    private static func changing(_ number: Int) -> ScriptedPrompter.Answer {
        number == 1 ? .text(BrokerFixture.passcode) : .text(new)
    }

    @Test func `a passcode that was proved before another change does not change it again`() throws {
        try fixture.setPasscode()
        let (life, ring) = (fixture.account.life, fixture.account.ring)
        let proved = try fixture.account.keeper.prove(SecretBytes(text: BrokerFixture.passcode))
        let (change, removal) = (
            try life.prepareChange(of: proved, as: .daemon), try life.prepareRemoval(of: proved, as: .daemon)
        )
        try fixture.changePasscode(to: Self.new)
        #expect(throws: Refusal.keysChanged) { try life.prepareChange(of: proved, as: .daemon) }
        #expect(throws: Refusal.keysChanged) { try life.prepareRemoval(of: proved, as: .daemon) }
        #expect(throws: Refusal.keysChanged) {
            try life.change(proved, to: SecretBytes(text: "a third passcode"), change, since: ring.era)
        }
        #expect(throws: Refusal.keysChanged) {
            try life.remove(proved, destroying: [], removal, since: ring.era)
        }
        try fixture.unlock(Self.new)
    }

    @Test func `what was prepared for former keys is not taken for the present ones`() throws {
        let (life, ring) = (fixture.account.life, fixture.account.ring)
        let prepared = try life.prepareSetting(as: .daemon)
        try fixture.setPasscode()
        try fixture.removePasscode()
        #expect(throws: Refusal.keysChanged) {
            try life.set(SecretBytes(text: Self.new), prepared, since: ring.era)
        }
        #expect(!ring.isPasscodeSet)
    }

    // MARK: what changes while a change is prepared

    /// Updates the rows of a passkey and of an item, as their use and an update do.
    private func updateRows() throws {
        let (vault, owner) = (fixture.account.rights.vault, fixture.account.id)
        try vault.write("update") { writer in
            let id = try #require(try writer.objectIDs(owner: owner, kind: .passkey).first)
            let row = try #require(try writer.object(id, owner: owner))
            try writer.updateObject(
                ObjectRecord(
                    id: row.id, owner: owner, kind: row.kind, suite: row.suite, generation: row.generation + 1,
                    attributes: ObjectAttributes(
                        group: row.attributes.group, identifier: row.attributes.identifier,
                        applicationLabel: Data("updated".utf8), created: row.attributes.created,
                        flags: row.attributes.flags),
                    accessControl: row.accessControl, enclaveKind: row.enclaveKind, publicKey: row.publicKey,
                    keyBlob: row.keyBlob, payload: row.payload, slots: row.slots))
        }
        try fixture.client().updateItems(TestClient.query("genp", ["acct": .text("kept")]), data: Data("later".utf8))
    }

    /// A passkey, an item and a right, all free of the passcode, and a right that is bound to it.
    private func makeRows() throws {
        try fixture.setPasscode()
        let rights = fixture.account.rights
        let passkey = try rights.prepare(
            .passkey(
                of: "example.com", Data(), using: .unrestricted, .whenUnlocked, secret: SecretBytes(text: "secret")))
        _ = try rights.store(passkey, replacing: false)
        try fixture.client().addItem(["acct": .text("kept")])
        try fixture.create("free", .unrestricted, .whenUnlocked)
        try fixture.create("bound", .passcode, .whenUnlocked)
    }

    /// All rows are under the present keys, and hold what was updated.
    private func expectUpdated(objects: Int) throws {
        let (ring, vault, owner) = (fixture.account.ring, fixture.account.rights.vault, fixture.account.id)
        let records = try vault.read { reader in
            try [ObjectKind.right, .passkey].flatMap { try reader.objects(owner: owner, kind: $0) }
        }.compactMap(\.record)
        #expect(records.count == objects)
        for record in records {
            for slot in try KeySlot.decode(record.slots) {
                for layer in slot.layers { #expect(ring.publicHalf(layer.role)?.epoch == layer.epoch) }
            }
            if record.kind == .passkey { #expect(record.attributes.applicationLabel == Data("updated".utf8)) }
        }
        let client = try fixture.client()
        #expect(try client.itemData(TestClient.query("genp", ["acct": .text("kept")])) == "later")
        #expect(try client.itemData(TestClient.query("genp", ["acct": .text("made meanwhile")])) == "data")
    }

    @Test func `a row that is updated after a change was prepared is wrapped again`() throws {
        try makeRows()
        let (life, ring) = (fixture.account.life, fixture.account.ring)
        let proved = try fixture.account.keeper.prove(SecretBytes(text: BrokerFixture.passcode))
        let change = try life.prepareChange(of: proved, as: .daemon)
        try updateRows()
        try fixture.client().addItem(["acct": .text("made meanwhile")])
        try fixture.client().remove("free")
        _ = try life.change(proved, to: SecretBytes(text: Self.new), change, since: ring.era)
        try expectUpdated(objects: 2)
    }

    @Test func `a row that is updated after a removal was prepared is wrapped again`() throws {
        try makeRows()
        let (life, ring) = (fixture.account.life, fixture.account.ring)
        let proved = try fixture.account.keeper.prove(SecretBytes(text: BrokerFixture.passcode))
        let bound = try life.boundToPasscode(as: .daemon).map(\.id)
        #expect(bound.count == 1)
        let removal = try life.prepareRemoval(of: proved, as: .daemon)
        try updateRows()
        try fixture.client().addItem(["acct": .text("made meanwhile")])
        #expect(throws: Refusal.objectsChanged) {
            try life.remove(proved, destroying: [], removal, since: ring.era)
        }
        let destroyed = try life.remove(proved, destroying: Set(bound), removal, since: ring.era)
        #expect(destroyed.objects.map(\.id) == bound && destroyed.items.isEmpty)
        try expectUpdated(objects: 2)
    }

    @Test func `an item goes with the key that a removal destroys, however it was prepared`() throws {
        try fixture.setPasscode()
        let client = try fixture.client()
        let key = try client.createKey(.p256, AccessControl(availability: .whenUnlocked, using: .passcode))
        try client.addItem(
            "keys", ["atag": .text("tag"), "tkid": .text("com.apple.setoken"), "pdmn": .text("dk")], data: nil,
            keyID: key.keyID)
        try fixture.removePasscode()
        #expect(try refusal { _ = try client.findItems(TestClient.query("keys"), data: false) } == .notFound)
    }

    @Test func `a change keeps nobody waiting while it is prepared`() throws {
        try makeRows()
        let turn = HeldTurn()
        fixture.prompter.always { $0.kind == .enterPasscode ? .text(BrokerFixture.passcode) : .text(Self.new) }
        let (path, changed) = (fixture.socketPath, DispatchSemaphore(value: 0))
        Thread.detachNewThread {
            do { try TestClient(socketPath: path).passcode(.change) } catch { Issue.record("\(error)") }
            changed.signal()
        }
        try eventually("the new passcode was asked for") { fixture.prompter.asked.last?.kind == .repeatPasscode }
        // All of these take the locks that a change holds while it is stored.
        #expect(try fixture.client().authorize("bound") > 0)
        try fixture.client().create("made meanwhile", AccessControl(availability: .always, using: .unrestricted))
        try fixture.client().remove("made meanwhile")
        #expect(changed.wait(timeout: .now()) == .timedOut)
        turn.end()
        changed.wait()
        fixture.prompter.always(nil)
        try fixture.unlock(Self.new)
    }

    @Test func `a change whose request was ended changes nothing, however far it was computed`() throws {
        try fixture.setPasscode()
        try createAll()
        try addRights(1280)
        let proved = try fixture.account.keeper.prove(SecretBytes(text: BrokerFixture.passcode))
        let (life, vault) = (fixture.account.life, fixture.account.rights.vault)
        let generation = vault.storeGeneration
        let cancellation = RequestCancellation()
        // Another reader of much, beside whose turns the change cannot go on.
        let progress = life.progress
        Thread.detachNewThread {
            while (try? cancellation.check()) != nil {
                do {
                    try StretchTurns.ofReading.withTurn(as: .daemon) {
                        guard let count = progress.current, count.done > 0, count.done < count.total - 256 else {
                            return
                        }
                        cancellation.cancel(.connectionEnded)
                    }
                } catch {
                    Issue.record("\(error)")
                    return
                }
            }
        }
        defer { cancellation.cancel(.caller) }
        #expect(throws: RequestCancellation.refusal(.connectionEnded)) {
            try life.prepareChange(of: proved, as: StretchRequester(program: "gone", cancellation: cancellation))
        }
        #expect(vault.storeGeneration == generation && progress.current == nil)
        try expectAllOpen(passcode: BrokerFixture.passcode)
    }

    /// So many rights that preparing a change of all takes many pieces.
    private func addRights(_ count: Int) throws {
        let rights = fixture.account.rights
        let accessControl = AccessControl(availability: .always, using: .unrestricted)
        let records = try (0..<count).map { number in
            try rights.prepare(
                .right("copy \(number)", of: "copies", accessControl, secret: nil, applicationPassword: nil))
        }
        try rights.vault.write("copies") { writer in
            for record in records { try writer.insertObject(record) }
        }
    }

    @Test func `the status says how far a change is, until it is stored`() throws {
        let observer = CountObserver()
        let fixture = try BrokerFixture(observer: observer)
        try fixture.setPasscode()
        let client = try fixture.client()
        let accessControl = AccessControl(availability: .always, using: .unrestricted)
        for number in 0..<200 { try client.create("right \(number)", accessControl) }
        let account = fixture.account
        observer.atCommit("passcode.change") { account.life.progress.current }
        #expect(try client.status().passcode.changing == nil)
        try fixture.changePasscode(to: Self.new)
        #expect(observer.seen?.done == 200 && observer.seen?.total == 200)
        #expect(try client.status().passcode.changing == nil)
    }

    @Test func `entering the old passcode while it is being changed does not undo the change`() throws {
        let meeting = Meeting()
        let fixture = try BrokerFixture(stretching: meeting.stretching)
        try fixture.setPasscode()
        fixture.prompter.always { $0.kind == .enterPasscode ? .text(BrokerFixture.passcode) : .text(Self.new) }
        let path = fixture.socketPath
        let changed = DispatchSemaphore(value: 0)
        meeting.duringNextStretch {
            Thread {
                try? TestClient(socketPath: path).passcode(.change)
                changed.signal()
            }.start()
            // With the lock in place this always runs out; without it the change goes through here.
            _ = changed.wait(timeout: .now() + .milliseconds(300))
        }
        let client = try fixture.client()
        try client.evaluatePolicy(2, in: client.openContext())
        changed.wait()
        fixture.prompter.always(nil)
        try fixture.unlock(Self.new)
        fixture.prompter.prepare([.text(BrokerFixture.passcode), .cancel])
        #expect(try refusal { try client.evaluatePolicy(2, in: client.openContext()) } == .userCancel)
    }

    // MARK: remove

    @Test func `removing the passcode destroys what was bound to it and keeps the rest`() throws {
        try fixture.setPasscode()
        try createAll()
        let client = try fixture.client()
        let context = try client.openContext()
        let bound = try client.find("passcode always")
        fixture.prompter.prepare([.text(BrokerFixture.passcode)])
        _ = try client.authorize(bound, in: context)
        let before = try client.list()

        try fixture.removePasscode()
        #expect(fixture.prompter.askedKinds.count == 2 && fixture.prompter.unpreparedCount == 0)
        let surviving = AvailabilityClass.allCases.filter { $0 != .whenPasscodeSet }.flatMap { availability in
            SmallRules.creatable.filter { $0.factors.isDisjoint(with: [.passcode, .biometry]) }
                .map { name($0, availability) }
        }
        let after = try client.list()
        #expect(Set(after.map(\.identifier)) == Set(surviving))
        #expect(after.allSatisfy { right in before.contains(right) })
        #expect(try refusal { _ = try client.sign(bound, in: context) } == .notAuthorized)
        #expect(try !client.status().passcode.isSet && client.status().unlocked)

        for isRestarted in [false, true] {
            if isRestarted { try fixture.restart() }
            for name in surviving {
                let answers: [ScriptedPrompter.Answer] =
                    name.hasPrefix("application") ? [.text(BrokerFixture.applicationPassword)] : []
                #expect(try fixture.opens(name, answers: answers))
            }
        }
    }

    @Test func `what the warning names is what is destroyed`() throws {
        try fixture.setPasscode()
        try fixture.create("bound", Requirement(anyOf: [.passcode]), .whenUnlocked)
        try fixture.create("free", .unrestricted, .whenUnlocked)
        fixture.prompter.prepare([.text(BrokerFixture.passcode), .cancel])
        #expect(try refusal { try fixture.client().passcode(.remove) } == .userCancel)
        let warning = try #require(fixture.prompter.askedKinds.last)
        #expect("\(warning)".contains("1 right") && "\(warning)".contains("bound") && !"\(warning)".contains("free"))
        #expect(try fixture.opens("bound", answers: [.text(BrokerFixture.passcode)]))
    }

    /// Runs `body` while the warning of a removal is on screen, and confirms it; returns why the removal was refused.
    private func refusalOfRemoval(while body: @escaping @Sendable (TestClient) throws -> Void) throws -> Refused? {
        let path = fixture.socketPath
        nonisolated(unsafe) let shared = fixture
        fixture.prompter.prepare([.text(BrokerFixture.passcode), .confirm])
        fixture.prompter.duringNextQuestion {
            shared.prompter.duringNextQuestion {
                do { try body(TestClient(socketPath: path)) } catch { Issue.record(error) }
            }
        }
        do { try fixture.client().passcode(.remove) } catch let refused as Refused { return refused }
        return nil
    }

    private static var bound: AccessControl {
        get throws { try AccessControl(availability: .whenUnlocked, using: .passcode) }
    }

    @Test(arguments: [false, true])
    func `what was made after the warning is not destroyed, and nothing else is`(replacing: Bool) throws {
        try fixture.setPasscode()
        try fixture.create("bound", .passcode, .whenUnlocked)
        let refused = try refusalOfRemoval { client in
            let name = replacing ? "bound" : "new"
            try client.create(name, Self.bound, secret: "secret of \(name)", replace: replacing)
        }
        #expect(refused?.code == .systemCancel && refused?.cause == "keys.changed")
        #expect(try fixture.client().list().count == (replacing ? 1 : 2))
        #expect(try fixture.client().status().passcode.isSet)
        #expect(try fixture.opens("bound", answers: [.text(BrokerFixture.passcode)]))
        try fixture.removePasscode()
        #expect(try fixture.client().list().isEmpty)
    }

    @Test func `what was made or removed after the warning and is not bound to the passcode changes nothing`() throws {
        try fixture.setPasscode()
        for name in ["bound", "other"] { try fixture.create(name, .passcode, .whenUnlocked) }
        let refused = try refusalOfRemoval { client in
            try client.create("free", AccessControl(availability: .whenUnlocked, using: .unrestricted))
            try client.remove("other")
        }
        #expect(refused == nil)
        #expect(try fixture.client().list().map(\.identifier) == ["free"])
    }

    @Test func `a passcode set again is a new one, and what was destroyed stays away`() throws {
        try fixture.setPasscode()
        try fixture.create("bound", Requirement(anyOf: [.passcode]), .whenUnlocked)
        try fixture.create("free", .unrestricted, .whenUnlocked)
        try fixture.removePasscode()
        try fixture.setPasscode(Self.new)
        #expect(try fixture.client().list().map(\.identifier) == ["free"])
        try fixture.client().lock()
        #expect(try fixture.opens("free", answers: [.text(BrokerFixture.passcode), .text(Self.new)]))
    }

    @Test func `the real stretching function carries a passcode through its whole life`() throws {
        let fixture = try BrokerFixture(stretching: .argon2id)
        try fixture.setPasscode()
        try fixture.create("right", Requirement(anyOf: [.passcode]), .whenUnlocked)
        try fixture.changePasscode(to: Self.new)
        try fixture.restart()
        #expect(try fixture.opens("right", answers: [.text(BrokerFixture.passcode), .text(Self.new)]))
        try fixture.removePasscode(Self.new)
        #expect(try fixture.client().list().isEmpty)
    }
}

/// Remembers how far a change is when its transaction is about to be flushed.
private final class CountObserver: WriteObserver {
    private struct State {
        var label = ""
        var read: @Sendable () -> RewrappingProgress.Count? = { nil }
        var seen: RewrappingProgress.Count?
    }

    private let state = Mutex(State())

    var seen: RewrappingProgress.Count? { state.withLock { $0.seen } }

    func atCommit(_ label: String, _ read: @escaping @Sendable () -> RewrappingProgress.Count?) {
        state.withLock { ($0.label, $0.read) = (label, read) }
    }

    func willCommit(_ label: String) {
        state.withLock { state in
            if label == state.label { state.seen = state.read() }
        }
    }

    func didCommit(_ label: String) {}
}
