import AccessControl
import Foundation
import OstiaryMessages
import ProcessFacts
import PromptProtocol
import Prompting
import Testing

@testable import Authenticators
@testable import Broker
@testable import BrokerTestSupport
@testable import Refusals

/// What policies are refused with, for each state of sensor, companion and passcode.
@Suite("Policies", .timeLimit(.minutes(10)))
struct PolicyTests {
    private let finger = ScriptedSensor()
    private let key = ScriptedSensor(.securityKey)
    private let fixture: BrokerFixture

    init() throws {
        finger.enrol("one finger")
        key.makeUnavailable(.securityKeyNotEnrolled)
        fixture = try BrokerFixture(sensors: AddedAuthenticators(authenticators: [finger, key]))
    }

    /// A look at the sensor takes as long as its service, and the person waits for the answer.
    @Test(arguments: [1, 2] as [Int32])
    func `the answer has biometry, without another look at the sensor`(policy: Int32) throws {
        try fixture.setPasscode()
        let client = try fixture.client()
        let known = try #require(try client.environment().biometry)
        let looks = finger.lookCount
        fixture.prompter.prepare([.wait])
        finger.prepare([ScriptedSensor.proves()])
        let request = try WireEvaluatePolicyRequest.with {
            ($0.contextID, $0.policy, $0.question) = (try client.openContext(), policy, TestClient.question)
        }
        for _ in 1...2 {
            guard case .granted(let granted) = try client.call(.evaluatePolicy(request)).body else {
                throw TestClient.UnexpectedAnswer()
            }
            #expect(granted.biometry == known)
        }
        #expect(finger.lookCount == looks)
    }

    @Test func `the answer of a policy without biometry says nothing of it where no sensor is`() throws {
        let bare = try BrokerFixture()
        try bare.setPasscode()
        let client = try bare.client()
        bare.prompter.prepare([.text(BrokerFixture.passcode)])
        let request = try WireEvaluatePolicyRequest.with {
            ($0.contextID, $0.policy, $0.question) = (try client.openContext(), 2, TestClient.question)
        }
        guard case .granted(let granted) = try client.call(.evaluatePolicy(request)).body else {
            throw TestClient.UnexpectedAnswer()
        }
        #expect(granted.factors == ["passcode"] && granted.biometry == nil)
    }

    /// The code that each of the policies 1 to 5 is refused with by a preflight.
    private func refusals() throws -> [WireFailureCode?] {
        let client = try fixture.client()
        return try (1...5).map { policy in
            try refusal { try client.preflight(policy: policy) }
        }
    }

    private static let noWatch = WireFailureCode.companionNotAvailable

    @Test(
        arguments: [
            (nil, [nil, nil, noWatch, nil, noWatch]),
            (.biometryNotAvailable, [.biometryNotAvailable, nil, noWatch, noWatch, noWatch]),
            (.biometryNotEnrolled, [.biometryNotEnrolled, nil, noWatch, .biometryNotEnrolled, noWatch]),
            (.biometryLockout, [.biometryLockout, nil, noWatch, .biometryLockout, noWatch]),
        ] as [(Unavailability?, [WireFailureCode?])])
    func `with a passcode`(sensor: Unavailability?, expected: [WireFailureCode?]) throws {
        try fixture.setPasscode()
        finger.makeUnavailable(sensor)
        #expect(try refusals() == expected)
        key.makeUnavailable(nil)
        #expect(try refusals() == [expected[0], nil, nil, nil, Self.noWatch])
    }

    @Test(
        arguments: [
            (nil, [.passcodeNotSet, .passcodeNotSet, noWatch, .passcodeNotSet, noWatch]),
            (.biometryNotAvailable, [.biometryNotAvailable, .passcodeNotSet, noWatch, noWatch, noWatch]),
            (.biometryNotEnrolled, [.biometryNotEnrolled, .passcodeNotSet, noWatch, .biometryNotEnrolled, noWatch]),
        ] as [(Unavailability?, [WireFailureCode?])])
    func `without a passcode`(sensor: Unavailability?, expected: [WireFailureCode?]) throws {
        finger.makeUnavailable(sensor)
        #expect(try refusals() == expected)
        key.makeUnavailable(nil)
        #expect(try refusals() == [expected[0], .passcodeNotSet, nil, nil, Self.noWatch])
    }

    @Test func `where no sensor is armed, only what needs none is possible`() throws {
        try fixture.setPasscode()
        fixture.prompter.refuseSensors(because: .remote)
        let refused = WireFailureCode.notInteractive
        #expect(try refusals() == [refused, nil, Self.noWatch, refused, Self.noWatch])
        let client = try fixture.client()
        do {
            try client.preflight(policy: 1)
            Issue.record("possible")
        } catch let refused as Refused { #expect(refused.cause == "prompt.sensor-remote") }
        // What cannot be done anywhere is said first.
        finger.makeUnavailable(.biometryNotEnrolled)
        #expect(try refusals()[0] == .biometryNotEnrolled)
        finger.makeUnavailable(nil)
        fixture.prompter.refuseSensors(because: nil)
        #expect(try refusals() == [nil, nil, Self.noWatch, nil, Self.noWatch])
    }

    @Test(
        arguments: [([.biometry], false), ([[.biometry, .passcode]], false), ([.biometry, .passcode], true)]
            as [([FactorSet], Bool)])
    func `rights say as much where no sensor is armed`(alternatives: [FactorSet], isPossible: Bool) throws {
        try fixture.setPasscode()
        try fixture.create("right", Requirement(anyOf: alternatives), .always)
        let client = try fixture.client()
        let id = try client.find("right").rightID
        try client.authorize(rightID: id, in: client.openContext(), preflight: true)
        fixture.prompter.refuseSensors(because: .notActive)
        let code = try refusal {
            try client.authorize(rightID: id, in: client.openContext(), preflight: true)
        }
        #expect(code == (isPossible ? nil : .notInteractive))
        #expect(fixture.prompter.asked.isEmpty)
    }

    @Test func `without a passcode are not evaluated either, and nobody is asked`() throws {
        let client = try fixture.client()
        for policy: Int32 in [1, 2, 4] {
            let context = try client.openContext()
            #expect(try refusal { try client.evaluatePolicy(policy, in: context) } == .passcodeNotSet)
        }
        #expect(fixture.prompter.asked.isEmpty)
    }

    @Test(arguments: [0, 6, -1, .max, .min] as [Int32])
    func `that Apple does not have are refused`(number: Int32) throws {
        let client = try fixture.client()
        #expect(try refusal { try client.preflight(policy: number) } == .invalidParameter)
        #expect(try refusal { try client.evaluatePolicy(number, in: client.openContext()) } == .invalidParameter)
    }

    @Test func `say why they are not possible rather than that nobody may be asked`() throws {
        try fixture.setPasscode()
        fixture.prompter.prepare([])
        let client = try fixture.client()
        let quiet = WireQuestion.with { ($0.reason, $0.interactionNotAllowed) = ("a test", true) }
        for (reason, code) in [
            (.biometryNotEnrolled, .biometryNotEnrolled), (.biometryLockout, .biometryLockout), (nil, .notInteractive),
        ] as [(Unavailability?, WireFailureCode)] {
            finger.makeUnavailable(reason)
            let context = try client.openContext()
            #expect(try refusal { try client.evaluatePolicy(1, in: context, question: quiet) } == code)
            #expect(try refusal { try client.evaluatePolicy(2, in: context, question: quiet) } == .notInteractive)
        }
        #expect(fixture.prompter.asked.isEmpty)
    }

    // MARK: titles

    @Test func `offer the usual fallback, another one, or none, where the passcode is not accepted`() throws {
        try fixture.setPasscode()
        let client = try fixture.client()
        for (title, hides, shown) in [
            ("", false, "Use Passcode…"), ("Use PIN", false, "Use PIN"), ("", true, nil), ("Use PIN", true, nil),
        ] as [(String, Bool, String?)] {
            let question = WireQuestion.with {
                ($0.reason, $0.fallbackTitle, $0.hidesFallback) = ("a test", title, hides)
            }
            for policy: Int32 in [1, 2] {
                fixture.prompter.prepare([.cancel])
                let context = try client.openContext()
                #expect(
                    try refusal { try client.evaluatePolicy(policy, in: context, question: question) } == .userCancel)
                let asked = try #require(fixture.prompter.asked.first)
                #expect(asked.fallbackTitle?.string == (policy == 1 ? shown : nil))
            }
        }
    }

    @Test func `end with the fallback when the person chooses it`() throws {
        try fixture.setPasscode()
        fixture.prompter.prepare([.fallback])
        let client = try fixture.client()
        #expect(try refusal { try client.evaluatePolicy(1, in: client.openContext()) } == .userFallback)
    }

    // MARK: reuse

    /// Proves biometry for another program's context.
    private func proveBiometry() throws {
        fixture.prompter.prepare([.wait])
        finger.prepare([ScriptedSensor.proves()])
        let other = try fixture.client()
        #expect(try other.evaluatePolicy(1, in: other.openContext()) == ["biometry"])
        fixture.prompter.prepare([])
    }

    /// Evaluates a policy in a new context; true when nobody was asked.
    private func isReused(_ policy: Int32 = 1, within seconds: Double) throws -> Bool {
        fixture.prompter.prepare([.cancel])
        let client = try fixture.client()
        var factors: [String]?
        let context = try client.openContext(keepingFactors: true)
        let code = try refusal { factors = try client.evaluatePolicy(policy, in: context, reusing: seconds) }
        #expect(code == (factors == nil ? .userCancel : nil) && fixture.prompter.asked.isEmpty == (factors != nil))
        #expect(factors == nil || factors == ["biometry"])
        return factors != nil
    }

    @Test(
        arguments: [
            (0, 0, false), (10, 9, true), (10, 10, true), (10, 11, false), (300, 300, true), (300, 301, false),
            (10_000, 300, true), (10_000, 301, false), (.infinity, 301, false), (-1, 0, false), (.nan, 0, false),
        ] as [(Double, Int, Bool)])
    func `ask nobody when biometry was proved as recently as the program says`(
        seconds: Double, age: Int, expected: Bool
    ) throws {
        try fixture.setPasscode()
        try proveBiometry()
        fixture.clock.advance(by: .seconds(age))
        for policy: Int32 in [1, 2, 4] { #expect(try isReused(policy, within: seconds) == expected) }
    }

    @Test func `reuse no passcode, and no proof that was never given`() throws {
        try fixture.setPasscode()
        #expect(try !isReused(within: 300))
        fixture.prompter.prepare([.text(BrokerFixture.passcode)])
        let client = try fixture.client()
        #expect(try client.evaluatePolicy(2, in: client.openContext()) == ["passcode"])
        #expect(try !isReused(2, within: 300))
    }

    @Test func `do not reuse biometry for a companion, and a reuse proves nothing anew`() throws {
        try fixture.setPasscode()
        key.makeUnavailable(nil)
        try proveBiometry()
        #expect(try !isReused(3, within: 300))
        fixture.clock.advance(by: .seconds(200))
        #expect(try isReused(within: 300))
        fixture.clock.advance(by: .seconds(101))
        #expect(try !isReused(within: 300))
    }

    @Test func `a reuse opens nothing and does not stay in its context`() throws {
        try fixture.setPasscode()
        try fixture.create("finger", Requirement(anyOf: [.biometry]), .whenUnlocked)
        try proveBiometry()
        let client = try fixture.client()
        let context = try client.openContext(keepingFactors: true)
        #expect(try client.evaluatePolicy(1, in: context, reusing: 300) == ["biometry"])
        fixture.prompter.prepare([.cancel, .cancel])
        #expect(try refusal { _ = try client.authorize(client.find("finger"), in: context) } == .userCancel)
        #expect(try refusal { try client.evaluatePolicy(1, in: context) } == .userCancel)
        #expect(try client.log().contains { $0.operation == "policy 1, reused" && $0.factors == ["biometry"] })
    }

    enum Ending: CaseIterable { case lock, change, revocation, enrolment, lockout, unplugged, restart }

    @Test(arguments: Ending.allCases) func `reuse nothing after`(ending: Ending) throws {
        try fixture.setPasscode()
        try proveBiometry()
        #expect(try isReused(within: 300))
        switch ending {
        case .lock: try fixture.client().lock()
        case .change: try fixture.changePasscode(to: "another battery 8")
        case .revocation: _ = try fixture.client().call(.revokeGrants(.with { $0.which = .all(.init()) }))
        case .enrolment: finger.enrol("two fingers")
        case .lockout:
            finger.lockOut()
            let client = try fixture.client()
            let context = try client.openContext()
            #expect(try refusal { try client.evaluatePolicy(1, in: context, reusing: 300) } == .biometryLockout)
            // The passcode could satisfy this one.
            #expect(try !isReused(2, within: 300))
            finger.makeUnavailable(nil)
        case .unplugged:
            finger.plug(false)
            let client = try fixture.client()
            let context = try client.openContext()
            #expect(try refusal { try client.evaluatePolicy(1, in: context, reusing: 300) } == .biometryNotAvailable)
            return
        case .restart: try fixture.restart()
        }
        #expect(try !isReused(within: 300))
    }

    @Test func `reuse nothing while biometry cannot be used, and the proof again afterwards`() throws {
        try fixture.setPasscode()
        try proveBiometry()
        finger.makeUnavailable(.biometryRestsUntilPasscode)
        #expect(try !isReused(2, within: 300))
        finger.makeUnavailable(nil)
        #expect(try isReused(2, within: 300))
    }

    @Test(arguments: [SensorRefusal.remote, .notActive, .sessionLocked, .withoutSession, .unknownSession])
    func `reuse nothing for a program that arms no sensor, and the proof for one that does`(
        refusal: SensorRefusal
    ) throws {
        try fixture.setPasscode()
        try proveBiometry()
        fixture.prompter.refuseSensors(because: refusal)
        for policy: Int32 in [1, 2, 4] { #expect(try !isReused(policy, within: 300)) }
        fixture.prompter.refuseSensors(because: nil)
        #expect(try isReused(within: 300))
    }

    @Test func `say why there is no wrist detection`() throws {
        do { try fixture.client().preflight(policy: 5) } catch let refused as Refused {
            #expect(refused.cause == "companion.no-wrist-detection")
        }
    }
}
