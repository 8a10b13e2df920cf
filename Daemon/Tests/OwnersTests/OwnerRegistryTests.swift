import AccessControl
import Dispatch
import Enclave
import Foundation
import GRDB
import HelperProcesses
import KeySlots
import Logging
import Opening
import OwnerKeys
import ProcessFacts
import PromptProtocol
import Prompting
import SessionLocks
import Settings
import StoreTestSupport
import Synchronization
import TerminalTestSupport
import Testing
import Vault

@testable import Broker
@testable import BrokerTestSupport
@testable import Owners

/// Accounts that are opened and closed while the daemon runs.
@Suite("An owner's account", .timeLimit(.minutes(10)))
struct OwnerRegistryTests {
    private let gate = EnclaveGate()
    private static let ada = SystemUser(id: 10_001, name: "ada")
    private static let grace = SystemUser(id: 10_002, name: "grace")
    private static let wait = Duration.seconds(900)

    private func fixture(in folder: TestFolder? = nil, closing: ClosingPolicy = .never) throws -> BrokerFixture {
        try BrokerFixture(
            in: folder, serves: .anybody(closing: closing), around: { [gate] in GatedEnclave($0, behind: gate) })
    }

    /// A broker that closes accounts, but for those of users who are needed.
    private func closingFixture(_ isNeeded: @escaping @Sendable (SystemUser) -> Bool = { _ in false }) throws
        -> BrokerFixture
    { try fixture(closing: .after(Self.wait, unless: isNeeded)) }

    /// Enters and leaves.
    private func visit(_ user: SystemUser, _ owners: OwnerRegistry) throws -> OwnerAccount {
        try owners.enter(user).account
    }

    // MARK: opening

    @Test func `is opened once for a hundred threads`() throws {
        let fixture = try fixture()
        let owners = fixture.broker.opened.owners
        #expect(owners.open.isEmpty, "nobody has entered")
        gate.close()
        let threads = Threads<OwnerStay>()
        for _ in 0..<100 { threads.start { try owners.enter(Self.ada) } }
        gate.waitForArrival()
        try eventually("the others wait") { owners.waiterCount(of: Self.ada) == 99 }
        gate.open()
        let stays = try threads.wait().map { try $0.get() }
        #expect(Set(stays.map { ObjectIdentifier($0.account) }).count == 1)
        #expect(gate.count == 3, "one opening unseals three class keys")
        #expect(owners.open.map(\.user) == [Self.ada])
        #expect(try fixture.broker.vault.read { try $0.users() }.count == 1)
    }

    @Test func `is refused to all who wait for an opening that fails, and to nobody else`() throws {
        let fixture = try fixture()
        let owners = fixture.broker.opened.owners
        gate.close()
        let threads = Threads<OwnerStay>()
        for _ in 0..<20 { threads.start { try owners.enter(Self.ada) } }
        gate.waitForArrival()
        try eventually("the others wait") { owners.waiterCount(of: Self.ada) == 19 }
        gate.open(failing: .deviceLost)
        for result in threads.wait() { #expect(throws: EnclaveError.deviceLost) { try result.get() } }
        #expect(gate.count == 1, "the first key was not unsealed, and no other was tried")
        gate.open()
        #expect(try visit(Self.grace, owners).user == Self.grace)
        #expect(owners.open.map(\.user) == [Self.grace])
    }

    @Test func `is refused for a second after a failure, without the enclave`() throws {
        let fixture = try fixture()
        let owners = fixture.broker.opened.owners
        gate.open(failing: .deviceLost)
        #expect(throws: EnclaveError.deviceLost) { try owners.enter(Self.ada) }
        gate.open()
        fixture.clock.advance(by: .milliseconds(999))
        #expect(throws: EnclaveError.deviceLost) { try owners.enter(Self.ada) }
        #expect(gate.count == 1)
        fixture.clock.advance(by: .milliseconds(1))
        #expect(try visit(Self.ada, owners).user == Self.ada)
    }

    @Test func `is told of once, before its user enters it`() throws {
        let fixture = try fixture()
        let owners = fixture.broker.opened.owners
        let told = Told()
        owners.whenOpened { account in
            #expect(!owners.open.contains { $0 === account })
            told.add(account, to: "early")
        }
        let (ada, grace) = (try owners.enter(Self.ada), try owners.enter(Self.grace))
        owners.whenOpened { told.add($0, to: "late") }
        #expect(told.all == ["early": [Self.ada, Self.grace], "late": [Self.ada, Self.grace]])
        _ = try visit(Self.ada, owners)
        #expect(told.all["early"]?.count == 2)
        withExtendedLifetime((ada, grace)) {}
    }

    /// The hooks, and the accounts that each was told of.
    private final class Told: Sendable {
        private let users = Mutex<[String: [SystemUser]]>([:])
        var all: [String: [SystemUser]] { users.withLock { $0 } }
        func add(_ account: OwnerAccount, to hook: String) {
            users.withLock { $0[hook, default: []].append(account.user) }
        }
    }

    // MARK: owners of accounts

    @Test func `is nobody's who has another name or another number`() throws {
        let fixture = try fixture()
        let owners = fixture.broker.opened.owners
        let ada = try owners.enter(Self.ada)
        let renamed = SystemUser(id: Self.ada.id, name: "ada2")
        let renumbered = SystemUser(id: 10_003, name: Self.ada.name)
        for other in [renamed, renumbered] {
            #expect(throws: OwnerOpeningError.knownOtherwise(stored: Self.ada, present: other)) {
                try owners.enter(other)
            }
        }
        #expect(
            OwnerOpeningError.knownOtherwise(stored: Self.ada, present: renamed).description
                == "The store knows ada (user 10001), and the system says ada2 (user 10001). The user was renamed, or the name "
                + "or number is now another person's. Nothing was changed.")
        #expect(try fixture.broker.vault.read { try $0.users() }.compactMap(\.record).map(\.name) == ["ada"])
        #expect(SystemUser(id: 1, name: "ren\u{e9}") != SystemUser(id: 1, name: "rene\u{301}"))
        withExtendedLifetime(ada) {}
    }

    @Test func `is compared with the system's name while it is being opened, too`() throws {
        let fixture = try fixture()
        let owners = fixture.broker.opened.owners
        gate.close()
        let renamed = SystemUser(id: Self.ada.id, name: "ada2")
        let opening = Threads<OwnerStay>()
        opening.start { try owners.enter(Self.ada) }
        gate.waitForArrival()
        let other = Threads<OwnerStay>()
        other.start { try owners.enter(renamed) }
        try eventually("the other name waits") { owners.waiterCount(of: renamed) == 1 }
        gate.open()
        let stays = try opening.wait().map { try $0.get() }
        #expect(throws: OwnerOpeningError.knownOtherwise(stored: Self.ada, present: renamed)) {
            try other.wait()[0].get()
        }
        withExtendedLifetime(stays) {}
    }

    @Test func `is found again in the store, and is no second one`() throws {
        let fixture = try fixture()
        let id = try visit(Self.ada, fixture.broker.opened.owners).id
        try fixture.restart()
        #expect(try visit(Self.ada, fixture.broker.opened.owners).id == id)
        #expect(try visit(Self.grace, fixture.broker.opened.owners).id != id)
        #expect(try fixture.broker.vault.read { try $0.users() }.count == 2)
    }

    @Test func `is not opened where its keys do not verify, and others are`() throws {
        let fixture = try fixture()
        let id = try visit(Self.ada, fixture.broker.opened.owners).id
        _ = try visit(Self.grace, fixture.broker.opened.owners)
        fixture.close()
        let store = StoppedStore(of: fixture.folder)
        #expect(try store.write("UPDATE key_pairs SET epoch = epoch + 1 WHERE owner = ?", [id.bytes]) > 0)
        let damaged = try self.fixture(in: fixture.folder)
        let owners = damaged.broker.opened.owners
        #expect(throws: OwnerOpeningError.unreadable(.keyPair)) { try owners.enter(Self.ada) }
        #expect(try visit(Self.grace, owners).user == Self.grace)
    }

    @Test func `is not made beside a user's row that does not verify, since that may be the same user's`() throws {
        let fixture = try fixture()
        let id = try visit(Self.ada, fixture.broker.opened.owners).id
        _ = try visit(Self.grace, fixture.broker.opened.owners)
        fixture.close()
        let store = StoppedStore(of: fixture.folder)
        #expect(try store.write("UPDATE users SET created = created + 1 WHERE row_key = ?", [id.bytes]) == 1)
        let damaged = try self.fixture(in: fixture.folder)
        let owners = damaged.broker.opened.owners
        for user in [Self.ada, SystemUser(id: 10_003, name: "new")] {
            #expect(throws: OwnerOpeningError.unreadable(.user)) { try owners.enter(user) }
        }
        #expect(try visit(Self.grace, owners).user == Self.grace)
    }

    @Test func `is one alone where one user is served, and stays open`() throws {
        let fixture = try BrokerFixture()
        let owners = fixture.broker.opened.owners
        let account = fixture.account
        #expect(throws: OwnerOpeningError.notServed(Self.ada.id)) { try owners.enter(Self.ada) }
        try fixture.setPasscode()
        #expect(try visit(account.user, owners) === account)
        fixture.clock.advance(by: .seconds(100 * 24 * 3600))
        #expect(owners.open.map(ObjectIdentifier.init) == [ObjectIdentifier(account)])
        let half = account.ring.privateHalf(.classKey(.whenUnlocked))
        #expect(half != nil, "a program that unlocked it and left, left it so")
    }

    // MARK: closing

    @Test func `is closed after the wait, and holds no key then`() throws {
        let fixture = try closingFixture()
        let owners = fixture.broker.opened.owners
        let account = try visit(Self.ada, owners)
        fixture.clock.advance(by: Self.wait - .seconds(1))
        #expect(owners.open.count == 1)
        #expect(account.ring.privateHalves.count == 3)
        fixture.clock.advance(by: .seconds(1))
        #expect(owners.open.isEmpty)
        #expect(account.ring.privateHalves.isEmpty)
        let again = try owners.enter(Self.ada)
        #expect(again.account !== account)
        #expect(again.account.id == account.id)
        #expect(again.account.ring.privateHalves.count == 3)
    }

    /// A prompter that notes whom it forgets.
    private final class Forgetting: Prompter {
        let forgotten = Mutex<[UInt32]>([])

        func ask(_ question: PromptQuestion, on caller: PromptCaller, live: LiveQuestion) -> PromptOutcome {
            .unavailable(.notInteractive)
        }

        func forget(_ userID: UInt32) { forgotten.withLock { $0.append(userID) } }
    }

    @Test func `takes the user's prompter along when it is closed`() throws {
        let prompter = Forgetting()
        let fixture = try BrokerFixture(
            serves: .anybody(closing: .after(Self.wait) { _ in false }), asking: { _ in prompter })
        let owners = fixture.broker.opened.owners
        let grace = try owners.enter(Self.grace)
        _ = try visit(Self.ada, owners)
        fixture.clock.advance(by: Self.wait - .seconds(1))
        #expect(prompter.forgotten.withLock { $0 }.isEmpty)
        fixture.clock.advance(by: .seconds(1))
        #expect(prompter.forgotten.withLock { $0 } == [Self.ada.id])
        withExtendedLifetime(grace) {}
    }

    @Test func `takes the user's prompter along when it is replaced, or closed so that the user is forgotten`() throws {
        let prompter = Forgetting()
        let fixture = try BrokerFixture(serves: .anybody(closing: .never), asking: { _ in prompter })
        let owners = fixture.broker.opened.owners
        _ = try visit(Self.ada, owners)
        try owners.whileBarred(Self.ada.id, ending: nil) {
            #expect(prompter.forgotten.withLock { $0 } == [Self.ada.id])
        }
        let grace = try owners.enter(Self.grace)
        try owners.replace(grace.account) {
            #expect(prompter.forgotten.withLock { $0 } == [Self.ada.id], "it is hers as long as the account")
        }
        #expect(prompter.forgotten.withLock { $0 } == [Self.ada.id, Self.grace.id])
    }

    @Test func `is not closed while somebody is there, and the wait begins with the last who leaves`() throws {
        let fixture = try closingFixture()
        let owners = fixture.broker.opened.owners
        var stays = [try owners.enter(Self.ada), try owners.enter(Self.ada)]
        stays.removeLast()
        fixture.clock.advance(by: Self.wait)
        #expect(owners.open.count == 1, "somebody is there")
        stays.removeLast()
        fixture.clock.advance(by: Self.wait - .seconds(1))
        _ = try visit(Self.ada, owners)
        fixture.clock.advance(by: .seconds(1))
        #expect(owners.open.count == 1, "somebody came back, and the wait begins again")
        fixture.clock.advance(by: Self.wait)
        #expect(owners.open.isEmpty)
    }

    @Test func `is not closed while its user is needed, and looked at again after each wait`() throws {
        let needed = Needed()
        let fixture = try closingFixture { needed.users.contains($0.name) }
        let owners = fixture.broker.opened.owners
        let account = try visit(Self.ada, owners)
        _ = try visit(Self.grace, owners)
        fixture.clock.advance(by: Self.wait)
        #expect(owners.open.map(\.user) == [Self.ada])
        needed.users = []
        #expect(account.ring.privateHalves.count == 3)
        fixture.clock.advance(by: Self.wait)
        #expect(owners.open.isEmpty)
        #expect(account.ring.privateHalves.isEmpty)
    }

    /// The names of users whose accounts stay open.
    private final class Needed: Sendable {
        private let names = Mutex<Set<String>>([OwnerRegistryTests.ada.name])
        var users: Set<String> {
            get { names.withLock { $0 } }
            set { names.withLock { $0 = newValue } }
        }
    }

    @Test func `is opened again for who enters while it is being closed`() throws {
        let fixture = try closingFixture()
        let owners = fixture.broker.opened.owners
        let account = try visit(Self.ada, owners)
        let (held, release) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        Thread.detachNewThread {
            account.sessionLocks.withLock { _ in
                held.signal()
                release.wait()
            }
        }
        held.wait()
        let clock = fixture.clock
        let closing = Threads<Void>()
        closing.start { clock.advance(by: Self.wait) }
        try eventually("the account is being closed") { owners.open.isEmpty }
        try eventually("its keys go before anything is waited for") { account.ring.privateHalves.isEmpty }
        let entering = Threads<OwnerStay>()
        entering.start { try owners.enter(Self.ada) }
        try eventually("somebody waits") { owners.waiterCount(of: Self.ada) == 1 }
        release.signal()
        let stay = try entering.wait()[0].get()
        _ = closing.wait()
        #expect(stay.account !== account)
        #expect(stay.account.ring.privateHalves.count == 3)
        #expect(account.ring.privateHalves.isEmpty)
        #expect(owners.open.map(ObjectIdentifier.init) == [ObjectIdentifier(stay.account)])
    }

    @Test func `is closed with the daemon, also one that is just being opened`() throws {
        let fixture = try fixture()
        let owners = fixture.broker.opened.owners
        let told = Told()
        let grace = try owners.enter(Self.grace)
        gate.close()
        let opening = Threads<OwnerStay>()
        opening.start { try owners.enter(Self.ada) }
        gate.waitForArrival()
        owners.whenOpened { told.add($0, to: "late") }
        owners.closeAll()
        #expect(grace.account.ring.privateHalves.isEmpty)
        gate.open()
        #expect(throws: OwnerOpeningError.ended) { try opening.wait()[0].get() }
        #expect(throws: OwnerOpeningError.ended) { try owners.enter(Self.grace) }
        #expect(owners.open.map(\.user) == [Self.grace], "its last records are written later")
        #expect(told.all == ["late": [Self.grace]])
    }

    @Test func `holds no key when the daemon ends while it is being opened`() throws {
        let fixture = try fixture()
        let owners = fixture.broker.opened.owners
        let caught = Caught()
        let (held, release) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        owners.whenOpened { account in
            caught.account.withLock { $0 = account }
            held.signal()
            release.wait()
        }
        let opening = Threads<OwnerStay>()
        opening.start { try owners.enter(Self.ada) }
        held.wait()
        let account = try #require(caught.account.withLock { $0 })
        #expect(account.ring.privateHalves.count == 3)
        owners.closeAll()
        release.signal()
        #expect(throws: OwnerOpeningError.ended) { try opening.wait()[0].get() }
        #expect(account.ring.privateHalves.isEmpty)
    }

    /// An account that nobody has entered yet.
    private final class Caught: Sendable {
        let account = Mutex<OwnerAccount?>(nil)
    }

    @Test func `loses its keys at the daemon's end before another one is waited for`() throws {
        let fixture = try fixture()
        let owners = fixture.broker.opened.owners
        let stays = try [Self.ada, Self.grace].map { try owners.enter($0) }
        let (held, release) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        defer { release.signal() }
        let first = stays[0].account
        Thread.detachNewThread {
            first.sessionLocks.withLock { _ in
                held.signal()
                release.wait()
            }
        }
        held.wait()
        let closing = Threads<Void>()
        closing.start { owners.closeAll() }
        try eventually("all keys are gone") { stays.allSatisfy { $0.account.ring.privateHalves.isEmpty } }
        #expect(closing.doneCount == 0)
        release.signal()
        _ = closing.wait()
    }

    // MARK: the store of several

    @Test func `is not left behind by a move into another enclave`() throws {
        let fixture = try fixture()
        let owners = fixture.broker.opened.owners
        let present = try SystemUser.current()
        for user in [present, Self.ada] { _ = try visit(user, owners) }
        fixture.close()
        let configuration = BrokerConfiguration(
            runsAs: present, stateDirectory: fixture.stateDirectory, helpers: .missing,
            facts: KernelFacts(), sessionRecords: LogindSessions.ofMachine,
            prompts: fixture.broker.configuration.prompts, version: "test")
        let log = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        #expect(
            throws: BrokerOpeningError.store(
                "Nothing was moved. The store has 2 users, and only the store of one user can be moved.")
        ) { try EnclaveMove(configuration, to: .tpm, log: log) { _ in }.run() }
        #expect(!FileManager.default.fileExists(atPath: fixture.stateDirectory + ".tpm"))
    }
}
