import AccessControl
import CLinuxShims
import Foundation
import OstiaryMessages
import StoreTestSupport
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
}
