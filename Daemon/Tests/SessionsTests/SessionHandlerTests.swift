import Foundation
import Glibc
import HelperProcesses
import Logging
import Opening
import OstiaryMessages
import OstiaryWire
import Owners
import ProcessFacts
import Refusals
import Settings
import StoreTestSupport
import TerminalTestSupport
import Testing
import UnixSocket

@testable import Auditing
@testable import BrokerTestSupport
@testable import Sessions

/// Sessions know no broker: another handler can answer them.
@Suite("A session without a broker", .timeLimit(.minutes(10)))
final class SessionHandlerTests {
    private final class Handler: RequestHandler {
        func answer(_ exchange: Exchange) throws(NotAnswered) -> Reply {
            switch exchange.request.body {
            case .openContext: return Reply(.context(.with { $0.contextID = 7 }))
            case .findItems where exchange.cancellation == nil: throw .personNeeded
            case .updateItems where !exchange.request.mayReadMuch: throw .ownThreadNeeded
            case .lock: throw .refused(Refusal(.operationNotPermitted, "No.", cause: "test.no"))
            default: return .done
            }
        }

        func refusal(for error: any Error, ofUser userID: UInt32) -> Refusal { Refusal(.internal, "\(error)") }
    }

    private let folder: TestFolder
    private let store: OpenedStore
    private let services: SessionServices
    private let server: Server
    private let recorded = RecordedLog()

    init() throws {
        folder = try TestFolder()
        umask(0o077)
        let user = try SystemUser.current()
        let log = recorded.logger
        store = try OpenedStore.open(
            BrokerConfiguration(
                runsAs: user, stateDirectory: folder.path("state"), helpers: .missing,
                facts: KernelFacts(), sessionRecords: LogindSessions.ofMachine, prompts: PromptConfiguration(),
                version: "test", applicationsDirectory: folder.path("apps.d")),
            log: log, securityKeys: nil, stretching: .quick, prompter: ScriptedPrompter(), clock: TestClock(),
            space: { nil })
        services = SessionServices(
            owners: store.owners, facts: KernelFacts(), limits: .ofOneUser, clock: store.clock,
            contextLifetime: .seconds(60), isEnclaveImmediate: true, log: log,
            callerLines: store.shared.log.callerLines)
        server = try Server(
            listeningAt: folder.path("socket"), services: services, handler: Handler(), owners: .only(user))
        Thread { [server] in server.run() }.start()
    }

    deinit {
        server.stop()
        store.close()
    }

    private func client() throws -> TestClient { try TestClient(socketPath: folder.path("socket")) }

    @Test func `is answered by its handler`() throws {
        #expect(try client().openContext() == 7)
        let refused = #expect(throws: Refused.self) { try self.client().call(.lock(.init())) }
        #expect(refused?.code == .operationNotPermitted && refused?.cause == "test.no")
    }

    @Test func `asks its handler again where it may wait`() throws {
        let client = try client()
        for body in [.findItems(.init()), .updateItems(.init())] as [WireRequest.OneOf_Body] {
            guard case .done = try client.call(body).body else { throw TestClient.UnexpectedAnswer() }
        }
    }

    @Test func `asks its handler nothing that the request table does not admit`() throws {
        let refused = #expect(throws: Refused.self) {
            try self.client().call(.hello(.with { $0.protocolVersion = WireLimits.protocolVersion }))
        }
        #expect(refused?.code == .outOfOrder)
    }

    /// Answers the greeting with what is no frame, and waits for the end.
    private func breakConnection() throws {
        let socket = try UnixSocket.connect(to: folder.path("socket"))
        var reader = FrameReader(socket: socket)
        _ = try reader.next(WireGreeting.self)
        try [UInt8](repeating: 0xFF, count: 8).withUnsafeBytes { try socket.send($0) }
        do {
            _ = try reader.next(WireReply.self)
            throw TestClient.UnexpectedAnswer()
        } catch FrameReadError.closed {} catch FrameReadError.system {}
    }

    @Test func `that is broken again and again leaves few lines in the log`() throws {
        for _ in 0..<(3 * Int(CallerLines.burst)) { try breakConnection() }
        try eventually("all have ended") { services.registry.isEmpty }
        #expect(recorded.count(of: "a connection ended") == Int(CallerLines.burst))
    }

    @Test func `ends with its program`() throws {
        try client().end()
        server.stop()
        #expect(services.registry.isEmpty)
    }
}
