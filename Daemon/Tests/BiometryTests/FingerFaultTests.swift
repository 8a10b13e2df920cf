import AccessControl
import Cancellations
import Dispatch
import FingerprintReader
import FingerprintTestSupport
import Foundation
import Glibc
import HelperProcesses
import OstiaryMessages
import Owners
import PromptProtocol
import Synchronization
import SystemBusTestSupport
import TerminalTestSupport
import Testing

@testable import Authenticators
@testable import Broker
@testable import BrokerTestSupport
@testable import Refusals

/// Faults and attacks while a finger is asked for. Nothing is granted that was not proved, and the next evaluation works.
@Suite("While a finger is asked for", .timeLimit(.minutes(10)))
struct FingerFaultTests {
    private let fixture: FingerFixture
    private let grants: Int

    init() throws {
        fixture = try FingerFixture()
        grants = try fixture.grantCount()
    }

    /// What `finger` is refused with when `fault` comes while the reader is armed.
    private func refused(_ fault: @escaping @Sendable (FingerprintStack) throws -> Void) throws -> Refused? {
        fixture.prompter.prepare([.wait])
        fixture.duringArmed { [fixture] in try fault(fixture.stack) }
        return try fixture.refusedWhilePrepared("finger")
    }

    // MARK: the service

    @Test func `fprintd is killed`() throws {
        let refused = try refused { try $0.killService() }
        #expect(refused?.code == .biometryNotAvailable && refused?.cause == "biometry.service")
        let later = try fixture.refused("finger")
        #expect(later?.code == .biometryNotAvailable && later?.cause == "biometry.service")
        #expect(try fixture.open("either", [FingerFixture.passcode], []) == ["passcode"])
        #expect(fixture.prompter.asked.map(\.sensors.count) == [0])
        try fixture.stack.startService()
        try fixture.expectNothingGranted(since: grants + 1)
    }

    @Test func `fprintd is killed between two touches`() throws {
        fixture.prompter.prepare([.wait])
        fixture.during(
            [.touch("stranger")], untilSaid: "Not recognised. 2 tries left.",
            then: { [fixture] in try fixture.stack.killService() })
        let refused = try fixture.refusedWhilePrepared("finger")
        #expect(refused?.cause == "biometry.service")
        #expect(try fixture.grantCount() == grants)
        try fixture.stack.startService()
        #expect(try fixture.state().missCount == 1)
        try fixture.expectNextWorks()
    }

    @Test func `fprintd does not answer`() throws {
        fixture.stack.freezeService()
        let begin = ContinuousClock.now
        let refused = try fixture.refused("finger")
        #expect(refused?.cause == "biometry.service")
        #expect(ContinuousClock.now - begin < .seconds(15))
        try fixture.stack.thawServiceUntilFree()
        try fixture.expectNothingGranted(since: grants)
    }

    @Test func `the bus ends`() throws {
        let refused = try refused { $0.bus.stop() }
        #expect(refused?.code == .biometryNotAvailable && refused?.cause == "biometry.service")
        #expect(try fixture.refused("finger")?.cause == "biometry.service")
        #expect(try fixture.open("either", [FingerFixture.passcode], []) == ["passcode"])
        #expect(try fixture.grantCount() == grants + 1)
    }

    @Test func `the reader is unplugged`() throws {
        let refused = try refused { try $0.play(.unplug) }
        #expect(refused?.code == .biometryNotAvailable && refused?.cause == "biometry.disconnected")
        #expect(try fixture.refused("finger")?.cause == "biometry.no-sensor")
        try fixture.stack.killService()
        try fixture.stack.startService()
        try fixture.expectNothingGranted(since: grants)
    }

    @Test func `the reader fails`() throws {
        let refused = try refused { try $0.play(.fault(0)) }
        #expect(refused?.code == .biometryNotAvailable && refused?.cause == "biometry.reader")
        try fixture.expectNothingGranted(since: grants)
    }

    @Test func `another program holds the reader`() throws {
        let other = try FingerprintAsker(.hold, on: fixture.stack.bus)
        try other.waitFor("held")
        #expect(try fixture.refused("finger")?.cause == "biometry.busy")
        #expect(try fixture.open("either", [FingerFixture.passcode], []) == ["passcode"])
        other.kill()
        try fixture.expectNothingGranted(since: grants + 1)
    }

    // MARK: forged

    @Test(arguments: [false, true]) func `somebody else says that it matched`(isSentStraight: Bool) throws {
        fixture.prompter.prepare([.wait])
        let strangers = Array(repeating: SensorEvent.touch("stranger"), count: 3)
        fixture.during(
            strangers,
            first: { [fixture] in
                let bus = fixture.stack.bus
                let receivers: [String?] = isSentStraight ? try bus.names(ofProcess: getpid()) : [nil]
                for receiver in receivers {
                    try bus.emit(
                        "/net/reactivated/Fprint/Device/0", "net.reactivated.Fprint.Device.VerifyStatus",
                        ["'verify-match'", "true"], to: receiver)
                }
            })
        #expect(try fixture.refusedWhilePrepared("finger")?.cause == "biometry.not-recognised")
        try fixture.expectNothingGranted(since: grants)
    }

    // MARK: programs

    @Test func `the program that asks goes away with the finger on the sensor`() throws {
        var client: TestClient? = try fixture.broker.client()
        let (right, context) = (try client!.find("finger"), try client!.openContext())
        fixture.prompter.prepare([.wait])
        _ = try client!.send(
            .authorize(
                .with {
                    ($0.contextID, $0.subject) = (context, .rightID(right.rightID))
                    $0.question = TestClient.question
                }))
        try eventually("the reader waits") { try fixture.stack.isArmed() }
        client!.end()
        client = nil
        try eventually("the reader is off") { try !fixture.stack.isArmed() }
        try fixture.expectNothingGranted(since: grants)
    }

    @Test func `a finger that was compared for one question answers no other one within a second`() throws {
        let touched = Mutex(ContinuousClock.now)
        fixture.prompter.prepare([.wait])
        fixture.during([.touch("owner")], first: { touched.withLock { $0 = .now } })
        #expect(try fixture.broker.authorizeAndSign("finger") == ["biometry"])
        fixture.prompter.prepare([.wait])
        fixture.during(
            [.touch("owner")],
            first: {
                let time = touched.withLock { $0 }
                #expect(time.duration(to: .now) >= .seconds(1))
            })
        #expect(try fixture.broker.authorizeAndSign("finger") == ["biometry"])
    }

    @Test func `of two questions that are visible at once, one touch answers the first`() throws {
        fixture.prompter.always { _ in .wait }
        let first = try Authorizing(fixture, "finger")
        try eventually("the reader waits") { try fixture.stack.isArmed() }
        let second = try Authorizing(fixture, "finger")
        try eventually("the second waits for its turn") {
            fixture.prompter.updates.contains { $0.text.string.hasPrefix("Another question") }
        }
        try fixture.stack.play(.touch("owner"))
        #expect(first.wait() == "biometry")
        #expect(second.isWaiting)
        try eventually("the reader waits again") { try fixture.stack.isArmed() }
        try fixture.stack.play(.touch("owner"))
        #expect(second.wait() == "biometry")
        fixture.prompter.always(nil)
        #expect(try fixture.grantCount() == grants + 2)
        try fixture.expectNextWorks()
    }

    // MARK: words

    @Test func `each reason has a cause of its own kind, and none is a grant`() {
        let failures: [(ReaderFailure, String)] = [
            (.withoutBus, "biometry.service"), (.withoutService, "biometry.service"),
            (.serviceNotStarted, "biometry.service"),
            (.untrustedService, "biometry.service"), (.withoutReader, "biometry.no-sensor"),
            (.disconnected, "biometry.disconnected"), (.denied, "biometry.denied"),
            (.deniedForOthers, "biometry.denied"),
            (.nothingEnrolled, "biometry.not-enrolled"), (.busy, "biometry.busy"),
            (.serviceEnded, "biometry.service"), (.silent, "biometry.service"), (.readerFault, "biometry.reader"),
            (.stopped, "biometry.service"), (.unexpected("x"), "biometry.service"),
        ]
        for (failure, cause) in failures {
            let refusal = BiometryObstacle.reader(failure).refusal
            #expect(refusal.cause == cause)
            #expect(refusal.code == (failure == .nothingEnrolled ? .biometryNotEnrolled : .biometryNotAvailable))
        }
    }
}

/// An authorization on a thread of its own.
private final class Authorizing: Sendable {
    private let result = Mutex<String?>(nil)
    private let done = DispatchSemaphore(value: 0)

    init(_ fixture: FingerFixture, _ name: String) throws {
        Thread.detachNewThread { [self] in
            let text: String
            do { text = try fixture.broker.authorizeAndSign(name).joined() } catch { text = "\(error)" }
            result.withLock { $0 = text }
            done.signal()
        }
    }

    var isWaiting: Bool { result.withLock { $0 == nil } }

    func wait() -> String? {
        _ = done.wait(timeout: .now() + 120)
        return result.withLock { $0 }
    }
}

/// Changes, and a slow reader, at moments around a touch.
@Suite("Around a touch", .timeLimit(.minutes(10)))
struct FingerMomentTests {
    /// Changes the fingers past fprintd, as root can, when they were looked at and the reader does not wait yet.
    private func changePastService(
        _ fixture: FingerFixture, _ change: @escaping @Sendable (FingerprintStack) throws -> Void
    ) {
        // The test's thread waits for the answer meanwhile.
        nonisolated(unsafe) let stack = fixture.stack
        fixture.reader.once(.beforeArming) {
            do { try change(stack) } catch { Issue.record("\(error)") }
        }
    }

    @Test func `fingers that change between the look at them and the start of the reader prove nothing`() throws {
        let fixture = try FingerFixture(hasTemplates: true)
        for name in ["finger", "set"] {
            let grants = try fixture.grantCount()
            changePastService(fixture) { try $0.plantTemplate() }
            let refused = try fixture.refused(name, [.wait], [.touch("owner")])
            #expect(refused?.code == .biometryLockout && refused?.cause == "biometry.rests")
            #expect(try fixture.grantCount() == grants)
            try fixture.stack.removeLeftThumb()
            try fixture.unlock()
        }
        try fixture.expectNextWorks()
    }

    /// Documentation/security/limits.md, limit 20.
    @Test func `without the helper, fingers that change past fprintd make biometry rest at the next look`() throws {
        let fixture = try FingerFixture()
        try fixture.stack.enroll(.leftThumb, skin: "second")
        try fixture.unlock()
        changePastService(fixture) { try $0.removeLeftThumb() }
        #expect(try fixture.open("finger") == ["biometry"])
        #expect(try fixture.refused("finger")?.cause == "biometry.rests")
    }

    @Test func `no finger can be enrolled or deleted between the look at them and the start of the reader`() throws {
        let fixture = try FingerFixture()
        nonisolated(unsafe) let stack = fixture.stack
        fixture.reader.once(.beforeArming) {
            #expect(throws: ReaderFailure.busy) {
                try stack.enroll(.leftThumb, skin: "second", patience: .zero)
            }
            #expect(throws: ReaderFailure.busy) {
                try stack.fingerprintReader().withClaim(until: PollableCancellation()) {
                    (claimed) throws(ReaderFailure) in
                    try claimed.delete(.rightIndex)
                }
            }
        }
        #expect(try fixture.open("finger") == ["biometry"])
        #expect(try fixture.state().fingerCount == 1)
    }

    @Test func `a reader that is given back slowly delays no answer, and the next question waits for it`() throws {
        let fixture = try FingerFixture()
        let gate = DispatchSemaphore(value: 0)
        fixture.reader.once(.beforeRelease) { _ = gate.wait(timeout: .now() + 120) }
        #expect(try fixture.open("finger") == ["biometry"])
        #expect(try !fixture.stack.isArmed())
        #expect(throws: ReaderFailure.busy) { try fixture.stack.claimOnce() }
        fixture.prompter.prepare([.wait])
        let next = try Authorizing(fixture, "finger")
        try eventually("the next waits for its turn") {
            fixture.prompter.updates.contains { $0.text.string.hasPrefix("Another question") }
        }
        gate.signal()
        try eventually("the reader waits again") { try fixture.stack.isArmed() }
        try fixture.stack.play(.touch("owner"))
        #expect(next.wait() == "biometry")
    }
}

/// Readers and services that are not there, or that say what they should not.
@Suite("Where a finger cannot be asked for", .timeLimit(.minutes(10)))
struct FingerAbsenceTests {
    private func fixture(on bus: PrivateBus) throws -> BrokerFixture {
        let fixture = try BrokerFixture(
            fingers: FingerSources(
                systemBus: bus.path, serviceUserID: getuid(),
                templates: HelperSocketAddress(path: "/nowhere/templates", managerUserID: getuid())))
        try fixture.setPasscode()
        return fixture
    }

    private func refusedRule(_ fixture: BrokerFixture, _ alternatives: [FactorSet]) throws -> Refused? {
        do {
            try fixture.create("right", Requirement(anyOf: alternatives), .afterFirstUnlock)
            return nil
        } catch let refused as Refused { return refused }
    }

    @Test func `without fprintd a rule that needs a finger is refused, and one with another way is made`() throws {
        let fixture = try fixture(on: PrivateBus())
        let refused = try refusedRule(fixture, [.biometry])
        #expect(refused?.code == .biometryNotAvailable && refused?.cause == "biometry.service")
        #expect(try refusedRule(fixture, [.biometry, .passcode]) == nil)
        let client = try fixture.client()
        for (policy, code) in [(Int32(1), WireFailureCode.biometryNotAvailable), (2, .userCancel)] {
            fixture.prompter.prepare([.cancel])
            #expect(try refusal { try client.evaluatePolicy(policy, in: client.openContext()) } == code)
        }
    }

    @Test func `without a reader a rule that needs a finger is refused`() throws {
        let stack = try FingerprintStack([])
        let refused = try refusedRule(fixture(on: stack.bus), [.biometry])
        #expect(refused?.code == .biometryNotAvailable && refused?.cause == "biometry.no-sensor")
    }

    @Test func `without an enrolled finger the rule is made, and its object waits for one`() throws {
        let stack = try FingerprintStack()
        let fixture = try fixture(on: stack.bus)
        #expect(try refusedRule(fixture, [.biometry]) == nil)
        let refused = try fixture.refusalOfAuthorizing("right")
        #expect(refused?.code == .biometryNotEnrolled && refused?.cause == "biometry.not-enrolled")
        let status = try #require(try fixture.client().status().factors.first { $0.factor == "biometry" })
        #expect(!status.available && status.note == "No finger is enrolled.")
    }

    @Test(arguments: MisbehavingFprint.Moment.allCases)
    func `a match before the start was answered, or when the stop was sent, opens nothing`(
        moment: MisbehavingFprint.Moment
    ) throws {
        let bus = try PrivateBus()
        let service = try MisbehavingFprint(matchingDuring: moment, on: bus, sendsMissAfterStart: true)
        let fixture = try fixture(on: bus)
        try fixture.create("right", Requirement(anyOf: [.biometry]), .afterFirstUnlock)
        let refused = try fixture.refusalOfAuthorizing("right", answers: [.wait])
        #expect(refused?.cause == "biometry.not-recognised")
        #expect(try fixture.client().log().filter { $0.event == "authorize" && $0.result == "granted" }.isEmpty)
        withExtendedLifetime(service) {}
    }
}
