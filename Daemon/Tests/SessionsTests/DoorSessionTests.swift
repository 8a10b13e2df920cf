import AccessControl
@testable import Authenticators
import CLinuxShims
import Foundation
import Glibc
import OstiaryMessages
import ProcessFacts
import PromptProtocol
import Prompting
import StoreTestSupport
import Synchronization
import TerminalTestSupport
import Testing
import UnixSocket

@testable import Broker
@testable import BrokerTestSupport
@testable import Sessions

/// A door in the moments that a test cannot reach from another process. Tests of a door's rights are in `DaemonTests`.
@Suite("A door's connection", .timeLimit(.minutes(10)))
struct DoorSessionTests {
    private static let applicationID = "com.example.tests"
    private static let always = AccessControl(availability: .always, using: .unrestricted)
    private let interlude = Interlude()
    private let fixture: BrokerFixture
    /// This program, which is registered as a door.
    private let door: TestClient
    /// The client, which knows nothing of it.
    private let client: SpawnedProcess
    private let process: SharedDescriptor

    init() throws {
        fixture = try BrokerFixture(around: { [interlude] in
            InterludeEnclave(enclave: $0, interlude: interlude, isImmediate: false)
        })
        let door = try fixture.client()
        self.door = door
        fixture.prompter.prepare([.confirm])
        let registration = try WireRegisterApplicationRequest.with {
            $0.path = try door.status().caller.program
            ($0.applicationID, $0.isDoor, $0.question) = (Self.applicationID, true, TestClient.question)
        }
        try door.call(.registerApplication(registration))
        let client = try SpawnedProcess("/bin/sleep", ["600"])
        self.client = client
        let number = ostiary_open_process(client.processID)
        process = SharedDescriptor(try Descriptor(number, from: "pidfd_open"))
    }

    private func ask(_ body: WireRequest.OneOf_Body) throws -> WireReply.OneOf_Body {
        let id = try door.send(body, for: process)
        let answer = try door.answer()
        if let refused = answer.refused { throw refused }
        guard answer.id == id else { throw TestClient.UnexpectedAnswer() }
        return answer.body
    }

    @Test func `a door that is unregistered during a signature for its client gets none`() throws {
        let right = try door.create("right", Self.always)
        guard case .context(let context) = try ask(.openContext(.init())) else { throw TestClient.UnexpectedAnswer() }
        let authorization = WireAuthorizeRequest.with {
            ($0.contextID, $0.subject, $0.question) = (context.contextID, .rightID(right.rightID), TestClient.question)
        }
        guard case .granted = try ask(.authorize(authorization)) else { throw TestClient.UnexpectedAnswer() }
        fixture.prompter.prepare([.confirm])
        let path = fixture.socketPath
        interlude.next {
            do {
                try TestClient(socketPath: path).call(
                    .removeApplication(
                        .with { ($0.applicationID, $0.question) = (Self.applicationID, TestClient.question) }))
            } catch { Issue.record(error) }
        }
        let signature = WireSignRequest.with {
            ($0.contextID, $0.rightID) = (context.contextID, right.rightID)
            $0.algorithm = "algid:sign:ECDSA:digest-X962:SHA256"
        }
        let id = try door.send(.sign(signature), for: process, tail: Data(count: 32))
        let answer = try door.answer()
        #expect(answer.id == id && answer.tail.isEmpty)
        #expect(answer.refused?.code == .missingEntitlement || answer.refused?.code == .notAuthorized)
        #expect(try door.log().allSatisfy { $0.event != "sign" || $0.result == "refused" })
    }

    @Test func `a client whose readings have no place waits on no thread of its door's connection`() throws {
        try door.create("one", Self.always)
        let turn = HeldTurn()
        let waiting = try (0..<SessionLimits.readingCount).map { _ in try door.send(.listRights(.init()), for: process)
        }
        let refused = #expect(throws: Refused.self) { _ = try ask(.listRights(.init())) }
        #expect(refused?.code == .tooMany && refused?.cause == "door.too-many-readings")
        guard case .right = try ask(.findRight(.with { $0.identifier = "one" })) else {
            throw TestClient.UnexpectedAnswer()
        }
        turn.end()
        let answers = try waiting.map { _ in try door.answer() }
        #expect(Set(answers.map(\.id)) == Set(waiting) && answers.allSatisfy { $0.refused == nil })
    }

    /// Each look below `/proc`, or a helper's, is a large part of a short request.
    @Test func `a client with a context is no longer looked at for its user, and still for what it executes`() throws {
        let played = PlayedProcess(client.processID)
        var facts = PlayedFacts()
        facts.processes[client.processID] = .success(played)
        let fixture = try BrokerFixture(facts: facts)
        let door = try fixture.client()
        fixture.prompter.prepare([.confirm])
        try door.registerAsDoor(as: Self.applicationID)
        func refusal(_ body: WireRequest.OneOf_Body) throws -> String? {
            try door.send(body, for: process)
            return try door.answer().refused?.cause
        }
        func open() throws -> UInt64 {
            try door.send(.openContext(.init()), for: process)
            guard case .context(let context) = try door.answer().body else { throw TestClient.UnexpectedAnswer() }
            return context.contextID
        }
        let context = try open()
        played.change { $0.userID = .failure(.unreadable) }
        #expect(try refusal(.status(.init())) == nil)
        #expect(try refusal(.closeContext(.with { $0.contextID = context })) == nil)
        #expect(try refusal(.status(.init())) == "client.unreadable", "nothing is kept of it")
        played.change { $0.userID = .success(getuid() + 1) }
        #expect(try refusal(.openContext(.init())) == "client.foreign-user")
        played.change { $0.userID = .success(getuid()) }
        _ = try open()
        played.change { $0.executable = .success(ExecutedFile(device: 8, inode: 101)) }
        #expect(try refusal(.status(.init())) == "client.changed")
        #expect(try refusal(.openContext(.init())) == "client.changed")
    }
}

/// A door where the person sits, and a client in a session from another machine. Or the other way round.
@Suite("A sensor for a door's client", .timeLimit(.minutes(10)))
struct DoorSensorTests {
    /// A prompter that arms a sensor for all processes but one, and notes whom it asks for.
    private final class SeatedPrompter: Prompter {
        private let answers = Mutex<ScriptedPrompter?>(nil)
        let remote = Mutex<Int32?>(nil)
        let askers = Mutex<[Int32]>([])

        func answer(by prompter: ScriptedPrompter) { answers.withLock { $0 = prompter } }

        func ask(_ question: PromptQuestion, on caller: PromptCaller, live: LiveQuestion) -> PromptOutcome {
            askers.withLock { $0.append(caller.processID) }
            guard let answers = answers.withLock({ $0 }) else { return .unavailable(.notInteractive) }
            return answers.ask(question, on: caller, live: live)
        }

        func sensorRefusal(ofProcess processID: Int32, of userID: UInt32) -> SensorRefusal? {
            processID == remote.withLock { $0 } ? .remote : nil
        }
    }

    private let prompter = SeatedPrompter()
    private let finger = ScriptedSensor()
    private let fixture: BrokerFixture
    /// This program, which is registered as a door.
    private let door: TestClient
    private let client: SpawnedProcess
    private let process: SharedDescriptor

    init() throws {
        finger.enrol("one finger")
        fixture = try BrokerFixture(
            sensors: AddedAuthenticators(authenticators: [finger]),
            asking: { [prompter] scripted in
                prompter.answer(by: scripted)
                return prompter
            })
        let door = try fixture.client()
        self.door = door
        fixture.prompter.prepare([.confirm])
        try door.registerAsDoor(as: "com.example.tests")
        try fixture.setPasscode()
        let client = try SpawnedProcess("/bin/sleep", ["600"])
        self.client = client
        process = SharedDescriptor(try Descriptor(ostiary_open_process(client.processID), from: "pidfd_open"))
    }

    /// The cause for which no finger could answer.
    private func refusal(forClient: Bool) throws -> String? {
        let preflight = WireRequest.OneOf_Body.evaluatePolicy(.with { ($0.policy, $0.preflight) = (1, true) })
        if forClient { try door.send(preflight, for: process) } else { try door.send(preflight) }
        return try door.answer().refused?.cause
    }

    @Test func `is refused by the client's session, and not by the door's`() throws {
        #expect(try refusal(forClient: true) == nil && refusal(forClient: false) == nil)
        prompter.remote.withLock { $0 = client.processID }
        #expect(try refusal(forClient: true) == "prompt.sensor-remote")
        #expect(try refusal(forClient: false) == nil, "the door sits at the machine")
        prompter.remote.withLock { $0 = getpid() }
        #expect(try refusal(forClient: true) == nil)
        #expect(try refusal(forClient: false) == "prompt.sensor-remote")
    }

    @Test func `and a question are for the client's process`() throws {
        prompter.askers.withLock { $0 = [] }
        fixture.prompter.prepare([.text("a word 1"), .text("a word 1")])
        let rule = try AccessControl(availability: .always, using: Requirement(anyOf: [.applicationPassword]))
        let creation = WireCreateRightRequest.with {
            ($0.identifier, $0.accessControl) = ("guarded", Data(rule.canonicalBytes))
            $0.question = TestClient.question
        }
        try door.send(.createRight(creation), for: process)
        #expect(try door.answer().refused == nil)
        #expect(prompter.askers.withLock { $0 } == [client.processID, client.processID])
    }
}
