import AccessControl
import AuditLog
import Authenticators
import Callers
import Crypto
import ExactNames
import Foundation
import HelperProcesses
import KeySlots
import Opening
import OstiaryMessages
import Owners
import ProtectedObjects
import Refusals
import SecretMemory
import Simulation
import StoreTestSupport
import Testing
import Vault

@testable import Auditing
@testable import Broker
@testable import BrokerTestSupport
@testable import OwnerKeys
@testable import Diagnosis

/// One log, which all owners of a store write. The first owner is the one whom the broker serves.
@Suite("The log of several owners")
struct SeveralOwnersTests {
    private let fixture: BrokerFixture
    private let alice: OwnerAccount
    private let bob: OwnerAccount
    private let carol: OwnerAccount
    private var broker: Broker { fixture.broker }

    init() throws {
        fixture = try BrokerFixture()
        alice = fixture.account
        bob = try Self.owner("bob", 70_001, in: fixture)
        carol = try Self.owner("carol", 70_002, in: fixture)
    }

    private static func owner(_ name: String, _ uid: UInt32, in fixture: BrokerFixture) throws -> OwnerAccount {
        let (broker, user) = (fixture.broker, UserRecord(uid: uid, name: name, created: 0))
        let storage = KeyPairStorage(enclave: broker.enclave, owner: user.id, storeID: broker.vault.storeID)
        let halves = try [AvailabilityClass.always, .afterFirstUnlock, .whenUnlocked].map {
            try PrivateHalf(generating: .classKey($0), epoch: 1)
        }
        try broker.vault.write("owner") { writer in
            try writer.addUser(user)
            for half in halves { try writer.setKeyPair(storage.record(sealingToEnclave: half)) }
        }
        let ring = KeyRing(publicHalves: halves.map(\.publicHalf), privateHalves: halves)
        return OwnerAccount(
            OpenedOwner(user: SystemUser(id: uid, name: name), id: user.id, ring: ring), in: broker.store,
            with: OwnerServices(
                clock: fixture.clock, stretching: .quick, prompter: fixture.prompter, log: broker.log,
                programs: ProgramSources(systemFolder: fixture.folder.path("apps.d"), shared: nil),
                factors: FactorSources(
                    fingers: nil, face: nil, faceHelper: HelperRoads.missing.face, securityKeys: nil, added: .none),
                share: .everything))
    }

    // MARK: passcodes

    private func prove(_ passcode: String, of account: OwnerAccount) throws -> ProvedPasscode {
        let proved = try account.keeper.prove(SecretBytes(text: passcode))
        account.trail.coverSeeds(under: proved.half)
        return proved
    }

    private func set(_ passcode: String, of account: OwnerAccount) throws {
        let half = try account.life.set(
            SecretBytes(text: passcode), account.life.prepareSetting(as: .daemon), since: account.ring.era)
        try account.trail.beginEpoch(under: half)
    }

    private func change(_ former: String, to passcode: String, of account: OwnerAccount) throws {
        let proved = try prove(former, of: account)
        let half = try account.life.change(
            proved, to: SecretBytes(text: passcode), account.life.prepareChange(of: proved, as: .daemon),
            since: account.ring.era)
        try account.trail.beginEpoch(under: half)
    }

    private func remove(_ passcode: String, of account: OwnerAccount) throws {
        let proved = try prove(passcode, of: account)
        let removal = try account.life.prepareRemoval(of: proved, as: .daemon)
        _ = try account.life.remove(proved, destroying: [], removal, since: account.ring.era)
        try account.trail.beginEpoch(under: nil)
    }

    /// The owner reaches the seeds of these epochs and no others, and each is the right one.
    private func expectSeeds(_ epochs: [UInt32], of account: OwnerAccount, _ passcode: String?) throws {
        let half = try passcode.map { try account.keeper.prove(SecretBytes(text: $0)).half }
        #expect(try account.seeds.own().map(\.number) == epochs)
        #expect(try account.seeds.needPasscode() == account.seeds.own().contains { $0.owner == account.id })
        // A wrong seed would be a misfit.
        let verdict = try broker.logVerdict(account.seeds, passcode: half, for: .everything)
        #expect(verdict.intact, "\(verdict.explanation)")
        for record in try account.seeds.records() where !epochs.contains(record.number) {
            #expect(throws: (any Error).self) { _ = try account.seeds.open(record, passcode: half) }
        }
    }

    @Test func `each owner sets, changes and removes a passcode, and checks the own seals`() throws {
        try fixture.setPasscode("alice's first 1")
        try expectSeeds([1, 2], of: alice, "alice's first 1")
        try expectSeeds([], of: bob, nil)
        try set("bob's first 1", of: bob)
        try set("carol's first 1", of: carol)
        func expectAlice() throws { try expectSeeds([1, 2], of: alice, "alice's first 1") }
        try expectAlice()
        try expectSeeds([3], of: bob, "bob's first 1")
        try expectSeeds([4], of: carol, "carol's first 1")
        try change("bob's first 1", to: "bob's second 2", of: bob)
        try change("carol's first 1", to: "carol's second 2", of: carol)
        try expectAlice()
        try expectSeeds([3, 5], of: bob, "bob's second 2")
        try expectSeeds([4, 6], of: carol, "carol's second 2")
        try remove("bob's second 2", of: bob)
        // They lie under the enclave now, where everybody's proof takes them.
        try expectSeeds([3, 5, 7], of: bob, nil)
        try expectSeeds([1, 2, 3, 5, 7], of: alice, "alice's first 1")
        _ = try prove("alice's first 1", of: alice)
        try expectSeeds([1, 2, 3, 5, 7, 8], of: alice, "alice's first 1")
        try expectSeeds([], of: bob, nil)
        try expectSeeds([4, 6], of: carol, "carol's second 2")
        try remove("carol's second 2", of: carol)
        try set("bob's third 3", of: bob)
        try expectSeeds([4, 6, 9, 10], of: bob, "bob's third 3")
        try expectSeeds([1, 2, 3, 5, 7, 8], of: alice, "alice's first 1")
        try fixture.changePasscode("alice's first 1", to: "alice's second 2")
        try expectSeeds([1, 2, 3, 5, 7, 8, 11], of: alice, "alice's second 2")
        try expectSeeds([4, 6, 9, 10], of: bob, "bob's third 3")
        try fixture.removePasscode("alice's second 2")
        try expectSeeds([1, 2, 3, 5, 7, 8, 11, 12], of: carol, nil)
        try expectSeeds([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12], of: bob, "bob's third 3")
    }

    @Test func `a seed that another owner took after it was wrapped stays theirs`() throws {
        let half = try PrivateHalf(generating: .passcode, epoch: 1)
        let early = try alice.seeds.wrapped(under: half, openedWith: nil)
        #expect(early.map(\.number) == [1])
        try set("bob's first 1", of: bob)
        try broker.vault.write("seeds") { try alice.seeds.store(early, in: $0) }
        try expectSeeds([1, 2], of: bob, "bob's first 1")
    }

    @Test func `a seed that was wrapped before its epoch's place was known does not move the epoch`() throws {
        let half = try PrivateHalf(generating: .passcode, epoch: 1)
        let early = try alice.seeds.wrapped(under: half, openedWith: nil)
        try broker.vault.write("place") { try bob.seeds.setFirstIndex(7, ofEpoch: 1, in: $0) }
        try broker.vault.write("seeds") { try alice.seeds.store(early, in: $0) }
        let stored = try #require(try alice.seeds.records().first)
        #expect(stored.owner == alice.id && stored.firstIndex == 7)
        #expect(stored.wrappedSeed == early.first?.wrappedSeed)
    }

    @Test func `the place of an epoch is stored without a change of whose its seed is`() throws {
        try set("bob's first 1", of: bob)
        let before = try #require(try bob.seeds.records().first)
        #expect(before.owner == bob.id)
        try broker.vault.write("place") { try alice.seeds.setFirstIndex(7, ofEpoch: 1, in: $0) }
        let after = try #require(try bob.seeds.records().first)
        #expect(after.owner == bob.id && after.wrappedSeed == before.wrappedSeed && after.firstIndex == 7)
    }

    @Test func `nobody's passcode opens another owner's seed`() throws {
        try fixture.setPasscode("alice's first 1")
        try set("bob's first 1", of: bob)
        let records = try bob.seeds.records()
        let (first, own) = (try #require(records.first), try #require(records.last))
        #expect(first.owner == alice.id && own.owner == bob.id)
        let half = try bob.keeper.prove(SecretBytes(text: "bob's first 1")).half
        #expect(throws: Refusal.passcodeNeeded) { _ = try bob.seeds.open(first, passcode: nil) }
        // CIPHER_R_BAD_DECRYPT of the library below.
        #expect(throws: CryptoKitError.underlyingCoreCryptoError(error: 0x1E00_0065)) {
            _ = try bob.seeds.open(first, passcode: half)
        }
        _ = try bob.seeds.open(own, passcode: half)
    }

    @Test func `each owner's verdict says whether the seals of the own records were checked`() throws {
        func verdict(of account: OwnerAccount, _ passcode: String?) throws -> WireLogVerdict {
            let half = try passcode.map { try account.keeper.prove(SecretBytes(text: $0)).half }
            return try broker.logVerdict(account.seeds, passcode: half, for: .owner(account.id.ownerID))
        }
        func note(_ account: OwnerAccount) {
            account.trail.note(AuditTrail.Event(name: "test", program: .daemonStart))
        }
        try fixture.create("free", .unrestricted, .always)
        try fixture.setPasscode("alice's first 1")
        let count = try broker.logPage(.with { $0.limit = 1 }, for: .owner(alice.id.ownerID)).recordCount
        try set("bob's first 1", of: bob)
        note(bob)
        for (account, passcode, count) in [(alice, "alice's first 1", count), (bob, "bob's first 1", 1)] {
            let with = try verdict(of: account, passcode)
            #expect(with.intact && with.sealsChecked && with.recordCount == count)
            let without = try verdict(of: account, nil)
            #expect(without.intact && !without.sealsChecked && without.recordCount == count)
        }
        // In an epoch that somebody else began.
        note(alice)
        let later = try verdict(of: alice, "alice's first 1")
        #expect(later.intact && !later.sealsChecked && later.recordCount == count + 1)
        #expect(try verdict(of: bob, "bob's first 1").sealsChecked)
    }

    @Test func `the first owner is asked for the own passcode, also while others have theirs`() throws {
        try fixture.setPasscode("alice's first 1")
        try set("bob's first 1", of: bob)
        try fixture.restart()
        fixture.prompter.prepare([.text("alice's first 1")])
        let verdict = try fixture.client().verifyLog(interactive: true)
        #expect(verdict.intact && !verdict.sealsChecked)
        #expect(fixture.prompter.unusedAnswers.isEmpty && fixture.prompter.unpreparedCount == 0)
    }

    // MARK: records

    /// Records of all kinds by the first owner's program, and one of each other owner.
    private func write() throws {
        let client = try fixture.client()
        try fixture.create("free", .unrestricted, .always)
        #expect(try fixture.opens("free"))
        for _ in 1...3 {
            #expect(try refusal { _ = try client.sign(client.find("free"), in: client.openContext()) } != nil)
        }
        try client.lock()
        for account in [bob, carol] {
            account.trail.note(AuditTrail.Event(name: "test", program: .daemonStart, object: account.user.name))
        }
        broker.lock(alice, AuditTrail.Event(name: "lock", program: .sessionLock))
        alice.trail.writeFolded()
    }

    private func all() throws -> [LogRecord] {
        try broker.store.log.audit.page(from: 0, limit: 1000, for: .everything).records
    }

    @Test func `each record says whose it is, also where the daemon acted for the owner`() throws {
        try write()
        try fixture.setPasscode("alice's first 1")
        let records = try all()
        let entries = records.compactMap { if case .entry(let entry) = $0.content { entry } else { nil } }
        #expect(
            entries.count { $0.owner == bob.id.ownerID } == 1 && entries.count { $0.owner == carol.id.ownerID } == 1)
        #expect(entries.allSatisfy { $0.owner != nil })
        #expect(entries.filter { $0.event == "test" }.map(\.object) == ["bob", "carol"])
        #expect(entries.filter { $0.event == "lock" }.allSatisfy { $0.owner == alice.id.ownerID })
        // The daemon's own: the epochs.
        #expect(records.count { $0.content.owner == nil } == 2 && records.count == entries.count + 2)
    }

    @Test func `an owner's page, count and finding are those of the own records`() throws {
        try write()
        let own = try all().filter { $0.content.owner == alice.id.ownerID }.count
        for (account, count) in [(alice, own), (bob, 1), (carol, 1)] {
            let audience = LogAudience.owner(account.id.ownerID)
            let page = try broker.logPage(.with { $0.limit = 200 }, for: audience)
            #expect(page.recordCount == UInt64(count) && page.records.map(\.index) == Array(0..<UInt64(count)))
            #expect(broker.logRecordCount(for: audience, of: account.user.id) == UInt64(count))
            let finding = Examination(broker.opened, for: account, askedBy: getpid(), as: .daemon).logFinding(
                for: audience)
            #expect(finding.verdict == .ok && finding.message == "\(count) records; each fits the one before it.")
            if account !== alice { #expect(page.records.map(\.object) == [account.user.name]) }
        }
    }

    @Test func `a request shows no record of another owner`() throws {
        try write()
        guard case .logPage(let page) = try fixture.client().call(.readLog(.with { $0.limit = 200 })).body else {
            throw TestClient.UnexpectedAnswer()
        }
        let expected = try all().filter { [nil, alice.id.ownerID].contains($0.content.owner) }
        #expect(page.records.map(\.index) == expected.map(\.index))
        #expect(!page.records.contains { $0.event == "test" })
    }

    @Test func `the finding about a log that does not fit names no record of others`() throws {
        try write()
        fixture.close()
        let copy = try BrokerFixture.copyOfState(fixture.stateDirectory)
        let url = URL(fileURLWithPath: BrokerFixture.stateDirectory(in: copy) + "/audit.log")
        let whole = try Data(contentsOf: url)
        try whole.dropLast(200).write(to: url)
        let broken = try BrokerFixture(in: copy)
        let finding = Examination(
            broken.broker.opened, for: broken.account, askedBy: getpid(), as: .daemon
        ).logFinding(for: .owner(bob.id.ownerID))
        #expect(finding.verdict == .problem)
        #expect(finding.message == "It does not fit its anchor. Nothing is released.")
        broken.close()
        // Changed long ago: the start looks only behind the anchor.
        var bytes = whole
        bytes[200] ^= 1
        try bytes.write(to: url)
        let recorded = RecordedLog()
        let changed = try BrokerFixture(in: copy, log: recorded.logger)
        let audience = LogAudience.owner(bob.id.ownerID)
        #expect(
            Examination(changed.broker.opened, for: changed.account, askedBy: getpid(), as: .daemon)
                .logFinding(for: audience).message
                == "The store's log does not fit. Your records before this one do. First at record 0.")
        // A loop of the owner's programs fills no journal with it.
        for _ in 0..<(3 * Int(CallerLines.burst)) {
            #expect(changed.broker.logRecordCount(for: audience, of: bob.user.id) == 0)
        }
        #expect(recorded.count(of: "the records of the log cannot be counted") == Int(CallerLines.burst))
        #expect(throws: AuditLogError.damaged) { _ = try changed.broker.logPage(.with { $0.limit = 1 }, for: audience) }
    }
}
