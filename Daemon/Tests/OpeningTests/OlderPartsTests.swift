import AccessControl
import Foundation
import GRDB
import Opening
import OstiaryMessages
import SeededRandomness
import StoreTestSupport
import Testing
import Vault

@testable import Broker
@testable import BrokerTestSupport

/// Somebody without any key puts back parts of an older copy of the state folder. The tests know no table: they compare all
/// rows of all tables before and after a change.
///
/// Put back are, of the rows that differ: each one, all but each one, sets of two to four, all but two; and the same of whole
/// tables. Of one size at most ``bound`` sets are tried, which ``seed`` chooses evenly. Each is tried with the newer and with
/// the older log, before the daemon is started and while it runs.
@Suite("Parts of an older store that are put back")
struct OlderPartsTests {
    private static let bound = 8
    /// Another one in each run, so that the runs together try other sets than the first few. A failure names it: put that
    /// number here to try the same sets again.
    private static let seed = UInt64.random(in: 0 ... .max)

    enum Change: String, CaseIterable, CustomTestStringConvertible {
        case wrongTry, newPasscode, uses, removedRight, tightenedItem, removedRegistration

        var testDescription: String { rawValue }
    }

    private static let passcode = BrokerFixture.passcode
    private static let newPasscode = "another battery 8"
    private static let program = "/usr/bin/true"
    private static let application = "com.example.tool"
    private static let item = TestClient.query("genp", ["acct": .text("account")])

    // MARK: the folders

    /// A closed folder with something of each kind.
    private static let template = Result { () throws -> TestFolder in
        let fixture = try BrokerFixture()
        try fixture.setPasscode()
        try fixture.create("victim", Requirement(anyOf: [.passcode]), .whenUnlocked)
        try fixture.create("other", .unrestricted, .always)
        let client = try fixture.client()
        try client.addItem(["acct": .text("account"), "pdmn": .text("dk")], data: Data("data".utf8))
        try client.addItem(["acct": .text("another"), "pdmn": .text("dk")])
        fixture.prompter.prepare([.text(passcode)])
        let registration = WireRegisterApplicationRequest.with {
            ($0.path, $0.applicationID, $0.question) = (program, application, TestClient.question)
        }
        try client.call(.registerApplication(registration))
        _ = try fixture.refusalOfAuthorizing("victim", answers: [.text("wrong"), .cancel])
        fixture.close()
        return fixture.folder
    }

    /// Two closed folders, and the rows that differ.
    private struct Times {
        let before: StoppedStore
        let after: StoppedStore
        let differences: [StoppedStore.Difference]
        let recordCount: Int
    }

    /// The times before and after each change, made once.
    private static let times: [Change: Result<Times, any Error>] = Dictionary(
        uniqueKeysWithValues: Change.allCases.map { change in (change, Result { try makeTimes(change) }) })

    private static func makeTimes(_ change: Change) throws -> Times {
        let before = try StoppedStore(copying: template.get())
        // Opened and closed once more, so that both folders were left in the same way.
        try BrokerFixture(in: before.folder).close()
        let after = try StoppedStore(copying: before.folder)
        let fixture = try BrokerFixture(in: after.folder)
        try make(change, fixture)
        let recordCount = try fixture.client().log().count
        fixture.close()
        return Times(
            before: before, after: after, differences: try after.differences(from: before), recordCount: recordCount)
    }

    private static func make(_ change: Change, _ fixture: BrokerFixture) throws {
        let client = try fixture.client()
        switch change {
        case .wrongTry: _ = try fixture.refusalOfAuthorizing("victim", answers: [.text("wrong"), .cancel])
        case .newPasscode: try fixture.changePasscode(to: newPasscode)
        case .uses:
            for _ in 0..<3 {
                fixture.prompter.prepare([.text(passcode)])
                let context = try client.authorize("victim")
                guard try client.sign(client.find("victim"), in: context) else { throw TestClient.UnexpectedAnswer() }
            }
        case .removedRight: try client.remove("victim")
        case .tightenedItem:
            try client.updateItems(item, accessControl: .item(Requirement(anyOf: [.passcode]), .always))
        case .removedRegistration:
            fixture.prompter.prepare([.text(passcode)])
            let removal = WireRemoveApplicationRequest.with {
                ($0.applicationID, $0.question) = (application, TestClient.question)
            }
            try client.call(.removeApplication(removal))
        }
    }

    // MARK: what must not be

    /// Whether the store is as it was before the change, for anybody who asks it. A refusal is none.
    private func isUndone(_ change: Change, _ fixture: BrokerFixture, _ times: Times) throws -> Bool {
        let client = try fixture.client()
        func proves(_ passcode: String) throws -> Bool {
            fixture.prompter.prepare([.text(passcode), .cancel])
            return try refusal { try client.evaluatePolicy(2, in: client.openContext()) } == nil
        }
        switch change {
        case .wrongTry:
            // Two were made. The next one is the third, or is refused without being asked for.
            func tries() throws -> UInt32? {
                var count: UInt32?
                _ = try refusal {
                    count = try client.status().passcode.failedAttempts
                }
                return count
            }
            if let count = try tries(), count != 2 { return true }
            guard try !proves("wrong") else { return true }
            if let count = try tries(), count != 3 { return true }
            return false
        case .newPasscode: return try proves(Self.passcode)
        case .uses:
            fixture.prompter.prepare([.text(Self.passcode)])
            var verdict: WireLogVerdict?
            _ = try refusal { verdict = try client.verifyLog(interactive: true) }
            guard let verdict, verdict.intact else { return false }
            return Int(verdict.recordCount) < times.recordCount
        case .removedRight:
            var id: Data?
            _ = try refusal { id = try client.find("victim").rightID }
            _ = try refusal { id = try client.list().first { $0.identifier == "victim" }?.rightID ?? id }
            return id != nil
        case .tightenedItem:
            fixture.prompter.prepare([.cancel])
            return try refusal { _ = try client.itemData(Self.item) } == nil
        case .removedRegistration:
            var found: [WireApplication] = []
            _ = try refusal {
                guard case .applications(let list) = try client.call(.listApplications(.init())).body else {
                    throw TestClient.UnexpectedAnswer()
                }
                found = list.applications
            }
            return found.contains { $0.applicationID == Self.application }
        }
    }

    enum Log: CaseIterable { case newer, older }
    enum Moment: CaseIterable { case stopped, running }

    /// Puts rows back into a copy of the later folder and asks it.
    private func isUndone(
        _ change: Change, by rows: [StoppedStore.Difference], _ log: Log, _ moment: Moment, _ times: Times
    ) throws -> Bool {
        let store = try StoppedStore(copying: times.after.folder)
        func attack() throws {
            try store.putBack(rows)
            if log == .older { try store.overwriteLog(with: times.before) }
        }
        var fixture: BrokerFixture
        switch moment {
        case .stopped:
            try attack()
            do { fixture = try BrokerFixture(in: store.folder) } catch is BrokerOpeningError { return false }
        case .running:
            fixture = try BrokerFixture(in: store.folder)
            try attack()
        }
        defer { fixture.close() }
        return try isUndone(change, fixture, times)
    }

    // MARK: the sets

    /// Which of `count` parts are put back together, as sets of indices.
    private static func sets(of count: Int) -> Set<Set<Int>> {
        var generator = SeededGenerator(seed: seed)
        let all = Set(0..<count)
        var chosen = Set(all.map { [$0] } + all.map { all.subtracting([$0]) })
        for size in 2...4 where size < count {
            chosen.formUnion(some(size, of: count, &generator))
        }
        if count > 3 { chosen.formUnion(some(2, of: count, &generator).map { all.subtracting($0) }) }
        return chosen.subtracting([[], all])
    }

    /// All sets of one size, or ``bound`` of them.
    private static func some(_ size: Int, of count: Int, _ generator: inout SeededGenerator) -> Set<Set<Int>> {
        var all: [Set<Int>] = [[]]
        for _ in 0..<size {
            all = all.flatMap { set in ((set.max() ?? -1) + 1..<count).map { set.union([$0]) } }
            // Long before they are too many to be kept.
            if all.count > 20_000 { all = Array(all.shuffled(using: &generator).prefix(2000)) }
        }
        return Set(all.shuffled(using: &generator).prefix(bound))
    }

    /// The sets of rows, and the sets of the tables that they are in.
    private static func sets(_ differences: [StoppedStore.Difference]) -> [[StoppedStore.Difference]] {
        let tables = Dictionary(grouping: differences) { $0.place.table }.sorted { $0.key < $1.key }.map(\.value)
        let ofRows = sets(of: differences.count).map { set in set.sorted().map { differences[$0] } }
        let ofTables = sets(of: tables.count).map { set in set.sorted().flatMap { tables[$0] } }
        return ofRows + ofTables.filter { !ofRows.contains($0) }
    }

    @Test(arguments: Change.allCases, Moment.allCases)
    func `are refused, or change nothing`(change: Change, moment: Moment) throws {
        let times = try #require(Self.times[change]).get()
        #expect(times.differences.count >= 3)
        for rows in Self.sets(times.differences) {
            for log in Log.allCases {
                let isUndone = try isUndone(change, by: rows, log, moment, times)
                let left = times.differences.filter { !rows.contains($0) }
                #expect(
                    !isUndone,
                    "put back: \(rows.map(\.place)), left: \(left.map(\.place)), \(log) log, seed \(Self.seed)")
            }
        }
    }

    /// What the tests above could not see if they were wrong about it.
    @Test(arguments: Change.allCases) func `pass for the present only all together`(change: Change) throws {
        let times = try #require(Self.times[change]).get()
        #expect(try isUndone(change, by: times.differences, .older, .stopped, times))
        #expect(try !isUndone(change, by: [], .newer, .stopped, times))
        #expect(try !isUndone(change, by: times.differences, .older, .running, times))
    }

    @Test(arguments: Change.allCases)
    func `are refused as a whole beside the newer log`(change: Change) throws {
        let times = try #require(Self.times[change]).get()
        #expect(try !isUndone(change, by: times.differences, .newer, .stopped, times))
    }

    /// The counter and everything that changed with it, after every try.
    @Test func `do not give back wrong tries to a running daemon`() throws {
        let store = try StoppedStore(copying: Self.template.get())
        let fixture = try BrokerFixture(in: store.folder)
        let client = try fixture.client()
        func guess() throws -> WireFailureCode? {
            fixture.prompter.prepare([.text("wrong"), .cancel])
            return try refusal { try client.evaluatePolicy(2, in: client.openContext()) }
        }
        let before = try store.snapshot()
        _ = try guess()
        #expect(try client.status().passcode.failedAttempts == 2)
        for _ in 0..<4 {
            try store.putBack(store.differences(from: before))
            let refused = try guess()
            #expect(refused == .storeUnreadable && fixture.prompter.asked.isEmpty)
        }
    }
}
