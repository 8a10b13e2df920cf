import AccessControl
import Foundation
import GRDB
import OstiaryMessages
import OwnerKeys
import Owners
import StoreTestSupport
import Testing
import Vault

@testable import Auditing
@testable import Broker
@testable import BrokerTestSupport
@testable import Diagnosis

@Suite("The doctor")
struct DiagnosisTests {
    /// A closed store of everything that the doctor looks at: with a counter for the passcode and one for the
    /// application password of a right.
    private static let template = Result { try makeTemplate() }

    private static func makeTemplate() throws -> TestFolder {
        let fixture = try BrokerFixture()
        try fixture.setPasscode()
        try fixture.create("bound", Requirement(anyOf: [.passcode]), .whenUnlocked)
        try fixture.create("guarded", Requirement(anyOf: [.applicationPassword]), .always)
        try fixture.create("free", .unrestricted, .always)
        guard try fixture.opens("bound", answers: [.text("wrong"), .text(BrokerFixture.passcode)]),
            try fixture.opens("guarded", answers: [.text("x"), .text(BrokerFixture.applicationPassword)])
        else { throw TestClient.UnexpectedAnswer() }
        try fixture.client().addItem(["acct": .text("item"), "pdmn": .text("dk")])
        fixture.close()
        return fixture.folder
    }

    private let store: StoppedStore
    private static let isPasscode = "row_key = CAST('passcode' AS BLOB)"

    init() throws { store = try StoppedStore(copying: Self.template.get()) }

    private func fixture() throws -> BrokerFixture { try BrokerFixture(in: store.folder) }

    private static func problems(_ fixture: BrokerFixture) throws -> [WireFinding] {
        // The tests' program for prompts does not exist, their process is no daemon, and its libraries are the toolchain's.
        let ofTests: Set = ["prompt", "dumps", "libraries"]
        return try fixture.client().diagnosis().findings
            .filter { $0.verdict == .problem && !ofTests.contains($0.check) }
    }

    /// The doctor's one problem.
    private func problem(_ fixture: BrokerFixture) throws -> WireFinding {
        let problems = try Self.problems(fixture)
        try #require(problems.count == 1, "\(problems)")
        #expect(problems[0].advice.contains("Restore the state folder from a backup"))
        return problems[0]
    }

    @Test func `a whole store has no problem`() throws {
        #expect(try Self.problems(fixture()) == [])
        #expect(try Self.problems(BrokerFixture()) == [])
    }

    // MARK: what a person would like to know

    private func finding(_ check: String, _ fixture: BrokerFixture) throws -> WireFinding {
        try #require(fixture.client().diagnosis().findings.first { $0.check == check })
    }

    @Test func `tells of wrong passcodes, and of the delay that they brought`() throws {
        let fixture = try BrokerFixture()
        #expect(try finding("lockout", fixture).message == "There is no passcode that could be wrong.")
        try fixture.setPasscode()
        try fixture.create("bound", Requirement(anyOf: [.passcode]), .whenUnlocked)
        #expect(try finding("lockout", fixture).verdict == .ok)
        _ = try fixture.refusalOfAuthorizing("bound", answers: [.text("wrong"), .cancel])
        let one = try finding("lockout", fixture)
        #expect(one.verdict == .notice && one.message.hasPrefix("Wrong passcodes since the last right one: 1."))
        for _ in 0..<4 { _ = try fixture.refusalOfAuthorizing("bound", answers: [.text("wrong"), .cancel]) }
        let running = try finding("lockout", fixture)
        #expect(running.verdict == .problem)
        #expect(running.message == "After 5 wrong passcodes none is accepted for 1 min.", "\(running.message)")
        fixture.clock.advance(by: .seconds(61))
        #expect(try finding("lockout", fixture).message.hasSuffix("After the next wrong one you wait 5 minutes."))
        #expect(try fixture.opens("bound", answers: [.text(BrokerFixture.passcode)]))
        #expect(try finding("lockout", fixture).verdict == .ok)
    }

    @Test func `calls it no good news that an older copy of the folder would pass`() throws {
        let counter = try finding("store counter", BrokerFixture())
        #expect(counter.verdict == .notice)
        #expect(counter.message.contains("an older copy of the whole state folder passes for the newest"))
    }

    // MARK: rows and lists

    enum Damage: CaseIterable { case altered, removed, unlisted }

    private func inflict(_ damage: Damage, on table: VaultTable, named name: String, where condition: String) throws {
        let changed =
            switch damage {
            case .altered: try store.alter("generation", of: name, where: condition)
            case .removed: try store.write("DELETE FROM \(name) WHERE \(condition)")
            case .unlisted:
                try store.alter("entries", of: "lists", where: "row_key = ?", [Data([table.rawValue, 0, 0])])
            }
        try #require(changed > 0)
    }

    @Test(arguments: Damage.allCases)
    func `a passcode record that does not verify is a problem`(damage: Damage) throws {
        try inflict(damage, on: .passcodeRecords, named: "passcode_records", where: "1")
        let problem = try problem(fixture())
        #expect(problem.check == "passcode")
        let consequence = "no passcode is accepted, and the passcode can be neither changed nor removed."
        #expect(problem.message.hasSuffix(consequence))
        #expect(problem.advice.contains("everything that the passcode protects is lost"))
    }

    @Test(arguments: Damage.allCases)
    func `a counter of wrong passcodes that does not verify is a problem`(damage: Damage) throws {
        try inflict(damage, on: .attemptCounters, named: "attempt_counters", where: Self.isPasscode)
        let problem = try problem(fixture())
        #expect(problem.check == "wrong tries")
        let consequence = "no passcode is accepted, and the passcode can be neither set, changed nor removed."
        #expect(problem.message.hasSuffix(consequence))
        #expect(problem.advice.contains("everything that the passcode protects is lost"))
    }

    @Test func `a state of the login that does not verify is no counter of an application password`() throws {
        do {
            let fixture = try fixture()
            try fixture.account.login.set(.following)
            fixture.close()
        }
        let isOfLogin = "row_key = CAST('login' AS BLOB)"
        try inflict(.altered, on: .attemptCounters, named: "attempt_counters", where: isOfLogin)
        let problem = try problem(fixture())
        #expect(
            problem.message == "1 of 3 counters of wrong tries do not verify. One is the state of the login: no login "
                + "tries its password.")
        #expect(problem.advice.hasSuffix("or run `ostiary passcode follow-login`, which makes this counter new."))
    }

    @Test(arguments: [Damage.altered, .removed])
    func `a counter of wrong application passwords that does not verify is a problem`(damage: Damage) throws {
        try inflict(damage, on: .attemptCounters, named: "attempt_counters", where: "NOT \(Self.isPasscode)")
        let fixture = try fixture()
        let problem = try problem(fixture)
        #expect(problem.check == "wrong tries")
        #expect(
            problem.message == "1 of 2 counters of wrong tries do not verify, so as many rights, keys or items accept "
                + "no application password.")
        #expect(problem.advice.contains("or remove the objects that no longer accept their password"))

        try fixture.client().remove("guarded")
        #expect(try Self.problems(fixture) == [])
        #expect(try fixture.opens("bound", answers: [.text(BrokerFixture.passcode)]))
    }

    @Test(arguments: Damage.allCases)
    func `an epoch of the log that does not verify is a problem`(damage: Damage) throws {
        try inflict(damage, on: .logEpochs, named: "log_epochs", where: "rowid = (SELECT min(rowid) FROM log_epochs)")
        let problem = try problem(fixture())
        #expect(problem.check == "log epochs")
        #expect(problem.message.contains("`ostiary log --verify` is refused, and the passcode can be neither set"))
        #expect(problem.advice.hasSuffix("Without a backup, this cannot be repaired; everything else keeps working."))
    }

    @Test(arguments: [false, true])
    func `how many epochs there are is told where one user is served alone`(isOfSeveral: Bool) throws {
        try inflict(.altered, on: .logEpochs, named: "log_epochs", where: "rowid = (SELECT min(rowid) FROM log_epochs)")
        let fixture = try fixture()
        let finding = StoreExamination(
            vault: fixture.broker.vault, account: fixture.account,
            callerLines: fixture.broker.store.log.callerLines, requester: .daemon, isOfSeveral: isOfSeveral
        ).epochFinding()
        #expect(finding.verdict == .problem)
        let count = isOfSeveral ? "Some" : "1 of 2"
        #expect(
            finding.message.hasPrefix("\(count) epochs of the audit log do not verify: "), "\(finding.message)")
    }

    /// With one of these the daemon does not start; it notices what is done while it runs.
    @Test func `a key pair that does not verify is a problem`() throws {
        let fixture = try fixture()
        #expect(try store.alter("generation", of: "key_pairs", where: "1") > 0)
        let problem = try problem(fixture)
        #expect(problem.check == "key pairs")
        #expect(problem.message.contains("the daemon will not start again"))
    }

    @Test(arguments: [
        (VaultTable.objects, ["the rights cannot be counted", "a check of the store failed"]),
        (.attemptCounters, ["the counter of wrong passcodes cannot be used", "a check of the store failed"]),
    ])
    func `a program in a loop fills no log with what it asks about a damaged store`(
        table: VaultTable, messages: [String]
    ) throws {
        let changed = try store.alter(
            "entries", of: "lists", where: "substr(row_key, 1, 1) = ?", [Data([table.rawValue])])
        try #require(changed > 0)
        let recorded = RecordedLog()
        let fixture = try BrokerFixture(in: store.folder, log: recorded.logger)
        let client = try fixture.client()
        let former = recorded.lines.count
        for _ in 0..<Int(CallerLines.burst) {
            _ = try client.status()
            _ = try client.diagnosis()
        }
        for message in messages { #expect(recorded.count(of: message) > 0, "\(message)") }
        #expect(recorded.lines.count - former <= Int(CallerLines.burst))
    }

    // MARK: a database that cannot be read

    /// Overwrites the page that a table begins with.
    private func destroy(_ table: String) throws {
        let root = try #require(try store.rows("SELECT rootpage FROM sqlite_schema WHERE name = ?", [table]).first)
        let size = try #require(try store.rows("PRAGMA page_size").first)
        let (page, byteCount): (Int, Int) = (root[0], size[0])
        try overwrite(from: (page - 1) * byteCount, byteCount: byteCount)
    }

    private func overwrite(from offset: Int, byteCount: Int) throws {
        let path = BrokerFixture.stateDirectory(in: store.folder) + "/vault.sqlite"
        let file = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
        try file.seek(toOffset: UInt64(offset))
        try file.write(contentsOf: Data(repeating: 0xff, count: byteCount))
        try file.close()
    }

    @Test(arguments: [
        ("objects", ["store"]), ("items", ["items"]), ("item_lists", ["keys", "items"]),
        ("passcode_records", ["passcode"]), ("attempt_counters", ["wrong tries"]), ("log_epochs", ["log epochs"]),
    ])
    func `what lies on a damaged page is a problem of its own, and everything else is looked at`(
        table: String, checks: [String]
    ) throws {
        try destroy(table)
        let fixture = try fixture()
        let problems = try Self.problems(fixture)
        #expect(problems.map(\.check) == checks)
        for problem in problems {
            #expect(problem.message.contains("The database cannot be read"))
            #expect(problem.advice.contains("Restore the state folder from a backup"))
        }
    }

    @Test func `when nothing of the store can be read, the rest is looked at`() throws {
        let (whole, fixture) = (try BrokerFixture(), try fixture())
        let checks = whole.broker.diagnosis(for: whole.account, as: .daemon).findings.map(\.check)
        try store.write("DROP TABLE roots")
        #expect(try fixture.client().diagnosis().findings.map(\.check) == checks)
        let problems = try Self.problems(fixture)
        #expect(
            problems.map(\.check)
                == [
                    "store", "keys", "items", "audit log", "log epochs", "passcode", "wrong tries", "key pairs",
                    "start",
                ])
        #expect(problems.allSatisfy { $0.message.contains("The database cannot be read") })
    }
}
