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

    /// The grants that a played daemon knows of.
    private struct Grants: Sendable {
        /// Counts their ends.
        var number: UInt64 = 0
        /// The contexts that hold one, by the label of their client; empty for the door itself.
        var held: [String: [UInt64]] = [:]
        /// Clients for which nothing is carried out any more.
        var refused: Set<String> = []
    }

    private final class PlayedDaemon: Sendable {
        let location: DaemonLocation
        let heard = Locked<[Heard]>([])
        let grants = Locked(Grants())
        private let socket: UnixSocket

        init(speaking versions: ProtocolVersions = .ofThisBuild) throws {
            let folder = "/tmp/ostiary-door-\(UUID().uuidString.prefix(8))"
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
            location = DaemonLocation(runtimeDirectory: folder, stateDirectory: folder)
            socket = try UnixSocket.listen(at: location.socketPath)
            Thread { [socket, heard, grants] in
                while let connection = try? socket.accept() {
                    Thread {
                        do { try Self.serve(connection, versions, heard, grants) } catch {}  // The client has gone.
                    }.start()
                }
            }.start()
        }

        deinit {
            socket.shutdown()
            try? FileManager.default.removeItem(atPath: PathName.folder(of: location.socketPath))
        }

        private static func serve(
            _ connection: UnixSocket, _ versions: ProtocolVersions, _ heard: Locked<[Heard]>, _ grants: Locked<Grants>
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
                if case .awaitGrantEnd(let wait) = body {
                    // Asked again and again: the test's end is the end of its connections.
                    while grants.value.number == wait.known { usleep(1000) }
                }
                let reply = answer(to: body, for: frame.message.onBehalf?.label ?? "", grants.value)
                try FrameWriter.send(
                    WireReply.with { ($0.id, $0.body) = (id, reply) }, in: versions.newest, on: connection)
            }
        }

        private static func answer(
            to body: WireRequest.OneOf_Body, for client: String, _ grants: Grants
        ) -> WireReply.OneOf_Body {
            switch body {
            case .heldGrants where grants.refused.contains(client):
                .failure(.with { $0.code = UInt32(WireFailureCode.clientChanged.rawValue) })
            case .heldGrants: .heldGrants(.with { $0.contextIDs = grants.held[client] ?? [] })
            case .awaitGrantEnd: .grantEnds(.with { $0.number = grants.number })
            case .openContext: .context(.with { $0.contextID = UInt64(client.utf8.count) })
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

    @Test func `a door is told when a grant of one of its clients ends, and of no other's`() throws {
        let daemon = try PlayedDaemon()
        let door = OstiaryClient(location: daemon.location)
        // The length of a client's label is the number of its context.
        let labels = ["a", "bb", "ccc"]
        let ends = try labels.map { _ in try Self.accepted() }
        let contexts = try zip(labels, ends).map { label, end in
            AuthorizationContext(client: door.acting(for: try DoorClient(accepted: end.accepted, label: label)))
        }
        daemon.grants.update { $0.held = ["a": [1], "bb": [2], "ccc": [3]] }
        let told = Locked<[String]>([])
        for (label, context) in zip(labels, contexts) {
            try context.authorize(.right(id: Data(count: 16)), interaction: Interaction(reason: "to test"))
            context.watchGrant { told.update { $0.append(label) } }
        }
        func waits() -> Int { daemon.heard.value.count { if case .awaitGrantEnd = $0.body { true } else { false } } }
        try eventually { waits() >= 2 }
        #expect(told.value.isEmpty)

        daemon.grants.update { ($0.held["bb"], $0.number) = ([], 1) }
        try eventually { told.value == ["bb"] }
        // It has executed another program.
        daemon.grants.update {
            $0.refused = ["a"]
            $0.number = 2
        }
        try eventually { told.value == ["bb", "a"] }
        daemon.grants.update { ($0.held["ccc"], $0.number) = ([], 3) }
        try eventually { told.value == ["bb", "a", "ccc"] }
        let asked = daemon.heard.value.filter { if case .heldGrants = $0.body { true } else { false } }
        #expect(asked.allSatisfy { $0.behalf != nil }, "nothing was granted to the door itself")
        let waiting = daemon.heard.value.filter { if case .awaitGrantEnd = $0.body { true } else { false } }
        #expect(waiting.allSatisfy { $0.behalf == nil }, "one wait for all")
        withExtendedLifetime((contexts, ends)) {}
    }

    private func eventually(_ isSo: () -> Bool) throws {
        let end = ContinuousClock.now + .seconds(60)
        while !isSo() {
            try #require(ContinuousClock.now < end)
            usleep(1000)
        }
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
