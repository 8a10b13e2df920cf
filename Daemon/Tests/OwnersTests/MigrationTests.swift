import AccessControl
import Callers
import ExactNames
import Foundation
import KeySlots
import OstiaryMessages
import OwnerKeys
import Owners
import PromptProtocol
import SecretMemory
import Sessions
import StoreTestSupport
import Synchronization
import TerminalTestSupport
import Testing
import Vault

@testable import Broker
@testable import BrokerTestSupport
@testable import Opening
@testable import ProtectedObjects

/// A user's own store that is copied into the store of the machine: at each moment one of both is whole.
@Suite("A migration", .timeLimit(.minutes(10)))
struct MigrationTests {
    private static let ada = SystemUser(id: 10_001, name: "ada")
    private static let grace = SystemUser(id: 10_002, name: "grace")
    private static let serves = ServedUsers.anybody(closing: .never)
    private static let itemCount = 3

    /// A part as the exporting daemon writes it.
    private struct Part {
        var kind: TransferKind
        var head: [UInt8]
        var secret: [UInt8] = []
    }

    private func complaint(_ body: () throws -> Void) -> Refused? {
        do {
            try body()
            return nil
        } catch { return error as? Refused }
    }

    // MARK: the former store

    /// The parts of a store of one user.
    private func parts(passcode: String? = BrokerFixture.passcode) throws -> [Part] {
        let former = try BrokerFixture()
        let client = try former.client()
        if let passcode { try former.setPasscode(passcode) }
        for number in 0..<Self.itemCount {
            try client.addItem(["acct": .text("account \(number)")], data: Data("data \(number)".utf8))
        }
        let account = former.account
        try account.applications.store(
            Registration(
                applicationID: "org.example.app", groups: ["shared"], path: "/usr/bin/true", identity: .rootOwned))
        var halves = account.ring.privateHalves
        if let passcode {
            halves = try account.life.privateHalves(openedBy: account.keeper.prove(SecretBytes(text: passcode)))
        }
        return try parts(of: account, halves, in: former.broker.vault, passcode)
    }

    private func parts(
        of account: OwnerAccount, _ halves: [PrivateHalf], in vault: Vault, _ passcode: String?
    ) throws -> [Part] {
        let key = [UInt8](repeating: 7, count: TransferCode.keyByteCount)
        let beginning = TransferBeginning(
            hasPasscode: passcode != nil, itemCount: UInt32(Self.itemCount), registrationCount: 1, keyCount: 0,
            key: key)
        var parts = [Part(kind: .begin, head: beginning.bytes, secret: Array((passcode ?? "").utf8))]
        for registration in account.applications.stored {
            parts.append(Part(kind: .registration, head: registration.transferred))
        }
        for id in try vault.read({ try $0.itemIDs(owner: account.id) }) {
            let draft = try account.items.opened(id, with: halves)!
            let data = draft.copiedData()
            parts.append(Part(kind: .item, head: draft.transferred, secret: Array(Data(exposing: data))))
        }
        return parts + [Part(kind: .end, head: Self.code(over: parts, key))]
    }

    private static func code(over parts: [Part], _ key: [UInt8]) -> [UInt8] {
        var code = TransferCode(key: key)
        for part in parts.dropFirst() { code.add(part.kind.rawValue, part.head, secret(of: part)) }
        return code.bytes
    }

    private static func secret(of part: Part) -> SecretBytes {
        SecretBytes(Data(part.secret))
    }

    // MARK: the machine's store

    private func machine(
        _ observer: (any WriteObserver)? = nil, in folder: TestFolder? = nil
    ) throws -> BrokerFixture {
        let machine = try BrokerFixture(in: folder, serves: Self.serves, observer: observer)
        machine.prompter.always { $0.kind.factor == nil ? .confirm : .text(BrokerFixture.passcode) }
        return machine
    }

    @discardableResult
    private func send(_ part: Part, _ client: TestClient) throws -> WireReply.OneOf_Body {
        try client.call(
            .importStore(
                .with {
                    $0.kind = UInt32(part.kind.rawValue)
                    $0.head = Data(part.head)
                    $0.question = TestClient.question
                }), tail: Self.secret(of: part)
        ).body
    }

    private func send(_ parts: [Part], _ client: TestClient) throws { for part in parts { try send(part, client) } }

    private func users(of machine: BrokerFixture) throws -> [UserRecord] {
        try machine.broker.vault.read { try $0.users() }.compactMap(\.record)
    }

    private func data(_ number: Int, _ client: TestClient) throws -> String {
        try client.itemData(TestClient.query("genp", ["acct": .text("account \(number)")]))
    }

    private func expectMigrated(_ machine: BrokerFixture, hasPasscode: Bool = true) throws {
        let client = try machine.client(as: Self.ada)
        #expect(try client.status().passcode.isSet == hasPasscode)
        if hasPasscode { #expect(try !client.status().unlocked, "the passcode opens it, and nothing else") }
        let account = try #require(machine.account(of: Self.ada))
        let query = TestClient.query("genp", ["acct": .text("account 0")])
        #expect(try client.itemData(query, use: TestClient.use()) == "data 0")
        for number in 1..<Self.itemCount { #expect(try data(number, client) == "data \(number)") }
        #expect(account.applications.stored.map(\.applicationID) == ["org.example.app"])
        #expect(try users(of: machine).map(\.name) == ["ada"])
    }

    // MARK: whole

    @Test(arguments: [BrokerFixture.passcode, nil])
    func `brings items, registrations and the passcode, and its user's next connection has them`(
        passcode: String?
    ) throws {
        let parts = try parts(passcode: passcode)
        let machine = try machine()
        let (client, other) = (try machine.client(as: Self.ada), try machine.client(as: Self.ada))
        try send(Array(parts.dropLast()), client)
        #expect(complaint { _ = try data(0, other) }?.code == .notFound, "nothing is there before the end")
        guard case .importOutcome(let outcome) = try send(parts[parts.count - 1], client) else {
            throw TestClient.UnexpectedAnswer()
        }
        #expect(outcome.items == UInt32(Self.itemCount) && outcome.registrations == 1 && outcome.leftItems == 0)
        #expect(try machine.broker.vault.read { try $0.users() }.compactMap(\.record).map(\.id.bytes) == [outcome.copy])
        #expect(throws: (any Error).self, "connections of the former part end") { try other.list() }
        client.end()
        let registered = try machine.client(as: Self.ada).log().filter { $0.event == "application-register" }
        #expect(registered.map { "\($0.object) \($0.operation)" } == ["org.example.app store-import"])
        try expectMigrated(machine, hasPasscode: passcode != nil)
        try machine.restart()
        machine.prompter.always { $0.kind.factor == nil ? .confirm : .text(BrokerFixture.passcode) }
        try expectMigrated(machine, hasPasscode: passcode != nil)
    }

    @Test func `brings items with free attributes as they are: twins, empty data, and the programs that they are for`()
        throws
    {
        let former = try BrokerFixture()
        try former.setPasscode()
        let client = try former.client()
        let values: ItemValues = [".service": .text("mail"), ".empty": .text(""), "labl": .text("Mail")]
        for data in [Data(), Data("two".utf8)] { try client.addItem("free", values, data: data) }
        let ruled = values.merging(["only": .text(try client.status().caller.program)]) { $1 }
        try client.addItem("free", ruled, data: Data("three".utf8), accessControl: .item(.passcode))
        let account = former.account
        let proved = try account.keeper.prove(SecretBytes(text: BrokerFixture.passcode))
        let halves = try account.life.privateHalves(openedBy: proved)
        let machine = try machine()
        let sender = try machine.client(as: Self.ada)
        try send(parts(of: account, halves, in: former.broker.vault, BrokerFixture.passcode), sender)
        sender.end()
        let found = try machine.client(as: Self.ada).findItems(TestClient.query("free"))
        #expect(found.map(\.data) == [Data(), Data("two".utf8), Data("three".utf8)])
        #expect(found.allSatisfy { $0.item.hasData_p && $0.item.itemClass == "free" })
        for (item, given) in zip(found, [values, values, ruled]) {
            for (name, value) in given { #expect(item.item.values[name] == value, "\(name)") }
        }
        let service = TestClient.query("free", [".service": .text("mail"), ".empty": .text("")])
        #expect(try machine.client(as: Self.ada).listItems(service).map(\.lock) == [.open, .open, .ruled])
    }

    @Test func `asks the owner before anything is made`() throws {
        let machine = try machine()
        machine.prompter.always { _ in .cancel }
        let client = try machine.client(as: Self.ada)
        let refused = complaint { try send(parts()[0], client) }
        #expect(refused?.code == .userCancel)
        #expect(try users(of: machine).map(\.name) == ["ada"])
    }

    // MARK: interrupted

    /// Copies the state folder around each commit, as a crash there leaves it.
    private final class CrashCopies: WriteObserver {
        private let folder = Mutex<String?>(nil)
        private let taken = Mutex<[(label: String, copy: TestFolder)]>([])

        func begin(copying stateDirectory: String) { folder.withLock { $0 = stateDirectory } }
        var all: [(label: String, copy: TestFolder)] { taken.withLock { $0 } }

        private func copy(_ label: String) {
            guard let state = folder.withLock({ $0 }), let copy = try? BrokerFixture.copyOfState(state) else { return }
            taken.withLock { $0.append((label, copy)) }
        }

        func willCommit(_ label: String) { copy("before \(label)") }
        func didCommit(_ label: String) { copy("after \(label)") }
    }

    @Test func `leaves one of both stores whole at each moment, and the next start clears up`() throws {
        let parts = try parts()
        let crashes = CrashCopies()
        let machine = try machine(crashes)
        let client = try machine.client(as: Self.ada)
        crashes.begin(copying: machine.stateDirectory)
        try send(parts, client)
        let copies = crashes.all
        #expect(copies.count >= 12, "\(copies.map(\.label))")
        var migratedLabels: [String] = []
        for (label, copy) in copies {
            let opened = try self.machine(in: copy)
            let names = try users(of: opened).map(\.name)
            #expect(names == ["ada"], "\(label): nothing unfinished stays")
            let next = try opened.client(as: Self.ada)
            let account = try #require(opened.account(of: Self.ada))
            let count = try opened.broker.vault.read { try $0.itemCount(owner: account.id) }
            #expect([0, Self.itemCount].contains(count), "\(label): \(count) items")
            if count == 0 {
                // The former store serves for a second run.
                try send(parts, next)
                next.end()
            } else {
                migratedLabels.append(label)
                next.end()
            }
            try expectMigrated(opened)
            opened.close()
        }
        #expect(migratedLabels.first == "after owner.migrate", "\(migratedLabels)")
    }

    @Test(arguments: 1...5)
    func `ends with its connection, and nothing of it stays`(count: Int) throws {
        let parts = try parts()
        let machine = try machine()
        let client = try machine.client(as: Self.ada)
        try send(Array(parts.prefix(count)), client)
        #expect(try users(of: machine).count == 2)
        client.end()
        try eventually("it is cleared up") { try users(of: machine).map(\.name) == ["ada"] }
        let next = try machine.client(as: Self.ada)
        try send(parts, next)
        next.end()
        try expectMigrated(machine)
    }

    // MARK: the copy that is looked for before the own store is removed

    private func look(for copy: Data, _ client: TestClient) throws {
        let body = try client.call(
            .importStore(.with { ($0.kind, $0.head) = (WireImportStoreRequest.lookForCopy, copy) })
        ).body
        guard case .done = body else { throw TestClient.UnexpectedAnswer() }
    }

    @Test func `is there for its user until the administrator forgets the user, and for nobody else`() throws {
        let machine = try machine()
        let client = try machine.client(as: Self.ada)
        let parts = try parts()
        try send(Array(parts.dropLast()), client)
        guard case .importOutcome(let outcome) = try send(parts[parts.count - 1], client) else {
            throw TestClient.UnexpectedAnswer()
        }
        client.end()
        let (ada, grace) = (try machine.client(as: Self.ada), try machine.client(as: Self.grace))
        try look(for: outcome.copy, ada)
        for (copy, client) in [(outcome.copy, grace), (Data(), ada), (Data(count: 16), ada)] {
            let refused = complaint { try look(for: copy, client) }
            #expect(refused?.code == .notFound && refused?.cause == "migrate.other-copy")
        }
        ada.end()
        let root = try machine.client(as: SystemUser(id: 0, name: "root"))
        _ = try root.call(.forgetUser(.with { ($0.userID, $0.name) = (Self.ada.id, Self.ada.name) }))
        let next = try machine.client(as: Self.ada)
        #expect(complaint { try look(for: outcome.copy, next) }?.cause == "migrate.other-copy")
    }

    // MARK: refused

    @Test func `is refused when a part is missing, changed, doubled or of another kind`() throws {
        let parts = try parts()
        var changed = parts
        changed[3].secret = Array("other data".utf8)
        var foreign = parts
        foreign[2].head[0] = UInt8(ascii: "x")
        var cut = parts
        cut[2].head.removeLast()
        let last = parts.count - 1
        let wrong: [[Part]] = [
            Array(parts.dropFirst(2).dropLast()) + [parts[last]], changed, foreign, cut,
            Array(parts[..<last]) + [parts[last - 1], parts[last]], [parts[0]] + parts,
        ]
        for (number, wrong) in wrong.enumerated() where number > 0 {
            let machine = try machine()
            let client = try machine.client(as: Self.ada)
            let refused = complaint { try send(wrong, client) }
            if number == 5 {
                // A second beginning on the connection begins again.
                #expect(refused == nil)
                continue
            }
            #expect(refused?.code == .malformed, "\(number): \(refused as Any)")
            #expect(refused?.cause == "migrate.malformed")
            client.end()
            try eventually("it is cleared up") { try users(of: machine).map(\.name) == ["ada"] }
        }
        let machine = try machine()
        let client = try machine.client(as: Self.ada)
        let refused = complaint { try send(wrong[0], client) }
        #expect(refused?.code == .outOfOrder && refused?.cause == "migrate.not-begun")
    }

    @Test func `is refused over objects or a passcode of the user, and leaves them`() throws {
        let parts = try parts()
        let machine = try machine()
        let (ada, grace) = (try machine.client(as: Self.ada), try machine.client(as: Self.grace))
        try ada.addItem(["acct": .text("there")], data: Data("already".utf8))
        machine.prompter.prepare([.text(BrokerFixture.passcode), .text(BrokerFixture.passcode)])
        try grace.passcode(.set)
        for client in [ada, grace] {
            let refused = complaint { try send(parts, client) }
            #expect(refused?.code == .duplicate && refused?.cause == "migrate.not-empty")
            #expect(
                refused?.explanation
                    == "The store of this machine has a passcode or objects of yours already, so nothing was copied into "
                    + "it.")
        }
        #expect(try ada.itemData(TestClient.query("genp", ["acct": .text("there")])) == "already")
    }

    @Test func `is refused over an item that was added meanwhile`() throws {
        let parts = try parts()
        let machine = try machine()
        let (client, other) = (try machine.client(as: Self.ada), try machine.client(as: Self.ada))
        try send(Array(parts.dropLast()), client)
        try other.addItem(["acct": .text("late")], data: Data("late".utf8))
        let refused = complaint { try send(parts[parts.count - 1], client) }
        #expect(refused?.cause == "migrate.not-empty")
        #expect(try other.itemData(TestClient.query("genp", ["acct": .text("late")])) == "late")
    }

    @Test func `does not take a passcode that is too weak for software`() throws {
        var parts = try parts()
        parts[0].secret = Array("1234".utf8)
        let machine = try machine()
        let client = try machine.client(as: Self.ada)
        let refused = complaint { try send(parts, client) }
        #expect(refused?.code == .passcodeTooWeak)
        #expect(try users(of: machine).count == 1)
    }

    @Test func `keeps its user out while it takes the place of the former part, and says so`() throws {
        let machine = try machine()
        let owners = machine.broker.opened.owners
        let stay = try owners.enter(Self.ada)
        try owners.replace(stay.account) {
            let refused = complaint { _ = try machine.client(as: Self.ada) }
            #expect(refused?.code == .systemCancel && refused?.cause == "owner.being-replaced")
            #expect(
                refused?.explanation
                    == "A copy of the user's own store is taking the place of the user's part of this store; connect "
                    + "again.")
            #expect(throws: OwnerOpeningError.beingReplaced) {
                try owners.whileBarred(Self.ada.id, ending: nil) { Issue.record("the user was forgotten meanwhile") }
            }
            _ = try owners.enter(Self.grace)
        }
        #expect(try owners.enter(Self.ada).account !== stay.account)
        try owners.whileBarred(Self.ada.id, ending: nil) {
            let refused = complaint { _ = try machine.client(as: Self.ada) }
            #expect(refused?.cause == "owner.being-forgotten")
        }
    }

    @Test func `goes into a store of several users alone`() throws {
        let fixture = try BrokerFixture()
        let client = try fixture.client()
        let refused = complaint { try send(parts(), client) }
        #expect(refused?.code == .operationNotPermitted && refused?.cause == "migrate.one-user")
    }
}
