import AccessControl
import FingerprintReader
import FingerprintTestSupport
import Foundation
import GRDB
import Glibc
import OstiaryMessages
import Owners
import PromptProtocol
import Testing
import Vault

@testable import Authenticators
@testable import Broker
@testable import BrokerTestSupport
@testable import Refusals

/// Wrong fingers, and the passcode that biometry waits for.
@Suite("Wrong fingers", .timeLimit(.minutes(10)))
struct FingerLockoutTests {
    private let fixture: FingerFixture
    private static let stranger = SensorEvent.touch("stranger")
    private static let owner = SensorEvent.touch("owner")

    init() throws { fixture = try FingerFixture() }

    private func misses(_ count: Int) -> [SensorEvent] { Array(repeating: Self.stranger, count: count) }

    private func lockOut() throws {
        #expect(try fixture.refused("finger", [.wait], misses(3))?.cause == "biometry.not-recognised")
        #expect(try fixture.refused("finger", [.wait], misses(2))?.cause == "biometry.lockout")
    }

    private func expectLockedOut() throws {
        let refused = try fixture.refused("finger")
        #expect(refused?.code == .biometryLockout && refused?.cause == "biometry.lockout")
        #expect(fixture.prompter.asked.isEmpty)
        #expect(try fixture.state().missCount == 5)
    }

    // MARK: three and five

    @Test func `three end an evaluation, and the log tells of them`() throws {
        let grants = try fixture.grantCount()
        let refused = try fixture.refused("finger", [.wait], misses(3))
        #expect(refused?.code == .authenticationFailed && refused?.cause == "biometry.not-recognised")
        #expect(
            fixture.prompter.updates.map(\.text.string).filter { $0.hasPrefix("Not") } == [
                "Not recognised. 2 tries left.", "Not recognised. 1 try left.", "Not recognised.",
            ])
        let attempts = try fixture.broker.client().log().filter { $0.event == "attempt" }
        // Equal ones are folded.
        #expect(!attempts.isEmpty && attempts.allSatisfy { $0.operation == "biometry" && $0.object == "finger" })
        try fixture.expectNothingGranted(since: grants)
    }

    @Test func `three leave the question to the passcode`() throws {
        fixture.prompter.prepare([FingerFixture.passcode])
        fixture.during(misses(3), untilSaid: "The finger was not recognised.")
        #expect(try fixture.broker.authorizeAndSign("either") == ["passcode"])
        #expect(fixture.prompter.askedKinds == [.enterPasscode])
    }

    @Test func `five of several programs lock biometry until the passcode is entered`() throws {
        let grants = try fixture.grantCount()
        try lockOut()
        try expectLockedOut()
        #expect(try fixture.broker.client().status().factors.first { $0.factor == "biometry" }?.available == false)
        // The question has no line for the finger.
        #expect(try fixture.refused("either", [.cancel])?.code == .userCancel)
        #expect(fixture.prompter.asked.map(\.sensors.count) == [0])
        #expect(try fixture.grantCount() == grants)
    }

    @Test func `the passcode ends a lockout`() throws {
        try lockOut()
        #expect(try fixture.open("either", [FingerFixture.passcode], []) == ["passcode"])
        #expect(fixture.prompter.asked.map(\.sensors.count) == [0])
        #expect(try fixture.state().missCount == 0)
        try fixture.expectNextWorks()
    }

    @Test func `what a finger proved before a lockout is not reused, although the passcode ended it`() throws {
        let client = try fixture.broker.client()
        func evaluate() throws -> [String] {
            try client.evaluatePolicy(1, in: client.openContext(), reusing: 300)
        }
        fixture.prompter.prepare([.wait])
        fixture.during([Self.owner])
        #expect(try evaluate() == ["biometry"])
        #expect(try evaluate() == ["biometry"])
        #expect(fixture.prompter.asked.count == 1)
        try lockOut()
        try fixture.unlock()
        fixture.prompter.prepare([.cancel])
        #expect(try refusal { _ = try evaluate() } == .userCancel)
    }

    @Test func `a match that came with a cancelled question forgives nothing`() throws {
        fixture.prompter.prepare([.cancelAnyway])
        fixture.during(
            misses(1) + [Self.owner],
            then: { [fixture] in
                try fixture.stack.waitUntilDisarmed()
                // The daemon hears of it a moment later.
                usleep(300_000)
            })
        #expect(try fixture.refusedWhilePrepared("finger")?.code == .userCancel)
        #expect(try fixture.state().missCount == 1)
        try fixture.expectNextWorks()
        #expect(try fixture.state().missCount == 0)
    }

    @Test func `a match does not end a lockout that came before its proof was used`() throws {
        let biometry = try #require(fixture.broker.account.biometry)
        for _ in 1...5 { _ = try biometry.noteMiss() }
        do {
            try biometry.noteMatch()
            Issue.record("it was forgiven")
        } catch let refusal as Refusal { #expect(refusal.cause == "biometry.lockout") }
        try expectLockedOut()
    }

    @Test func `what needs both asks for the passcode first, which ends the lockout`() throws {
        try lockOut()
        fixture.prompter.prepare([FingerFixture.passcode, .wait])
        fixture.during([.touch("owner")], atQuestion: 2)
        #expect(try Set(fixture.broker.authorizeAndSign("both")) == ["passcode", "biometry"])
        #expect(fixture.prompter.askedKinds == [.enterPasscode, .sensor])
    }

    @Test func `a match forgives them`() throws {
        #expect(try fixture.refused("finger", [.wait], misses(3))?.cause == "biometry.not-recognised")
        #expect(try fixture.open("finger", [.wait], misses(1) + [Self.owner]) == ["biometry"])
        #expect(try fixture.state().missCount == 0)
        #expect(try fixture.refused("finger", [.wait], misses(3))?.cause == "biometry.not-recognised")
        #expect(try fixture.state().missCount == 3)
    }

    @Test func `bad touches are none, and what to do is said`() throws {
        let events: [SensorEvent] = [.badTouch(2), .badTouch(1), .badTouch(0), .badTouch(0), Self.owner]
        #expect(try fixture.open("finger", [.wait], events) == ["biometry"])
        #expect(
            fixture.prompter.updates.map(\.text.string).filter { !$0.hasPrefix("Use") } == [
                "Move your finger to the middle of the reader.", "That was too short. Swipe your finger more slowly.",
                "Clean the reader, and try again.", "Clean the reader, and try again.",
            ])
        #expect(try fixture.state().missCount == 0)
    }

    @Test func `a question that ends is none`() throws {
        for name in ["finger", "either"] {
            fixture.prompter.prepare([.cancel])
            fixture.duringArmed {}
            #expect(try refusal { _ = try fixture.broker.authorizeAndSign(name) } == .userCancel)
        }
        #expect(try fixture.state().missCount == 0)
        try fixture.expectNextWorks()
    }

    @Test func `the finger of another user is a wrong one`() throws {
        try fixture.stack.enroll(.leftThumb, skin: "other", of: "daemon")
        let grants = try fixture.grantCount()
        #expect(
            try fixture.refused("finger", [.wait], [.touch("other"), .touch("other"), .touch("other")])?.cause
                == "biometry.not-recognised")
        try fixture.expectNothingGranted(since: grants)
    }

    // MARK: what outlives the daemon

    @Test func `a lockout outlives the daemon`() throws {
        try lockOut()
        try fixture.broker.restart()
        try expectLockedOut()
        try fixture.unlock()
        try fixture.expectNextWorks()
    }

    @Test func `a miss is on disk before the person is told`() throws {
        fixture.prompter.prepare([.cancel])
        fixture.during(misses(1), untilSaid: "Not recognised. 2 tries left.")
        #expect(try refusal { _ = try fixture.broker.authorizeAndSign("finger") } == .userCancel)
        let copy = try BrokerFixture(in: fixture.broker.crashCopy())
        let row = try #require(
            try copy.account.vault.read { try $0.attempts(owner: copy.account.id, subject: Data("biometry".utf8)) })
        #expect(row.failedCount == 1)
    }

    @Test func `after a start fingers wait for the passcode, once`() throws {
        try fixture.broker.restart()
        let refused = try fixture.refused("finger")
        #expect(refused?.code == .biometryLockout && refused?.cause == "biometry.rests")
        #expect(fixture.prompter.asked.isEmpty)
        fixture.prompter.prepare([.cancel])
        #expect(try refusal { _ = try fixture.broker.authorizeAndSign("either") } == .userCancel)
        #expect(fixture.prompter.asked.map(\.sensors.count) == [0])
        #expect(try !fixture.stack.isArmed())
        fixture.prompter.prepare([FingerFixture.passcode])
        #expect(try fixture.broker.authorizeAndSign("either") == ["passcode"])
        try fixture.expectNextWorks()
    }

    @Test func `after a lock a finger opens what needs no unlocked store, and nothing else`() throws {
        try fixture.create("closed", [.biometry], .whenUnlocked)
        try fixture.broker.client().lock()
        #expect(try fixture.open("finger") == ["biometry"])
        fixture.prompter.prepare([.cancel])
        #expect(try refusal { _ = try fixture.broker.authorizeAndSign("closed") } == .userCancel)
        #expect(fixture.prompter.askedKinds == [.sensor])
    }

    // MARK: who writes the database

    @Test func `a row of before is refused: biometry rests until the passcode`() throws {
        #expect(try fixture.refused("finger", [.wait], misses(3))?.cause == "biometry.not-recognised")
        let store = StoppedStore(of: fixture.broker.folder)
        let before = try store.rows("SELECT * FROM attempt_counters WHERE row_key = ?", [Data("biometry".utf8)])
        #expect(before.count == 1)
        #expect(try fixture.refused("finger", [.wait], misses(2))?.cause == "biometry.lockout")
        fixture.broker.close()
        try store.restore(before, into: "attempt_counters")
        try fixture.broker.restart()
        let refused = try fixture.refused("finger")
        #expect(refused?.code == .biometryLockout && refused?.cause == "biometry.record")
        #expect(fixture.prompter.asked.isEmpty)
        try fixture.unlock()
        try fixture.expectNextWorks()
    }
}
