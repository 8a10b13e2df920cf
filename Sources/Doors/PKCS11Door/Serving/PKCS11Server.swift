import CommandFailures
import DoorSupport
import Foundation
package import OstiaryClient
import SecretMemory
import Synchronization
package import UnixSocket

/// Serves the programs that have loaded the module, each on a thread of its own.
package struct PKCS11Server: Sendable {
    private let ostiary: OstiaryClient
    private let note: @Sendable (String) -> Void
    private let places = ClientPlaces()

    /// - Parameter note: is told why something was refused. Never a secret.
    package init(ostiary: OstiaryClient = .shared, note: @escaping @Sendable (String) -> Void) {
        (self.ostiary, self.note) = (ostiary, note)
    }

    /// Answers one connection until it ends. Blocks.
    package func serve(_ socket: UnixSocket) {
        do throws(DoorFailure) {
            let client = try ServedClient(accepted: socket, ostiary: ostiary)
            // It ends the questions, too.
            defer { client.leave() }
            let writer = ClientWriter(client)
            let session = TokenSession(
                KeysOfGroup(of: client), end: client.cancellation, send: { writer.send($0) }, note: note)
            let placed = TokenClient(client, session)
            defer { places.leave(placed) }
            // Ostiary takes the client for the program that it runs then, so this comes before anything of it is read.
            let program = client.programFile.map { ProgramFile(device: $0.device, inode: $0.inode) }
            try places.enter(placed, of: program) { () throws(DoorFailure) in
                try client.begin()
            }
            while let content = try Self.nextMessage(of: client) {
                do throws(PKCS11FormatError) { try session.handle(content) } catch {
                    throw DoorFailure.format(error)
                }
            }
        } catch { note("A client was sent away: \(error)") }
    }

    /// The next message without its length; nil when the client has closed the connection.
    private static func nextMessage(of client: ServedClient) throws(DoorFailure) -> Data? {
        guard let head = try client.read(4) else { return nil }
        let count: Int
        do throws(PKCS11FormatError) { count = try PKCS11Request.byteCount(Data(exposing: head)) } catch {
            throw DoorFailure.format(error)
        }
        guard let content = try client.read(count) else { return nil }
        return Data(exposing: content)
    }
}

/// A client and what it needs its place for.
private final class TokenClient: PlacedClient {
    private let served: ServedClient
    private let session: TokenSession

    init(_ served: ServedClient, _ session: TokenSession) { (self.served, self.session) = (served, session) }

    var need: ClientNeed { session.need }
    var lastMessage: ContinuousClock.Instant { session.lastMessage }

    /// The module connects again for its program's next call.
    func sendAway() { served.leave() }
}

/// Writes whole messages of several threads to one client.
private final class ClientWriter: Sendable {
    private let client: ServedClient
    private let turn = Mutex(())

    init(_ client: ServedClient) { self.client = client }

    /// A client that has gone gets nothing. Its reader notices, too.
    func send(_ message: OutgoingMessage) {
        turn.withLock { _ in
            do { try client.write(message.bytes) } catch { client.leave() }
        }
    }
}

extension DoorFailure {
    /// Nobody can be sent away for one more client.
    static let noPlace = DoorFailure(
        -231, FailureClass("pkcs11Full", .failed),
        """
        \(PKCS11Limits.clients.ofProgram) processes of one program, or \(PKCS11Limits.clients.total) of all, use keys at this moment. \
        Try again when one of them has its answer.
        """)

    /// The bytes of a client are no messages.
    static func format(_ error: PKCS11FormatError) -> DoorFailure {
        let what =
            switch error {
            case .malformed: "bytes that are no message"
            case .tooLarge:
                "a message that is longer than \(PKCS11Limits.messageByteCount) bytes, or has a longer part than it may"
            case .otherVersion(let version):
                "the greeting of version \(version), and this door speaks \(PKCS11Limits.version)"
            case .outOfOrder: "a message out of turn"
            case .repeatedNumber: "two requests of one number"
            }
        return DoorFailure(
            -230, FailureClass("pkcs11Protocol", .failed),
            "A client sent \(what), and its connection was closed. Module and door are of one installation; install both again."
        )
    }
}
