import DetachedThreads
import DoorSupport
import Foundation
import Glibc
import OstiaryClient
import OstiaryMessages
import OstiaryWire
import SocketTestSupport
import Synchronization
import Testing
import UnixSocket

@testable import UnitCredentials

/// What a refusal costs, and that one comes when the door ends. To systemd a connection that is just closed is an empty credential.
@Suite("Refusals of peers that are silent, and of a door that ends", .timeLimit(.minutes(10)))
final class RefusalTests {
    private final class Notes: Sendable {
        private let texts = Mutex<[String]>([])
        func add(_ text: String) { texts.withLock { $0.append(text) } }
        var all: [String] { texts.withLock { $0 } }
    }

    /// Only ends a test that hangs.
    private static let seconds = 500.0

    private let folder = FileManager.default.temporaryDirectory.path + "/ostiary-units-\(UUID().uuidString.prefix(8))"
    private let notes = Notes()

    init() throws {
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        try Data("backup.service key = backup\n".utf8).write(to: URL(fileURLWithPath: folder + "/rules"))
    }

    deinit { try? FileManager.default.removeItem(atPath: folder) }

    /// Limits that end nothing.
    private static var patient: RefusalLimits {
        var limits = RefusalLimits()
        (limits.usual, limits.short) = (.seconds(seconds), .seconds(seconds))
        (limits.underWay, limits.last) = (.seconds(seconds), .seconds(seconds))
        return limits
    }

    /// A server to which this process runs in `backup.service`, and is the service manager.
    private func server(
        _ limits: RefusalLimits = patient, managers: ServiceManagers = ServiceManagers(["/proc/self/exe"]),
        daemon: DaemonLocation? = nil
    ) -> CredentialServer {
        let nowhere = DaemonLocation(runtimeDirectory: folder + "/run", stateDirectory: folder + "/state")
        return CredentialServer(
            rules: folder + "/rules", ostiary: OstiaryClient(location: daemon ?? nowhere), managers: managers,
            limits: limits, unit: { _ throws(DoorFailure) in "backup.service" }, note: { [notes] in notes.add($0) })
    }

    private func isDone(_ semaphore: DispatchSemaphore) -> Bool {
        semaphore.wait(timeout: .now() + Self.seconds) == .success
    }

    private func isRefusal(_ answer: [UInt8]) -> Bool { answer.count > 1 << 20 && answer.allSatisfy { $0 == 0 } }

    // MARK: peers that do not read

    /// Both ends of a connection that holds few bytes which nobody has read.
    private static func pair() throws -> (accepted: UnixSocket, peer: UnixSocket) {
        var ends: [CInt] = [-1, -1]
        guard socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0, &ends) == 0 else {
            throw SystemCallError("socketpair")
        }
        var size: CInt = 16 * 1024
        guard setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &size, socklen_t(MemoryLayout<CInt>.size)) == 0 else {
            throw SystemCallError("setsockopt")
        }
        return (UnixSocket(owning: Descriptor(owning: ends[0])), UnixSocket(owning: Descriptor(owning: ends[1])))
    }

    @Test func `a peer that does not read costs no more than the limit`() throws {
        let (accepted, peer) = try Self.pair()
        Refusal.send(to: [accepted], within: .zero)
        #expect(try peer.receiveAll().count < Refusal.byteCount)
    }

    /// With a limit for each send it would have all bytes in the end, after more than a minute.
    @Test func `a peer that reads a little now and then gains no time`() throws {
        let (accepted, peer) = try Self.pair()
        let isSent = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
            Refusal.send(to: [accepted], within: .milliseconds(100))
            isSent.signal()
        }
        var buffer = [UInt8](repeating: 0, count: 512)
        var (received, count) = (0, 0)
        repeat {
            count = read(peer.number, &buffer, buffer.count)
            received += max(0, count)
            usleep(20_000)
        } while count > 0
        #expect(received < Refusal.byteCount)
        #expect(isDone(isSent))
    }

    @Test func `a peer that does not read keeps the refusal from no other`() throws {
        let (silent, peers) = (try Self.pair(), try (0..<3).map { _ in try Self.pair() })
        let isSent = DispatchSemaphore(value: 0)
        let accepted = [silent.accepted] + peers.map { $0.accepted }
        Thread.detachNewThread {
            Refusal.send(to: accepted, within: .seconds(RefusalTests.seconds))
            isSent.signal()
        }
        for pair in peers { #expect(try pair.peer.receiveAll().count == Refusal.byteCount) }
        silent.peer.shutdown()
        #expect(isDone(isSent), "a peer that has gone is waited for no longer")
    }

    /// Has one connection more refused than strangers may hold places; nobody reads.
    ///
    /// - Parameter body: done meanwhile. It is told when a refusal has ended.
    private func refuseSilentPeers(
        _ managers: ServiceManagers, while body: (_ isRefused: DispatchSemaphore) -> Void
    ) throws {
        var limits = Self.patient
        limits.short = .milliseconds(1)
        let server = server(limits, managers: managers)
        let pairs = try (0...CredentialServer.strangerPlaces).map { _ in try Self.pair() }
        let isRefused = DispatchSemaphore(value: 0)
        for accepted in pairs.map({ $0.accepted }) {
            Thread.detachNewThread {
                server.serve(accepted)
                isRefused.signal()
            }
        }
        body(isRefused)
        for pair in pairs { pair.peer.shutdown() }
    }

    @Test func `programs that are no service manager hold a share of the places, and no more`() throws {
        try refuseSilentPeers(ServiceManagers([])) { isRefused in
            #expect(isDone(isRefused), "one is beyond the share")
            #expect(isRefused.wait(timeout: .now() + 0.2) == .timedOut, "those in the share have their time")
        }
        #expect(notes.all.allSatisfy { $0 == DoorFailure.unitUnknown.explanation })
    }

    @Test func `a service manager has its time, however many others are refused`() throws {
        try refuseSilentPeers(ServiceManagers(["/proc/self/exe"])) { isRefused in
            #expect(isRefused.wait(timeout: .now() + 1) == .timedOut)
        }
    }

    // MARK: the end of the door

    /// A daemon that knows one item, and asks somebody about it who never answers.
    private final class AskingDaemon: Sendable {
        let location: DaemonLocation
        let isAsking = DispatchSemaphore(value: 0)
        let isCancelled = DispatchSemaphore(value: 0)
        private let socket: UnixSocket

        init(in folder: String) throws {
            location = DaemonLocation(runtimeDirectory: folder, stateDirectory: folder)
            socket = try UnixSocket.listen(at: location.socketPath)
            Thread.detachNewThread { [socket, isAsking, isCancelled] in
                while let connection = try? socket.accept() {
                    // It throws when the door has gone.
                    do { try Self.serve(connection, isAsking, isCancelled) } catch {}
                }
            }
        }

        deinit { socket.shutdown() }

        private static func serve(
            _ connection: UnixSocket, _ isAsking: DispatchSemaphore, _ isCancelled: DispatchSemaphore
        ) throws {
            let version = ProtocolVersions.ofThisBuild.newest
            try FrameWriter.send(WireGreeting(.ofThisBuild, random: Data(count: 16)), on: connection)
            var reader = FrameReader(socket: connection)
            reader.read(in: version)
            reader.endHandshake(takesClients: true)
            while true {
                let request = try reader.next(WireRequest.self).message
                var (id, answer) = (request.id, WireReply.OneOf_Body.done(.init()))
                switch request.body {
                case .openContext?: answer = .context(.with { $0.contextID = 1 })
                case .findItems(let find)? where find.listsLocked:
                    answer = .items(.with { $0.items = [.with { $0.itemID = Data(count: 16) }] })
                case .findItems?:
                    isAsking.signal()
                    continue
                case .cancel(let cancel)?:
                    isCancelled.signal()
                    id = cancel.requestID
                    answer = .failure(.with { $0.code = UInt32(WireFailureCode.appCancel.rawValue) })
                default: break
                }
                try FrameWriter.send(WireReply.with { ($0.id, $0.body) = (id, answer) }, in: version, on: connection)
            }
        }
    }

    /// A door of this process, as its program serves it.
    private struct Door {
        let listener: DoorListener
        let isEnded = DispatchSemaphore(value: 0)

        init(_ server: CredentialServer, in folder: String, hasThreads: Bool = true) throws {
            listener = try DoorListener.listen(at: folder + "/door/credentials.sock")
            Thread.detachNewThread { [listener, isEnded] in
                DetachedThread.$areRefused.withValue(!hasThreads) {
                    do { try server.serve(at: listener) } catch { Issue.record("\(error)") }
                }
                isEnded.signal()
            }
        }

        func connect() throws -> UnixSocket {
            let random = UUID().uuidString.replacingOccurrences(of: "-", with: "")
            return try UnixSocket.connect(
                to: listener.path, boundTo: Array("\(random)/unit/backup.service/key".utf8))
        }
    }

    @Test func `a door that is stopped while a question stands takes the question away and refuses`() throws {
        let daemon = try AskingDaemon(in: folder)
        let door = try Door(server(daemon: daemon.location), in: folder)
        let peer = try door.connect()
        #expect(isDone(daemon.isAsking))
        door.listener.stop()
        #expect(isDone(daemon.isCancelled))
        #expect(try isRefusal(peer.receiveAll()))
        #expect(isDone(door.isEnded))
        let explanation = "backup.service did not get key, because this program ends. Start the unit again."
        #expect(notes.all == [explanation])
    }

    /// The door waits for this daemon's greeting for 30 seconds, which is longer than a service manager waits for the door's end.
    @Test func `a door that is stopped while the daemon does not answer refuses before it ends`() throws {
        let location = DaemonLocation(runtimeDirectory: folder, stateDirectory: folder)
        let daemon = try UnixSocket.listen(at: location.socketPath)
        var limits = Self.patient
        limits.underWay = .zero
        let door = try Door(server(limits, daemon: location), in: folder)
        let peer = try door.connect()
        let asked = try daemon.accept()
        door.listener.stop()
        #expect(try isRefusal(peer.receiveAll()))
        #expect(isDone(door.isEnded))
        let explanation =
            "Units that still wait for a credential get none, because this program ends. Start them again."
        #expect(notes.all.first == explanation, "it did not wait for the daemon")
        withExtendedLifetime(asked) {}
    }

    @Test func `a door that is stopped with nobody to serve ends at once`() throws {
        let door = try Door(server(), in: folder)
        door.listener.stop()
        #expect(isDone(door.isEnded))
        #expect(notes.all.isEmpty)
    }

    @Test func `a connection for which the system gives no thread is refused`() throws {
        let door = try Door(server(), in: folder, hasThreads: false)
        for _ in 0..<2 { #expect(try isRefusal(door.connect().receiveAll())) }
        door.listener.stop()
        #expect(isDone(door.isEnded))
        #expect(notes.all.count == 2 && notes.all.allSatisfy { $0.contains("The system gives no thread") })
    }
}
