import AccessControl
import FingerprintReader
import FingerprintTestSupport
import Foundation
import Glibc
import HelperProcesses
import OstiaryMessages
import Owners
import PAMTestSupport
import PromptProtocol
import SystemBusTestSupport
import TerminalTestSupport
import Testing

@testable import Authenticators
@testable import Broker

/// A broker beside the real fprintd with a reader that libfprint plays. The finger with the skin `owner` is enrolled, the
/// passcode is set, and there is a right for each kind of rule.
final class FingerFixture {
    let stack: FingerprintStack
    let templates: TemplatesHelper?
    let reader: InterferedReader
    let broker: BrokerFixture
    var prompter: ScriptedPrompter { broker.prompter }

    static let passcode = ScriptedPrompter.Answer.text(BrokerFixture.passcode)
    static let wrong = ScriptedPrompter.Answer.text("not this one")

    /// - Parameters:
    ///   - hasTemplates: whether `ostiary-templates` is installed.
    ///   - isOnDemand: whether the bus starts fprintd.
    ///   - face: what knows faces.
    ///   - unit: the name of the units of `ostiary-templates`.
    init(
        hasTemplates: Bool = false, isOnDemand: Bool = false, _ readers: [VirtualReader] = [.verifying],
        face: PAMServices? = nil, unit: String = HelperSocketAddress.unitOfUsers
    ) throws {
        let stack = try FingerprintStack(readers, isOnDemand: isOnDemand)
        let templates = hasTemplates ? try TemplatesHelper(folder: stack.templates) : nil
        (self.stack, self.templates) = (stack, templates)
        if !readers.isEmpty { try stack.enroll(.rightIndex, skin: "owner") }
        let reader = InterferedReader(
            OwnerReader(FingerprintReader(socketPath: stack.bus.path, serviceUserID: getuid()), for: nil))
        self.reader = reader
        var helpers = FaceFixture.helpers
        helpers.templates = HelperSocketAddress(
            path: templates?.socketPath ?? "/nowhere/templates", managerUserID: getuid(), unit: unit)
        let fingers = FingerSources(
            systemBus: stack.bus.path, serviceUserID: getuid(), templates: helpers.templates)
        broker = try BrokerFixture(
            fingers: FingerSources {
                let sources = fingers.make($0, $1)
                return BiometrySources(
                    reader: reader, templates: sources.templates, templatesUnit: sources.templatesUnit)
            },
            face: face?.source, helpers: helpers)
        try broker.setPasscode()
        guard !readers.isEmpty else { return }
        try create("either", [.biometry, .passcode])
        try create("both", [[.biometry, .passcode]])
        try create("finger", [.biometry])
        if hasTemplates {
            try create("set", [.biometryCurrentSet])
            try create("set or passcode", [.biometryCurrentSet, .passcode])
        }
    }

    func create(_ name: String, _ alternatives: [FactorSet], _ availability: AvailabilityClass = .always)
        throws
    {
        try broker.create(name, Requirement(anyOf: alternatives), availability)
    }

    func state() throws -> BiometryState { try #require(broker.account.biometryState()) }

    // MARK: the person

    /// How many misses the present question has told.
    private var toldMissCount: Int { prompter.updates.count { $0.text.string.hasPrefix("Not recognised") } }

    /// Has these happen at the reader during the next question, each when the reader waits for a touch.
    ///
    /// - Parameters:
    ///   - text: what the question says before it is answered; nil for not to be waited for.
    ///   - number: the question at which they happen, counted from 1.
    ///   - first: done before, with the reader armed.
    ///   - then: done afterwards.
    func during(
        _ events: [SensorEvent], untilSaid text: String? = nil, atQuestion number: Int = 1,
        first: @escaping @Sendable () throws -> Void = {}, then: @escaping @Sendable () throws -> Void = {}
    ) {
        guard number == 1 else {
            return prompter.duringNextQuestion { [self] in
                during(events, untilSaid: text, atQuestion: number - 1, first: first, then: then)
            }
        }
        prompter.duringNextQuestion { [self] in
            do {
                try eventually("the reader waits") { try stack.isArmed() }
                try first()
            } catch { Issue.record("\(error)") }
            var missCount = 0
            for event in events {
                do {
                    try eventually("the reader waits for \(event)") {
                        try toldMissCount == missCount && stack.isArmed()
                    }
                    try stack.play(event)
                } catch { Issue.record("\(error)") }
                if case .touch(let skin) = event, skin != "owner" { missCount += 1 }
            }
            do {
                if let text {
                    try eventually("the question says: \(text)") {
                        prompter.updates.contains { $0.text.string == text }
                    }
                }
                try then()
            } catch { Issue.record("\(error)") }
        }
    }

    func duringArmed(_ body: @escaping @Sendable () throws -> Void) {
        prompter.duringNextQuestion { [self] in
            do {
                try eventually("the reader waits") { try stack.isArmed() }
                try body()
            } catch { Issue.record("\(error)") }
        }
    }

    // MARK: asking

    /// Authorizes a right and uses it; the factors that were used.
    @discardableResult
    func open(
        _ name: String, _ answers: [ScriptedPrompter.Answer] = [.wait], _ events: [SensorEvent] = [.touch("owner")]
    ) throws -> [String] {
        prompter.prepare(answers)
        if !events.isEmpty { during(events) }
        return try broker.authorizeAndSign(name)
    }

    /// A context that keeps factors, in which a finger satisfied the rule.
    func contextKeepingFinger(_ rule: Requirement) throws -> (client: TestClient, context: UInt64) {
        let client = try broker.client()
        let context = try client.openContext(keepingFactors: true)
        prompter.prepare([.wait])
        during([.touch("owner")])
        #expect(try client.authorize(rule, in: context) == ["biometry"])
        return (client, context)
    }

    func refused(
        _ name: String, _ answers: [ScriptedPrompter.Answer] = [.wait], _ events: [SensorEvent] = []
    ) throws -> Refused? {
        prompter.prepare(answers)
        if !events.isEmpty { during(events) }
        return try refusedWhilePrepared(name)
    }

    /// As ``refused(_:_:_:)`` where question and touches are prepared already.
    func refusedWhilePrepared(_ name: String) throws -> Refused? {
        do {
            _ = try broker.authorizeAndSign(name)
            return nil
        } catch let refused as Refused { return refused }
    }

    /// Nothing was granted since there were `count` grants, and a finger opens the next time.
    func expectNothingGranted(since count: Int) throws {
        #expect(try grantCount() == count)
        try expectNextWorks()
    }

    /// The next evaluation works.
    func expectNextWorks() throws {
        try stack.waitUntilFree()
        #expect(try open("finger") == ["biometry"])
    }

    func grantCount() throws -> Int {
        try broker.client().log().count { $0.event == "authorize" && $0.result == "granted" }
    }

    func unlock() throws {
        prompter.prepare([Self.passcode])
        let client = try broker.client()
        _ = try client.authorize(Requirement(anyOf: [.passcode]), in: client.openContext())
        // The set that the entry accepts is looked at a moment later; whoever asks for the state waits for that.
        _ = try client.status()
    }
}

// SAFETY: the parts that a question's thread uses, prompter and stack, are used by one thread at a time or guard themselves.
extension FingerFixture: @unchecked Sendable {}
