import CLinuxShims
import Foundation
import Glibc
import OstiaryMessages
import OstiaryWire
import Testing
import UnixSocket

@testable import OstiaryClient

/// The messages that a door sends for its client. The test plays the daemon.
@Suite(.timeLimit(.minutes(10))) struct DoorClientTests {
    /// A request as the daemon gets it.
    private struct Heard: Sendable {
        let body: WireRequest.OneOf_Body
        let behalf: WireOnBehalf?
        let kinds: [PassedDescriptor.Kind]
        /// The process at the other end of the passed socket.
        let peer: Int32?
    }

    private final class PlayedDaemon: Sendable {
        let location: DaemonLocation
        let heard = Locked<[Heard]>([])
        private let socket: UnixSocket

        init(speaking versions: ProtocolVersions = .ofThisBuild) throws {
            let folder = "/tmp/ostiary-door-\(UUID().uuidString.prefix(8))"
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
            location = DaemonLocation(runtimeDirectory: folder, stateDirectory: folder)
            socket = try UnixSocket.listen(at: location.socketPath)
            Thread { [socket, heard] in
                do { try Self.serve(socket.accept(), versions, heard) } catch {}  // The client has gone.
            }.start()
        }

        deinit {
            socket.shutdown()
            try? FileManager.default.removeItem(atPath: PathName.folder(of: location.socketPath))
        }

        private static func serve(
            _ connection: UnixSocket, _ versions: ProtocolVersions, _ heard: Locked<[Heard]>
        ) throws {
            try FrameWriter.send(WireGreeting(versions, random: Data(count: 16)), on: connection)
            var reader = FrameReader(socket: connection)
            reader.read(in: versions.newest)
            reader.endHandshake(takesClients: true)
            while true {
                let frame = try reader.next(WireRequest.self)
                guard let body = frame.message.body else { return }
                let sockets = frame.descriptors.filter { $0.kind == .socket }
                let peer = try sockets.first.map { passed in
                    let copy = try Descriptor(dup(passed.descriptor.number), from: "dup")
                    return try UnixSocket(owning: copy).peerCredentials().processID
                }
                let request = Heard(
                    body: body, behalf: frame.message.onBehalf, kinds: frame.descriptors.map(\.kind), peer: peer)
                let id = frame.message.id
                heard.update { $0.append(request) }
                try FrameWriter.send(
                    WireReply.with { ($0.id, $0.body) = (id, answer(to: body)) }, in: versions.newest, on: connection)
            }
        }

        private static func answer(to body: WireRequest.OneOf_Body) -> WireReply.OneOf_Body {
            switch body {
            case .openContext: .context(.with { $0.contextID = 5 })
            case .authorize: .granted(.init())
            case .hello, .closeContext, .sign: .done(.init())
            default: .failure(.with { $0.code = UInt32(WireFailureCode.malformed.rawValue) })
            }
        }
    }

    /// A connection that this process made to itself, as a door has one of its client.
    private static func accepted() throws -> (accepted: UnixSocket, client: UnixSocket) {
        var ends: [CInt] = [-1, -1]
        guard socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0, &ends) == 0 else {
            throw SystemCallError("socketpair")
        }
        return (UnixSocket(owning: Descriptor(owning: ends[0])), UnixSocket(owning: Descriptor(owning: ends[1])))
    }

    @Test func `each call of an acting client names its client, and its terminal where a question may come`() throws {
        let daemon = try PlayedDaemon()
        let door = OstiaryClient(location: daemon.location)
        let (accepted, client) = try Self.accepted()
        defer { withExtendedLifetime(client) {} }
        let null = SharedDescriptor(try Descriptor(open("/dev/null", O_RDWR | O_CLOEXEC), from: "open"))
        let acting = door.acting(for: try DoorClient(accepted: accepted, terminal: null, label: "git"))
        do {
            let context = AuthorizationContext(client: acting)
            try context.begin()
            try context.authorize(.right(id: Data(count: 16)), interaction: Interaction(reason: "to test"))
            _ = try context.sign(digest: Data(count: 32), right: Data(count: 16), algorithm: "a")
        }
        #expect(throws: OstiaryError.self) { try door.right("mine") }

        let heard = daemon.heard.value
        let forClient = heard.filter { $0.behalf != nil }
        #expect(forClient.count == 4 && heard.count == 6, "hello, four calls for the client, one of the door's own")
        #expect(forClient.allSatisfy { $0.behalf?.label == "git" && $0.peer == getpid() })
        for request in forClient {
            if case .authorize = request.body {
                #expect(request.behalf?.descriptors == [.socket, .terminal] && request.kinds == [.socket, .device])
            } else {
                #expect(request.behalf?.descriptors == [.socket] && request.kinds == [.socket])
            }
        }
        if case .closeContext? = forClient.last?.body {
        } else {
            Issue.record("the context was not closed for the client")
        }
        #expect(heard.last?.kinds == [])
    }

    @Test func `a client without a connection is named by its process`() throws {
        let daemon = try PlayedDaemon()
        let process = SharedDescriptor(try Descriptor(ostiary_open_process(getppid()), from: "pidfd_open"))
        let acting = OstiaryClient(location: daemon.location).acting(for: DoorClient(process: process))
        try AuthorizationContext(client: acting).begin()
        let request = try #require(daemon.heard.value.first { $0.behalf != nil })
        #expect(request.behalf?.descriptors == [.process] && request.kinds == [.process])
    }

    @Test func `a context of one client serves no other, nor the door itself`() throws {
        let daemon = try PlayedDaemon()
        let door = OstiaryClient(location: daemon.location)
        let ends = try (0..<2).map { _ in try Self.accepted() }
        let acting = try ends.map { door.acting(for: try DoorClient(accepted: $0.accepted)) }
        let contexts = ([door] + acting).map { AuthorizationContext(client: $0) }
        for (client, context) in [(door, contexts[1]), (acting[0], contexts[0]), (acting[0], contexts[2])] {
            let error = #expect(throws: OstiaryError.self) {
                _ = try client.listItems(ItemSelection(itemClass: "genp"), context: context)
            }
            #expect(error?.code == .init(.invalidParameter))
        }
        #expect(daemon.heard.value.isEmpty)
        withExtendedLifetime(ends) {}
    }

    @Test func `a daemon that knows no clients is told nothing of one`() throws {
        let daemon = try PlayedDaemon(speaking: ProtocolVersions(7...7))
        let (accepted, client) = try Self.accepted()
        defer { withExtendedLifetime(client) {} }
        let door = OstiaryClient(location: daemon.location)
        let acting = door.acting(for: try DoorClient(accepted: accepted))
        let error = #expect(throws: OstiaryError.self) { try AuthorizationContext(client: acting).begin() }
        #expect(error?.code == .init(.versionMismatch))
        let registration = #expect(throws: OstiaryError.self) {
            try door.registerApplication(
                path: "/p", applicationID: "i", accessGroups: [], isDoor: true, interaction: Interaction(reason: "r"))
        }
        #expect(registration?.code == .init(.versionMismatch))
        #expect(daemon.heard.value.allSatisfy { if case .hello = $0.body { true } else { false } })
    }
}
