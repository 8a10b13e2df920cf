import AccessControl
import Callers
import Crypto
import Dispatch
import Foundation
import Glibc
import OstiaryMessages
import OstiaryWire
import Owners
import SecretMemory
import StoreTestSupport
import TerminalTestSupport
import Testing
import UnixSocket

@testable import Broker
@testable import BrokerTestSupport
@testable import Sessions

/// A server at a socket that outlives it, as the service manager's does.
@Suite("A server at an inherited socket", .timeLimit(.minutes(10)))
struct InheritedListenerTests {
    private let fixture: BrokerFixture
    private let listener: UnixSocket
    private let path: String

    init() throws {
        fixture = try BrokerFixture()
        path = fixture.folder.path("inherited")
        listener = try UnixSocket.listen(at: path)
    }

    /// A server that inherits the socket, with a descriptor of its own, as another process would.
    private func server(of fixture: BrokerFixture? = nil) throws -> Server {
        let number = dup(listener.number)
        let server = try Server(
            inheriting: UnixSocket.inherited(number), broker: (fixture ?? self.fixture).broker,
            owners: .only(SystemUser.current()))
        #expect(fcntl(number, F_GETFD) & FD_CLOEXEC != 0)
        return server
    }

    private func run(_ server: Server) { Thread { server.run() }.start() }

    @Test func `serves, and its end leaves the socket to the next one`() throws {
        let first = try server()
        run(first)
        _ = try TestClient(socketPath: path).status()
        first.stop()
        // Nobody accepts now, and nobody is refused.
        let waiting = try (0..<20).map { _ in try UnixSocket.connect(to: path) }
        let isAccepted = { (socket: UnixSocket) -> Bool in
            var polled = pollfd(fd: socket.number, events: Int16(POLLIN), revents: 0)
            return poll(&polled, 1, 0) > 0
        }
        #expect(!waiting.contains(where: isAccepted))
        let next = try server()
        run(next)
        try eventually("all that waited are greeted") { waiting.allSatisfy(isAccepted) }
        next.stop()
        #expect(access(path, F_OK) == 0)
    }

    @Test func `answers what was sent before its end, and takes nothing later`() throws {
        let server = try server()
        run(server)
        let clients = try (0..<8).map { _ in try TestClient(socketPath: path) }
        for client in clients { try client.send(.status(.init())) }
        server.stop(finishSeconds: 300)
        for client in clients {
            guard case .status = try client.answer().body else { throw TestClient.UnexpectedAnswer() }
            #expect(throws: FrameWriteError.self) { try client.send(.status(.init())) }
        }
    }

    /// The connection's thread makes the signature meanwhile, and reads the wait afterwards.
    @Test func `a wait that was sent before its end and is read behind it is refused, and holds nothing up`() throws {
        let interlude = Interlude()
        let fixture = try BrokerFixture(around: { InterludeEnclave(enclave: $0, interlude: interlude) })
        let server = try server(of: fixture)
        run(server)
        let client = try TestClient(socketPath: path)
        let context = try client.openContext()
        let right = try client.create("right", AccessControl(availability: .always, using: .unrestricted))
        try client.authorize(rightID: right.rightID, in: context)
        // The end of another connection would end the wait for it.
        guard case .grantEnds(let ends) = try client.call(.awaitGrantEnd(.with { $0.connection = client.nonce })).body
        else { throw TestClient.UnexpectedAnswer() }
        let (isUsed, isDone) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        interlude.next {
            isUsed.signal()
            _ = isDone.wait(timeout: .now() + 120)
        }
        let signature = WireRequest.OneOf_Body.sign(
            .with {
                ($0.contextID, $0.rightID) = (context, right.rightID)
                $0.algorithm = "algid:sign:ECDSA:digest-X962:SHA256"
            })
        try client.send(signature, tail: SecretBytes(bytes: Data(SHA256.hash(data: Data()))))
        #expect(isUsed.wait(timeout: .now() + 120) == .success)
        let id = try client.send(
            .awaitGrantEnd(.with { ($0.connection, $0.known) = (client.nonce, ends.number) }))
        let threads = Threads<Void>()
        threads.start { server.stop(finishSeconds: 60) }
        try eventually("the server takes no more") { (try? client.send(.status(.init()))) == nil }
        let begin = ContinuousClock.now
        isDone.signal()
        _ = threads.wait()
        #expect(ContinuousClock.now - begin < .seconds(40))
        var answer = try client.answer()
        while answer.id != id { answer = try client.answer() }
        #expect(answer.refused != nil)
    }

    @Test func `says whether its thread accepts`() throws {
        let server = try server()
        // No thread runs it. The clock has counted since the machine's start.
        #expect(server.turns == false)
        run(server)
        try eventually("the thread accepts") { server.turns }
        server.stop()
    }

    @Test func `ends at once, although nobody connects`() throws {
        let server = try server()
        let threads = Threads<Void>()
        threads.start { server.run() }
        try eventually("the thread accepts") { server.turns }
        let begin = ContinuousClock.now
        server.stop()
        _ = threads.wait()
        #expect(ContinuousClock.now - begin < .seconds(5))
    }

    @Test func `goes on when another process was faster`() throws {
        let server = try server()
        run(server)
        for _ in 0..<200 {
            _ = try UnixSocket.connect(to: path)
            // Takes the connection away, if it can. The server has made the socket one that does not wait.
            _ = try? listener.accept()
        }
        _ = try TestClient(socketPath: path).status()
        server.stop()
    }

    @Test func `knows the address of a listening socket, and that others have none`() throws {
        #expect(
            try ListenerAddress(of: listener.number)
                == ListenerAddress(type: CInt(SOCK_STREAM.rawValue), path: path))
        func code(_ number: CInt) -> CInt? {
            do throws(SystemCallError) { _ = try ListenerAddress(of: number) } catch { return error.code }
            return nil
        }
        let file = SharedDescriptor(try Descriptor(open("/dev/null", O_RDONLY | O_CLOEXEC), from: "open"))
        let connected = try UnixSocket.connect(to: path)
        let type = CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
        let network = SharedDescriptor(try Descriptor(socket(AF_INET, type, 0), from: "socket"))
        #expect(code(-1) == EBADF)
        #expect(code(file.number) == ENOTSOCK)
        #expect(code(connected.number) == EINVAL)
        #expect(code(network.number) == EAFNOSUPPORT)
    }

    // MARK: who is served

    @Test func `users who are named as nobody's are foreign, and others are not`() throws {
        let owners = OwnerLookup.anybodyBut([1, 65534])
        #expect(throws: CallerError.foreignUser(1)) { try owners.user(1) }
        #expect(throws: CallerError.foreignUser(65534)) { try owners.user(65534) }
        #expect(try owners.user(0) == SystemUser(id: 0, name: "root"))
    }
}
