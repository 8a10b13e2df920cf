import AccessControl
import Foundation
import GRDB
import OstiaryMessages
import Owners
import StoreTestSupport
import Testing
import Vault

@testable import Broker
@testable import BrokerTestSupport
@testable import OwnerKeys

@Suite("What is left in the files")
struct ErasureTests {
    let fixture: BrokerFixture

    init() throws { fixture = try BrokerFixture() }

    /// Runs a change, and expects that what it replaced was there before and is nowhere after it.
    private func expectErased(atLeast count: Int, by change: () throws -> Void) throws {
        fixture.account.eraser.erase()
        let before = try OldWraps(in: fixture.stateDirectory).foundWhole(in: fixture.stateDirectory)
        try change()
        let replaced = try before.withoutThose(in: fixture.stateDirectory)
        #expect(replaced.count >= count)
        #expect(try replaced.traces(in: fixture.stateDirectory) == 0)
    }

    private func createRights(withPasscode: Bool) throws {
        try fixture.create("free", .unrestricted, .whenUnlocked)
        guard withPasscode else { return }
        try fixture.create("bound", Requirement(anyOf: [.passcode]), .whenUnlocked)
        try fixture.create("either", Requirement(anyOf: [.passcode, .biometry]), .whenPasscodeSet)
    }

    @Test func `after setting a passcode: no class key that the enclave alone opens`() throws {
        try createRights(withPasscode: false)
        try expectErased(atLeast: 20) { try fixture.setPasscode() }
    }

    @Test func `after changing it: nothing that the old one opens`() throws {
        try fixture.setPasscode()
        try createRights(withPasscode: true)
        try expectErased(atLeast: 100) { try fixture.changePasscode(to: "another battery 8") }
    }

    @Test func `after removing it: no key and no right that was bound to it`() throws {
        try fixture.setPasscode()
        try createRights(withPasscode: true)
        try expectErased(atLeast: 100) { try fixture.removePasscode() }
    }

    @Test func `after removing or replacing a right: neither slots nor key nor secret`() throws {
        try fixture.setPasscode()
        try createRights(withPasscode: true)
        let client = try fixture.client()
        try expectErased(atLeast: 30) { try client.remove("either") }
        try expectErased(atLeast: 30) {
            try client.create("bound", AccessControl(availability: .always, using: .unrestricted), replace: true)
        }
        try expectErased(atLeast: 30) { try client.removeAll() }
    }

    /// Another connection to the store, in the middle of reading.
    private final class Reader {
        private let queue: DatabaseQueue

        init(of stateDirectory: String) throws {
            var configuration = Configuration()
            configuration.readonly = true
            configuration.allowsUnsafeTransactions = true
            queue = try DatabaseQueue(path: stateDirectory + "/vault.sqlite", configuration: configuration)
            try queue.unsafeRead { database in
                try database.execute(sql: "BEGIN")
                _ = try Row.fetchAll(database, sql: "SELECT * FROM key_pairs")
            }
        }

        func end() throws {
            try queue.unsafeRead { try $0.execute(sql: "COMMIT") }
            try queue.close()
        }
    }

    private var doctorsVerdict: WireFinding.Verdict? {
        fixture.broker.diagnosis(for: fixture.account, as: .daemon).findings.first { $0.check == "old wraps" }?.verdict
    }

    @Test func `a reader during a change of the passcode: it succeeds, and the erasure is owed until it is made`()
        throws
    {
        try fixture.setPasscode()
        try createRights(withPasscode: true)
        fixture.account.eraser.erase()
        #expect(doctorsVerdict == .ok)
        let before = try OldWraps(in: fixture.stateDirectory).foundWhole(in: fixture.stateDirectory)
        let reader = try Reader(of: fixture.stateDirectory)
        try fixture.changePasscode(to: "another battery 8")
        let replaced = try before.withoutThose(in: fixture.stateDirectory)
        #expect(replaced.count >= 100)
        #expect(try replaced.traces(in: fixture.stateDirectory) > 0)
        #expect(doctorsVerdict == .notice)

        // A start erases what is owed; while somebody reads it cannot, and says so too.
        try fixture.restart()
        #expect(doctorsVerdict == .notice)
        try reader.end()
        try fixture.restart()
        #expect(doctorsVerdict == .ok)
        #expect(try replaced.traces(in: fixture.stateDirectory) == 0)
        fixture.prompter.prepare([.text("another battery 8")])
        let client = try fixture.client()
        #expect(try client.authorize(client.find("bound"), in: client.openContext()) == ["passcode"])
    }

    @Test func `an erasure that is owed is tried again until it succeeds`() throws {
        try fixture.setPasscode()
        let eraser = JournalEraser(
            vault: fixture.broker.vault, log: fixture.broker.log, retryInterval: .milliseconds(20))
        let reader = try Reader(of: fixture.stateDirectory)
        try createRights(withPasscode: true)
        eraser.erase()
        #expect(fixture.broker.vault.isErasureOwed)
        Thread.sleep(forTimeInterval: 1.5)
        #expect(fixture.broker.vault.isErasureOwed, "the reader reads still")
        try reader.end()
        let end = Date(timeIntervalSinceNow: 10)
        while fixture.broker.vault.isErasureOwed, Date() < end { Thread.sleep(forTimeInterval: 0.02) }
        #expect(!fixture.broker.vault.isErasureOwed)
    }

    @Test func `names, secrets and passcodes never lie in the files as they are`() throws {
        try fixture.setPasscode()
        try createRights(withPasscode: true)
        let wanted = ["either", "secret of", BrokerFixture.passcode].map { Data($0.utf8) }
        let state = try fixture.crashCopy()
        for name in ["vault.sqlite", "vault.sqlite-wal"] {
            let bytes = try Data(contentsOf: URL(fileURLWithPath: state.path("state/" + name)))
            for text in wanted { #expect(bytes.range(of: text) == nil, "\(name)") }
        }
    }
}
