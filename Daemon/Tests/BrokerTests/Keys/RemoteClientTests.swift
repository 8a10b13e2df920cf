import AccessControl
import CLinuxShims
import Foundation
import Glibc
import HelperProcesses
import KeySlots
import OstiaryMessages
import OwnerKeys
import Owners
import ProcessFacts
import PromptProtocol
import Prompting
import Settings
import StoreTestSupport
import Synchronization
import TerminalTestSupport
import Testing
import UnixSocket

@testable import Authenticators
@testable import Broker
@testable import BrokerTestSupport

/// A door for SSH whose client runs in a login from another machine, with the real prompt on the client's terminal.
///
/// The records of logind are played: a plain user cannot make a session that the machine takes for a remote one.
@Suite("A door's client in a remote login", .timeLimit(.minutes(10)))
struct RemoteClientTests {
    /// Says of one process that its person sits elsewhere.
    private final class Seats: SessionRecords {
        private let remote = Mutex<Int32?>(nil)

        func move(_ processID: Int32?) { remote.withLock { $0 = processID } }

        func refusal(ofProcess processID: Int32, of userID: UInt32) -> SensorRefusal? {
            processID == remote.withLock { $0 } ? .remote : nil
        }

        func isAtMachine(_ userID: UInt32) -> Bool { true }
    }

    /// Answers by a script while the store is prepared, and asks as the daemon does from then on.
    private final class LatePrompter: Prompter {
        private let real: PromptQueue
        private let script = Mutex<ScriptedPrompter?>(nil)

        init(_ seats: Seats) {
            let user = geteuid()
            real = PromptQueue(
                ProcessPrompter(
                    .beside(program: Build.prompt), configuration: PromptConfiguration(), userID: user,
                    facts: KernelFacts(), buses: .standard(of: user), sessions: seats))
        }

        func answer(by prompter: ScriptedPrompter?) { script.withLock { $0 = prompter } }

        func ask(_ question: PromptQuestion, on caller: PromptCaller, live: LiveQuestion) -> PromptOutcome {
            guard let script = script.withLock({ $0 }) else { return real.ask(question, on: caller, live: live) }
            return script.ask(question, on: caller, live: live)
        }

        func sensorRefusal(ofProcess processID: Int32, of userID: UInt32) -> SensorRefusal? {
            real.sensorRefusal(ofProcess: processID, of: userID)
        }
    }

    private let seats = Seats()
    private let finger = ScriptedSensor()
    private let fixture: BrokerFixture
    /// This program, which is registered as a door. It runs where the person sits.
    private let door: TestClient
    private let terminal: PseudoTerminal
    private let client: CallerProcess
    private let process: SharedDescriptor
    private let host = SSHHost()

    init() throws {
        finger.enrol("one finger")
        let prompter = LatePrompter(seats)
        fixture = try BrokerFixture(
            sensors: AddedAuthenticators(authenticators: [finger]),
            asking: { scripted in
                prompter.answer(by: scripted)
                return prompter
            })
        let door = try fixture.client()
        self.door = door
        fixture.prompter.prepare([.confirm])
        try door.registerAsDoor(as: "com.example.tests")
        try fixture.setPasscode()
        finger.give { [ring = fixture.account.ring] in ring.privateHalf(.biometry) }
        terminal = try PseudoTerminal()
        client = try CallerProcess(on: terminal)
        process = SharedDescriptor(try Descriptor(ostiary_open_process(client.processID), from: "pidfd_open"))
        prompter.answer(by: nil)
    }

    private func makeRight(_ alternatives: [FactorSet]) throws -> WireRight {
        let control = try AccessControl(
            availability: .always, confirmingEachSignatureWith: Requirement(anyOf: alternatives))
        return try door.createSSH("deploy", SSHKeyConstraints(), control)
    }

    /// Wants a login signed for the client.
    private func send(_ right: WireRight) throws -> UInt64 {
        let binding = try host.binding(1)
        let request = WireSSHSignRequest.with {
            ($0.rightID, $0.bindings, $0.question) = (right.rightID, [binding], TestClient.question)
        }
        return try door.send(
            .sshSign(request), for: process, on: terminal.slave,
            tail: SSHBytes.login(1, by: right.publicKey, to: host))
    }

    private func factors() throws -> [String]? {
        try door.log().last { $0.event == "ssh-sign" && $0.result == "granted" }?.factors
    }

    @Test func `arms no sensor of this desk, and one at the desk does`() throws {
        let right = try makeRight([.biometry, .passcode])
        // It would recognise the person at once.
        finger.prepare([ScriptedSensor.proves()])
        seats.move(client.processID)
        let id = try send(right)
        terminal.waitFor("Passcode: ")
        #expect(terminal.shows("Ostiary asks for your passcode.") && !terminal.shows("finger"), "\(terminal.screen)")
        #expect(terminal.staysSilent() && finger.armedCount == 0)
        terminal.type(BrokerFixture.passcode + "\r")
        let answer = try door.answer()
        #expect(answer.id == id && answer.refused == nil && !answer.tail.isEmpty)
        #expect(try finger.armedCount == 0 && factors() == ["passcode"])

        // The same client, when its person sits here.
        seats.move(nil)
        let next = try send(right)
        let local = try door.answer()
        #expect(
            local.id == next && local.refused == nil && !local.tail.isEmpty,
            "\(String(describing: local.refused)) \(terminal.screen)")
        #expect(try finger.armedCount == 1 && factors() == ["biometry"])
    }

    @Test func `is refused where a finger alone would do, and nobody is asked`() throws {
        let right = try makeRight([.biometry])
        finger.prepare([ScriptedSensor.proves()])
        seats.move(client.processID)
        let id = try send(right)
        let answer = try door.answer()
        #expect(answer.id == id && answer.tail.isEmpty)
        #expect(answer.refused?.code == .notInteractive && answer.refused?.cause == "prompt.sensor-remote")
        #expect(finger.armedCount == 0 && terminal.screen.isEmpty)
        let record = try #require(door.log().last { $0.event == "ssh-sign" })
        #expect(record.result == "refused" && record.reason == "prompt.sensor-remote")
    }
}
