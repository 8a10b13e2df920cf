import AccessControl
import Foundation
import KeySlots
import Opening
import OstiaryMessages
import OwnerKeys
import Owners
import Sessions
import StoreTestSupport
import TerminalTestSupport
import Testing
import Vault

@testable import Broker
@testable import BrokerTestSupport

/// What root may ask a daemon of several users about all of them.
@Suite("The administrator", .timeLimit(.minutes(10)))
struct AdministrationTests {
    private static let root = SystemUser(id: 0, name: "root")
    private static let ada = SystemUser(id: 10_001, name: "ada")
    private static let grace = SystemUser(id: 10_002, name: "grace")
    private static let free = AccessControl(availability: .whenUnlocked, using: .unrestricted)
    private static let requests: [WireRequest.OneOf_Body] = [
        .adminUsers(.init()), .adminLog(.with { $0.limit = 10 }),
        .forgetUser(.with { ($0.userID, $0.name, $0.endsConnections) = (grace.id, grace.name, true) }),
    ]

    private let fixture: BrokerFixture

    init() throws { fixture = try BrokerFixture(serves: .anybody(closing: .never)) }

    private func complaint(_ body: () throws -> Void) -> Refused? {
        do {
            try body()
            return nil
        } catch { return error as? Refused }
    }

    private func setPasscode(_ client: TestClient) throws {
        fixture.prompter.prepare([.text(BrokerFixture.passcode), .text(BrokerFixture.passcode)])
        try client.passcode(.set)
    }

    private func users(_ root: TestClient) throws -> WireAdminUserList {
        guard case .adminUsers(let list) = try root.call(.adminUsers(.init())).body else {
            throw TestClient.UnexpectedAnswer()
        }
        return list
    }

    private func records(_ root: TestClient) throws -> [WireAdminLogRecord] {
        var records: [WireAdminLogRecord] = []
        while true {
            let request = WireAdminLogRequest.with {
                ($0.firstIndex, $0.limit) = (UInt64(records.count), WireLimits.logPageCount)
            }
            guard case .adminLogPage(let page) = try root.call(.adminLog(request)).body else {
                throw TestClient.UnexpectedAnswer()
            }
            guard !page.records.isEmpty else { return records }
            records += page.records
        }
    }

    private func forget(_ user: SystemUser, _ root: TestClient, now: Bool = false) throws {
        _ = try root.call(
            .forgetUser(.with { ($0.userID, $0.name, $0.endsConnections) = (user.id, user.name, now) }))
    }

    // MARK: who

    @Test func `is root alone, and everybody else is refused and recorded`() throws {
        _ = try fixture.client(as: Self.grace)
        let ada = try fixture.client(as: Self.ada)
        for request in Self.requests {
            let refused = complaint { _ = try ada.call(request) }
            #expect(refused?.code == .notPermitted)
            #expect(refused?.cause == "admin.not-permitted")
            #expect(
                refused?.explanation
                    == "Only the administrator of this machine may ask for that. Run the command as root.")
        }
        let events = try ada.log().filter { $0.reason == "admin.not-permitted" }.map(\.event)
        #expect(events == ["admin-users", "admin-log", "forget-user"])
        #expect(try fixture.broker.vault.read { try $0.users() }.count == 2, "nobody was forgotten")
    }

    @Test func `is nobody where one user is served, even if that is root`() throws {
        let fixture = try BrokerFixture()
        let client = try fixture.client()
        let cause = fixture.account.user.id == 0 ? "admin.one-user" : "admin.not-permitted"
        for request in Self.requests {
            let refused = complaint { _ = try client.call(request) }
            #expect(refused?.code == .notPermitted)
            #expect(refused?.cause == cause)
        }
    }

    // MARK: users and log

    @Test func `sees names and counts of all users`() throws {
        let (root, ada) = (try fixture.client(as: Self.root), try fixture.client(as: Self.ada))
        var grace: TestClient? = try fixture.client(as: Self.grace)
        try setPasscode(ada)
        for name in ["one", "two"] { try ada.create(name, Self.free) }
        try ada.addItem(["acct": .text("alice")], data: Data("secret".utf8))
        try ada.lock()
        grace?.end()
        grace = nil
        let account = try #require(fixture.account(of: Self.grace))
        try eventually("grace has left") { fixture.broker.sessions.all(of: account).isEmpty }
        let list = try users(root)
        #expect(list.users.map(\.name) == ["root", "ada", "grace"])
        #expect(list.users.map(\.userID) == [0, Self.ada.id, Self.grace.id])
        #expect(list.users.map(\.connectionCount) == [1, 1, 0])
        #expect(list.users.map(\.isUnlocked) == [true, false, true])
        #expect(list.total == 3 && list.unreadableCount == 0)
        let counts = try #require(list.users[1].counts)
        #expect(counts.isPasscodeSet && counts.rights == 2 && counts.items == 1 && counts.keys == 0)
        #expect(list.users[2].counts == WireAdminCounts())
    }

    @Test func `sees no secret, no name of an object and no account of an item`() throws {
        let (root, ada) = (try fixture.client(as: Self.root), try fixture.client(as: Self.ada))
        try setPasscode(ada)
        try ada.create("her right", Self.free, secret: "her secret")
        let context = try ada.authorize("her right")
        _ = try ada.secret(of: ada.find("her right"), in: context)
        try ada.addItem(["acct": .text("her account"), "svce": .text("her service")], data: Data("her data".utf8))
        _ = try ada.itemData(TestClient.query("genp", ["acct": .text("her account")]))
        _ = complaint { _ = try ada.authorize("her missing right") }
        let (list, records) = (try users(root), try records(root))
        let answers = try [
            WireReply.with { $0.body = .adminUsers(list) },
            WireReply.with { $0.body = .adminLogPage(.with { $0.records = records }) },
        ].map { try $0.canonicalBytes(in: WireLimits.protocolVersion, behind: 0, reserving: 0) }
        for text in [
            "her right", "her secret", "her account", "her service", "her data", "her missing", BrokerFixture.passcode,
        ] {
            for answer in answers { #expect(Data(answer).range(of: Data(text.utf8)) == nil, "\(text)") }
        }
        let hers = records.filter { $0.userName == "ada" }
        #expect(hers.contains { $0.record.event == "create" } && hers.allSatisfy { $0.record.object.isEmpty })
        #expect(records.contains { $0.owner.isEmpty && $0.record.event == "log-epoch" }, "the daemon's own are there")
        #expect(records.map(\.record.index) == Array(0..<UInt64(records.count)))
    }

    // MARK: forgetting

    @Test func `forgets a user with everything, and the number may be another person's then`() throws {
        let (root, grace) = (try fixture.client(as: Self.root), try fixture.client(as: Self.grace))
        let ada = try fixture.client(as: Self.ada)
        try grace.create("hers", Self.free, secret: "graces")
        try ada.create("hers", Self.free)
        try ada.addItem(["acct": .text("alice")], data: Data("secret".utf8))
        ada.end()
        let account = try #require(fixture.account(of: Self.ada))
        try eventually("ada has left") { fixture.broker.sessions.all(of: account).isEmpty }
        try eventually("her account can be closed") { complaint { try forget(Self.ada, root) } == nil }
        #expect(account.ring.privateHalves.isEmpty)
        #expect(try fixture.broker.vault.read { try $0.user(account.id) } == nil)
        #expect(try users(root).users.map(\.name) == ["root", "grace"])
        let other = try fixture.client(as: SystemUser(id: Self.ada.id, name: "eve"))
        #expect(try other.list(ofAllApplications: true).isEmpty)
        #expect(complaint { _ = try other.findItems(TestClient.query()) }?.code == .notFound)
        let context = try grace.authorize("hers")
        #expect(try grace.secret(of: grace.find("hers"), in: context) == "graces")
        #expect(
            try root.log().contains {
                $0.event == "forget-user" && $0.result == "done" && $0.object == "ada (user 10001)"
            })
        #expect(try records(root).contains { !$0.owner.isEmpty && $0.userName.isEmpty }, "records of a former user")
    }

    @Test func `ends connections only when told to`() throws {
        let (root, ada) = (try fixture.client(as: Self.root), try fixture.client(as: Self.ada))
        try ada.create("hers", Self.free)
        let refused = complaint { try forget(Self.ada, root) }
        #expect(refused?.code == .operationNotPermitted)
        #expect(refused?.cause == "admin.in-use")
        #expect(
            refused?.explanation == "Programs of ada are connected. End them, or give --now to end their connections.")
        #expect(try ada.list().count == 1, "nothing was ended")
        try forget(Self.ada, root, now: true)
        #expect(throws: (any Error).self) { try ada.list() }
        #expect(try fixture.client(as: Self.ada).list().isEmpty)
    }

    @Test func `forgets nobody under another number or name, and not the own account`() throws {
        let root = try fixture.client(as: Self.root)
        _ = try fixture.client(as: Self.ada)
        for other in [SystemUser(id: Self.ada.id, name: "eve"), SystemUser(id: 10_009, name: Self.ada.name)] {
            let refused = complaint { try forget(other, root, now: true) }
            #expect(refused?.code == .notFound && refused?.cause == "admin.no-user")
        }
        let own = complaint { try forget(Self.root, root, now: true) }
        #expect(own?.code == .invalidParameter && own?.cause == "admin.own-account")
        #expect(try users(root).total == 2)
    }

    @Test func `keeps a user out who is being forgotten, and lets them in again afterwards`() throws {
        let owners = fixture.broker.opened.owners
        try owners.whileBarred(Self.ada.id, ending: nil) {
            #expect(throws: OwnerOpeningError.beingForgotten) { try owners.enter(Self.ada) }
            #expect(throws: OwnerOpeningError.beingForgotten) {
                try owners.whileBarred(Self.ada.id, ending: nil) { Issue.record("it ran twice at once") }
            }
            _ = try owners.enter(Self.grace)
        }
        #expect(try owners.enter(Self.ada).account.user == Self.ada)
    }
}
