import AccessControl
import Dispatch
import Foundation
import KeySlots
import OstiaryMessages
import OwnerKeys
import Owners
import ProcessFacts
import PromptProtocol
import Prompting
import Synchronization
import Testing

@testable import Authenticators
@testable import Broker
@testable import BrokerTestSupport
@testable import Refusals

/// Factors that nobody types, beside those that somebody does.
@Suite("A sensor", .timeLimit(.minutes(10)))
struct SensorTests {
    private let sensor = ScriptedSensor()
    private let meeting = Meeting()
    private let fixture: BrokerFixture

    private static let either = [FactorSet.biometry, .passcode]
    private static let both: [FactorSet] = [[.biometry, .passcode]]
    private static let passcode = ScriptedPrompter.Answer.text(BrokerFixture.passcode)
    private static let wrong = ScriptedPrompter.Answer.text("not this one")

    init() throws {
        fixture = try BrokerFixture(
            stretching: meeting.stretching, sensors: AddedAuthenticators(authenticators: [sensor]))
        try fixture.setPasscode()
        sensor.give { [ring = fixture.account.ring] in ring.privateHalf(.biometry) }
        try fixture.create("either", Requirement(anyOf: Self.either), .whenUnlocked)
        try fixture.create("both", Requirement(anyOf: Self.both), .whenUnlocked)
        try fixture.create("finger", Requirement(anyOf: [.biometry]), .whenUnlocked)
    }

    /// Authorizes a right with these answers, and returns the factors that were used.
    private func authorize(
        _ name: String, _ answers: [ScriptedPrompter.Answer], _ scripts: [ScriptedSensor.Script] = []
    ) throws -> [String] {
        fixture.prompter.prepare(answers)
        sensor.prepare(scripts)
        let client = try fixture.client()
        return try client.authorize(client.find(name), in: client.openContext())
    }

    private func refused(
        _ name: String, _ answers: [ScriptedPrompter.Answer], _ scripts: [ScriptedSensor.Script] = []
    ) throws -> WireFailureCode? {
        try refusal { _ = try authorize(name, answers, scripts) }
    }

    private func grants() throws -> [WireLogRecord] {
        try fixture.client().log().filter { $0.event == "authorize" && $0.result == "granted" }
    }

    private func misses() throws -> [WireLogRecord] { try fixture.client().log().filter { $0.event == "attempt" } }

    // MARK: one question for all

    @Test func `is offered together with the passcode, and before it, in one question`() throws {
        #expect(try authorize("either", [.wait], [ScriptedSensor.proves()]) == ["biometry"])
        let asked = fixture.prompter.asked
        #expect(asked.map(\.kind) == [.enterPasscode])
        #expect(asked.first?.sensors == [PromptSensor(.finger, DisplayText("Touch the sensor."))])
        #expect(!sensor.isArmed)
        let grant = try #require(try grants().last)
        #expect(grant.factors == ["biometry"] && grant.strength == "broker-bound")
        #expect(try misses().isEmpty)
    }

    @Test(arguments: [SensorRefusal.sessionLocked, .notActive, .remote, .withoutSession, .unknownSession])
    func `proves nothing for a person who left the machine meanwhile`(refusal: SensorRefusal) throws {
        let gate = DispatchSemaphore(value: 0)
        fixture.prompter.prepare([.wait])
        sensor.prepare([ScriptedSensor.proves(when: gate)])
        fixture.prompter.duringNextQuestion { [prompter = fixture.prompter, sensor] in
            #expect(sensor.waitUntilArmed())
            prompter.refuseSensors(because: refusal)
            gate.signal()
        }
        let client = try fixture.client()
        do {
            _ = try client.authorize(client.find("finger"), in: client.openContext())
            Issue.record("granted")
        } catch let refused as Refused {
            #expect(refused.code == .notInteractive && refused.cause == "prompt.sensor-\(refusal)")
        }
        #expect(try grants().isEmpty)
        fixture.prompter.refuseSensors(because: nil)
        #expect(try authorize("finger", [.wait], [ScriptedSensor.proves()]) == ["biometry"])
    }

    @Test func `opens the right that it was proved for`() throws {
        fixture.prompter.prepare([.wait])
        sensor.prepare([ScriptedSensor.proves()])
        let client = try fixture.client()
        let (right, context) = (try client.find("either"), try client.openContext())
        #expect(try client.authorize(right, in: context) == ["biometry"])
        #expect(try client.sign(right, in: context))
        #expect(try client.secret(of: right, in: context) == "secret of either")
    }

    @Test func `that does not see the person first is disarmed before what was typed is checked`() throws {
        let wasArmed = Mutex<Bool?>(nil)
        fixture.prompter.prepare([Self.passcode])
        fixture.prompter.duringNextQuestion { [sensor] in #expect(sensor.waitUntilArmed()) }
        meeting.duringNextStretch { [sensor] in
            let isArmed = sensor.isArmed
            wasArmed.withLock { $0 = isArmed }
        }
        sensor.prepare([])
        let client = try fixture.client()
        #expect(try client.authorize(client.find("either"), in: client.openContext()) == ["passcode"])
        #expect(wasArmed.withLock { $0 } == false)
        #expect(sensor.armedCount == 1)
        #expect(try misses().isEmpty, "a cancelled factor is no failed try")
        #expect(try grants().last?.strength == "key-bound")
    }

    @Test func `alone makes a question without a field`() throws {
        #expect(try authorize("finger", [.wait], [ScriptedSensor.proves()]) == ["biometry"])
        #expect(fixture.prompter.askedKinds == [.sensor])
    }

    @Test func `comes before the passcode where both are needed, and the weaker label counts`() throws {
        #expect(try authorize("both", [.wait, Self.passcode], [ScriptedSensor.proves()]) == ["passcode", "biometry"])
        #expect(fixture.prompter.askedKinds == [.sensor, .enterPasscode])
        #expect(fixture.prompter.asked.last?.sensors == [])
        #expect(sensor.armedCount == 1)
        #expect(try grants().last?.strength == "broker-bound")
    }

    @Test(arguments: [Unavailability.biometryRestsUntilPasscode, .biometryLockout])
    func `that rests until the passcode is entered comes after it`(reason: Unavailability) throws {
        sensor.makeUnavailable(reason)
        meeting.duringNextStretch { [sensor] in sensor.makeUnavailable(nil) }
        #expect(try authorize("both", [Self.passcode, .wait], [ScriptedSensor.proves()]) == ["passcode", "biometry"])
        #expect(fixture.prompter.askedKinds == [.enterPasscode, .sensor])
        sensor.makeUnavailable(reason)
        #expect(try authorize("either", [Self.passcode]) == ["passcode"])
        #expect(sensor.armedCount == 0)
        #expect(try refused("finger", []) == .biometryLockout)
        #expect(fixture.prompter.asked.isEmpty)
    }

    // MARK: only while the question is visible

    @Test func `is not armed while nobody can see the question`() throws {
        fixture.prompter.prepare([.waitUnseen])
        sensor.prepare([ScriptedSensor.proves()])
        let client = try fixture.client()
        let right = try client.find("either").rightID
        let context = try client.openContext()
        let id = try client.send(authorization(of: right, in: context))
        while fixture.prompter.asked.isEmpty { usleep(500) }
        usleep(100_000)
        #expect(sensor.armedCount == 0)
        try client.send(.cancel(.with { $0.requestID = id }))
        let answers = [try client.answer(), try client.answer()]
        #expect(answers.first { $0.id == id }?.refused?.code == .appCancel)
        #expect(sensor.armedCount == 0)
    }

    @Test func `is not armed where nobody may be asked`() throws {
        fixture.prompter.prepare([])
        sensor.prepare([ScriptedSensor.proves()])
        let client = try fixture.client()
        let (right, context) = (try client.find("either"), try client.openContext())
        let code = try refusal {
            try client.authorize(rightID: right.rightID, in: context, interactive: false)
        }
        #expect(code == .notInteractive && sensor.armedCount == 0)
        #expect(try client.authorize(rightID: right.rightID, in: context, preflight: true) == [])
        #expect(sensor.armedCount == 0 && fixture.prompter.asked.isEmpty)
    }

    private func authorization(of right: Data, in context: UInt64) -> WireRequest.OneOf_Body {
        .authorize(
            .with {
                $0.contextID = context
                $0.subject = .rightID(right)
                $0.question = TestClient.question
            })
    }

    enum Ending: CaseIterable { case cancelled, closed, locked, disconnected, cancelledByPerson, timedOut }

    /// It is at work when the question ends, and then says that it recognised the person.
    @Test(arguments: Ending.allCases)
    func `whose question ended is told to stop, and what it proves then does not count`(ending: Ending) throws {
        let didStop = DispatchSemaphore(value: 0)
        let late: ScriptedSensor.Script = { stop, _ in
            stop.wait()
            didStop.signal()
            return Proof(factor: .biometry, strength: .brokerBound)
        }
        fixture.prompter.prepare([ending == .cancelledByPerson ? .cancel : .wait])
        sensor.prepare([late])
        let before = try fixture.client().log().count
        var client: TestClient? = try fixture.client()
        let (right, context) = (try client!.find("either").rightID, try client!.openContext())
        let id = try client!.send(authorization(of: right, in: context))
        #expect(sensor.waitUntilArmed())
        var expected = WireFailureCode.appCancel
        switch ending {
        case .cancelled: try client!.send(.cancel(.with { $0.requestID = id }))
        case .closed: try client!.send(.closeContext(.with { $0.contextID = context }))
        case .locked:
            try fixture.client().lock()
            expected = .systemCancel
        case .disconnected: client = nil
        case .cancelledByPerson: expected = .userCancel
        case .timedOut: expected = .timedOut
        }
        #expect(didStop.wait(timeout: .now() + 120) == .success)
        while let connected = client {
            let answer = try connected.answer()
            guard answer.id == id else { continue }
            #expect(answer.refused?.code == expected)
            break
        }
        while sensor.isArmed { usleep(500) }
        let records = try fixture.client().log().dropFirst(before)
        #expect(records.filter { $0.result == "granted" }.isEmpty)
        #expect(records.filter { $0.event == "attempt" }.isEmpty, "a cancelled factor is no failed try")
    }

    @Test func `that proves in the moment in which the person says no proves nothing`() throws {
        sensor.prepare([ScriptedSensor.proves()])
        let before = try grants().count
        fixture.prompter.prepare([.cancelAnyway])
        fixture.prompter.duringNextQuestion { [sensor] in
            #expect(sensor.waitUntilArmed())
            while sensor.isArmed { usleep(500) }
        }
        let client = try fixture.client()
        let (right, context) = (try client.find("either"), try client.openContext())
        #expect(try refusal { _ = try client.authorize(right, in: context) } == .userCancel)
        #expect(try refusal { _ = try client.sign(right, in: context) } == .notAuthorized)
        #expect(try grants().count == before)
    }

    // MARK: failures

    @Test func `shows what it says, and each miss is recorded as a failed try`() throws {
        let misses: ScriptedSensor.Script = { _, report in
            report(SensorReport(text: DisplayText("Move your finger.")))
            report(SensorReport(text: DisplayText("Not recognised. 2 tries left."), isMiss: true))
            return Proof(factor: .biometry, strength: .brokerBound)
        }
        #expect(try authorize("either", [.wait], [misses]) == ["biometry"])
        #expect(
            fixture.prompter.updates == [
                PromptUpdate(sensor: 0, text: DisplayText("Move your finger.")),
                PromptUpdate(sensor: 0, text: DisplayText("Not recognised. 2 tries left.")),
            ])
        let records = try self.misses()
        #expect(records.map(\.operation) == ["biometry"] && records.map(\.object) == ["either"])
        #expect(records.map(\.reason) == ["authentication.failed"])
    }

    private static let broken = Refusal(.biometryNotAvailable, "The sensor was unplugged.", cause: "biometry.gone")

    @Test func `that breaks leaves the question to the passcode, and is not offered again`() throws {
        let breaks: ScriptedSensor.Script = { _, _ in throw Self.broken }
        fixture.prompter.prepare([Self.wrong, Self.passcode])
        sensor.prepare([breaks])
        fixture.prompter.duringNextQuestion { [prompter = fixture.prompter] in
            while prompter.updates.isEmpty { usleep(500) }
        }
        let client = try fixture.client()
        #expect(try client.authorize(client.find("either"), in: client.openContext()) == ["passcode"])
        #expect(fixture.prompter.updates == [PromptUpdate(sensor: 0, text: DisplayText("The sensor was unplugged."))])
        #expect(fixture.prompter.asked.map(\.sensors.count) == [1, 0])
        #expect(sensor.armedCount == 1)
        #expect(try misses().map(\.operation) == ["passcode"])
    }

    @Test func `that breaks ends a question that waits for nothing else, with its own reason`() throws {
        let breaks: ScriptedSensor.Script = { _, _ in throw Self.broken }
        fixture.prompter.prepare([.wait])
        sensor.prepare([breaks])
        let client = try fixture.client()
        var refused: Refused?
        do { _ = try client.authorize(client.find("finger"), in: client.openContext()) } catch let error as Refused {
            refused = error
        }
        #expect(refused?.code == .biometryNotAvailable && refused?.cause == "biometry.gone")
        #expect(fixture.prompter.askedKinds == [.sensor])
    }

    @Test func `is armed again when the question is put again after a wrong entry`() throws {
        fixture.prompter.prepare([Self.wrong, .wait])
        sensor.prepare([ScriptedSensor.waits, ScriptedSensor.proves()])
        fixture.prompter.duringNextQuestion { [sensor] in #expect(sensor.waitUntilArmed()) }
        let client = try fixture.client()
        #expect(try client.authorize(client.find("either"), in: client.openContext()) == ["biometry"])
        #expect(sensor.armedCount == 2)
        #expect(fixture.prompter.asked.map(\.notice) == [nil, DisplayText("Wrong passcode.")])
        #expect(fixture.prompter.asked.map(\.sensors.count) == [1, 1])
        #expect(try misses().map(\.operation) == ["passcode"])
    }

    @Test func `goes on alone when wrong passcodes have brought a delay`() throws {
        fixture.prompter.prepare([Self.wrong, Self.wrong, Self.wrong])
        let client = try fixture.client()
        for _ in 0..<1 {
            #expect(try refused("either", [Self.wrong, Self.wrong, Self.wrong]) == .authenticationFailed)
        }
        // The fifth in a row brings the delay, in the middle of this evaluation.
        #expect(
            try authorize(
                "either", [Self.wrong, Self.wrong, .wait],
                [
                    ScriptedSensor.waits, ScriptedSensor.waits, ScriptedSensor.proves(),
                ]) == ["biometry"])
        #expect(fixture.prompter.askedKinds == [.enterPasscode, .enterPasscode, .sensor])
        #expect(try refusal { _ = try client.authorize(client.find("both"), in: client.openContext()) } == .lockedOut)
    }

    @Test func `that proves what it was not asked for proves nothing`() throws {
        let foreign: ScriptedSensor.Script = { _, _ in Proof(factor: .passcode, strength: .keyBound) }
        #expect(try refused("finger", [.wait], [foreign]) == .internal)
        let client = try fixture.client()
        #expect(try refusal { _ = try client.sign(client.find("finger"), in: client.openContext()) } == .notAuthorized)
    }

    // MARK: one that hangs

    @Test func `that does not stop holds nobody up, does not count, and is armed again only when it has ended`() throws
    {
        let gate = DispatchSemaphore(value: 0)
        fixture.prompter.prepare([Self.passcode])
        sensor.prepare([ScriptedSensor.proves(when: gate)])
        fixture.prompter.duringNextQuestion { [sensor] in #expect(sensor.waitUntilArmed()) }
        let client = try fixture.client()
        let begin = ContinuousClock.now
        #expect(try client.authorize(client.find("either"), in: client.openContext()) == ["passcode"])
        #expect(ContinuousClock.now - begin < .seconds(60))
        #expect(sensor.isArmed)
        // It hangs: rules that can do without it do, the others say that there is no sensor.
        fixture.prompter.prepare([Self.passcode])
        #expect(try client.authorize(client.find("either"), in: client.openContext()) == ["passcode"])
        #expect(fixture.prompter.asked.map(\.sensors.count) == [0])
        #expect(
            try refusal { _ = try client.authorize(client.find("finger"), in: client.openContext()) }
                == .biometryNotAvailable)
        #expect(sensor.armedCount == 1)
        let count = try grants().count
        gate.signal()
        while sensor.isArmed { usleep(500) }
        #expect(try grants().count == count)
        // A moment may pass between its last word and the end of its thread.
        usleep(50_000)
        #expect(try authorize("finger", [.wait], [ScriptedSensor.proves()]) == ["biometry"])
    }

    // MARK: several

    @Test func `that wins ends the other, which proved nothing`() throws {
        let key = ScriptedSensor(.securityKey, .securityKey, label: .touchOnly)
        let fixture = try BrokerFixture(sensors: AddedAuthenticators(authenticators: [sensor, key]))
        let rule = try Requirement(anyOf: [.biometry, .securityKey])
        for winner in [Factor.biometry, .securityKey] {
            let proves = ScriptedSensor.proves(winner, winner == .biometry ? .brokerBound : .touchOnly)
            sensor.prepare(winner == .biometry ? [proves] : [])
            key.prepare(winner == .biometry ? [] : [proves])
            fixture.prompter.prepare([.wait])
            let client = try fixture.client()
            #expect(try client.authorize(rule, in: client.openContext()) == [winner.name])
            #expect(fixture.prompter.asked.map { $0.sensors.map(\.kind) } == [[.finger, .securityKey]])
            #expect(!sensor.isArmed && !key.isArmed)
            let record = try #require(try fixture.client().log().last { $0.event == "authorize-requirement" })
            #expect(record.strength == (winner == .biometry ? "broker-bound" : "touch-only"))
        }
    }

    @Test func `counts as held while a context keeps it, with the label that it was proved with`() throws {
        fixture.prompter.prepare([.wait])
        sensor.prepare([ScriptedSensor.proves(.biometry, .touchOnly)])
        let client = try fixture.client()
        let context = try client.openContext(keepingFactors: true)
        let rule = try Requirement(anyOf: [.biometry])
        #expect(try client.authorize(rule, in: context) == ["biometry"])
        #expect(try client.authorize(rule, in: context) == ["biometry"])
        #expect(fixture.prompter.asked.count == 1 && sensor.armedCount == 1)
        let records = try fixture.client().log().filter { $0.event == "authorize-requirement" }
        #expect(records.map(\.strength) == ["touch-only", "touch-only"])
    }

    @Test func `makes rules possible that name it, and is shown in the status`() throws {
        let status = try fixture.client().status().factors
        #expect(status.first { $0.factor == "biometry" }?.available == true)
        #expect(status.first { $0.factor == "security-key" }?.available == false)
        sensor.makeUnavailable(.biometryNotEnrolled)
        let biometry = try fixture.client().status().factors.first { $0.factor == "biometry" }
        #expect(biometry?.available == false && biometry?.note == "no finger is enrolled")
        #expect(biometry?.strength == "broker-bound")
    }
}
