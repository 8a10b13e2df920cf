import AccessControl
import Cancellations
import ExactNames
import FingerprintReader
import FingerprintTestSupport
import Foundation
import Glibc
import KeySlots
import OstiaryMessages
import Owners
import PromptProtocol
import SystemBusTestSupport
import Testing

@testable import Authenticators
@testable import Broker
@testable import BrokerTestSupport
@testable import ProtectedObjects

/// Rights that a finger opens, on the real fprintd.
@Suite("A finger", .timeLimit(.minutes(10)))
struct FingerTests {
    private let fixture: FingerFixture

    init() throws { fixture = try FingerFixture() }

    // MARK: owners of fingers

    /// In user mode no name is said, and fprintd takes the caller.
    @Test func `of another owner are looked for under that owner's name`() throws {
        let reader = FingerprintReader(socketPath: fixture.stack.bus.path, serviceUserID: getuid())
        guard case .ready = OwnerReader(reader, for: nil).readerState() else { throw WrongState() }
        let other = OwnerReader(reader, for: "nobody")
        guard case .nothingEnrolled = other.readerState() else { throw WrongState() }
        #expect(throws: ReaderFailure.nothingEnrolled) {
            try other.withTouches(until: PollableCancellation()) { (wait) throws(ReaderFailure) in
                try wait(.seconds(120)) { _ in }
            }
        }
    }

    struct WrongState: Error {}

    // MARK: opening

    @Test func `opens what any of finger and passcode opens, in one question with the passcode`() throws {
        #expect(try fixture.open("either") == ["biometry"])
        let asked = fixture.prompter.asked
        #expect(asked.map(\.kind) == [.enterPasscode])
        #expect(
            asked.map(\.sensors) == [
                [PromptSensor(.finger, DisplayText("Swipe your finger over the fingerprint reader."))]
            ])
        #expect(try !fixture.stack.isArmed())
        let grant = try #require(try fixture.broker.client().log().last { $0.event == "authorize" })
        #expect(grant.result == "granted" && grant.factors == ["biometry"] && grant.strength == "broker-bound")
    }

    @Test func `opens with the passcode what both must open, the touch first`() throws {
        #expect(try Set(fixture.open("both", [.wait, FingerFixture.passcode])) == ["biometry", "passcode"])
        #expect(fixture.prompter.askedKinds == [.sensor, .enterPasscode])
    }

    @Test func `satisfies the policies`() throws {
        for policy: Int32 in [1, 2] {
            fixture.prompter.prepare([.wait])
            fixture.during([.touch("owner")])
            let client = try fixture.broker.client()
            try client.evaluatePolicy(policy, in: client.openContext())
        }
    }

    @Test func `leaves the question to the passcode, and is disarmed then`() throws {
        fixture.prompter.prepare([FingerFixture.passcode])
        fixture.duringArmed {}
        #expect(try fixture.broker.authorizeAndSign("either") == ["passcode"])
        try fixture.stack.waitUntilFree()
        #expect(try !fixture.stack.isArmed())
        try fixture.expectNextWorks()
    }

    @Test func `opens nothing but what was asked for: its key serves no evaluation without it`() throws {
        #expect(try fixture.open("finger") == ["biometry"])
        // The same rule, the passcode entered, no finger: the biometry key lies in memory and must not be used.
        let refused = try fixture.refused("finger", [.cancel])
        #expect(refused?.code == .userCancel)
        let object = try fixture.broker.account.rights.find(
            "finger", application: ExactName(#require(try fixture.broker.client().list().first).application))
        let opener = try RightOpener(
            object, label: nil, in: fixture.broker.account.vault, ring: fixture.broker.account.ring,
            stretching: .quick)
        let forged = Evaluation(
            proofs: [Proof(factor: .biometry, strength: .brokerBound)], factors: .biometry, held: .none)
        #expect(throws: SlotError.self) {
            try opener.opened(by: forged, enclave: fixture.broker.broker.enclave)
        }
    }
}
