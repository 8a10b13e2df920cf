public import Cancellations
import Dispatch
import OstiaryMessages
import SecretMemory
import Synchronization
import UnixSocket

/// The way from a program to the daemon: the user's own, or in system mode the machine's. It decides nothing and holds
/// nothing: it carries a call and waits.
///
/// A user's daemon is started on demand. Every call blocks until the daemon has answered, which for calls that ask a person
/// is as long as the prompt is up; ``perform(_:)`` runs calls for `async` code without blocking its threads.
public final class OstiaryClient: Sendable {
    /// The client of this process.
    public static var shared: OstiaryClient { sharedClient.withLock { $0 } }
    private static let sharedClient = Mutex(OstiaryClient())

    private let locate: @Sendable () throws -> DaemonLocation
    /// Whether a user's daemon that does not run is started. Tests start theirs themselves.
    private let startsDaemon: Bool
    private let connected: ConnectionInUse
    /// The process that requests are made for; nil when they are this program's own.
    let actsFor: DoorClient?
    let grantWatch: GrantWatch
    let environmentWatches = EnvironmentWatches()
    private let queue = DispatchQueue(label: "ostiary.client", attributes: .concurrent)

    init(
        startsDaemon: Bool = true,
        locating locate: @escaping @Sendable () throws -> DaemonLocation = { () throws in
            try DaemonLocation.ofCurrentUser()
        }
    ) {
        self.locate = locate
        self.startsDaemon = startsDaemon
        connected = ConnectionInUse()
        actsFor = nil
        grantWatch = GrantWatch { try DaemonConnection(to: locate()) }
    }

    /// A client on the connection of another one.
    init(_ other: OstiaryClient, actingFor client: DoorClient) {
        locate = other.locate
        startsDaemon = other.startsDaemon
        connected = other.connected
        actsFor = client
        // One thread and one connection wait for the grants of all clients.
        grantWatch = other.grantWatch
    }

    /// The connection that calls use.
    private final class ConnectionInUse: Sendable {
        let connection = Mutex<DaemonConnection?>(nil)
    }

    /// A client of the daemon at a given place, which it does not start; only for tests.
    package convenience init(location: DaemonLocation) {
        self.init(startsDaemon: false, locating: { location })
    }

    /// A client of the same daemon with a connection of its own: it shares nothing that the daemon keeps for a connection.
    public func separate() -> OstiaryClient { OstiaryClient(startsDaemon: startsDaemon, locating: locate) }

    /// Makes ``shared`` a client of the daemon at `location`, which it does not start, or of the user's own for nil; only
    /// for tests.
    package static func redirectShared(to location: DaemonLocation?) {
        let client = location.map(OstiaryClient.init(location:)) ?? OstiaryClient()
        let former = sharedClient.withLock { shared in
            defer { shared = client }
            return shared
        }
        former.environmentWatches.move(to: client)
    }

    /// Runs blocking calls away from the caller's thread. Cancelling the task cancels the call under way.
    public func perform<Result: Sendable>(
        _ work: @escaping @Sendable (Cancellation) throws -> Result
    ) async throws -> Result {
        let cancellation = Cancellation()
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                queue.async { continuation.resume(with: Swift.Result { try work(cancellation) }) }
            }
        } onCancel: {
            cancellation.cancel()
        }
    }

    // MARK: the connection

    /// The connection in use, or a new one; starts the user's daemon when none answers.
    func connection() throws -> DaemonConnection {
        try connected.connection.withLock { connected in
            if let connection = connected, !connection.isLost { return connection }
            let connection = try connect()
            connected = connection
            return connection
        }
    }

    /// A connection beside the one in use, to a daemon that runs.
    func ownConnection() throws -> DaemonConnection { try DaemonConnection(to: locate()) }

    private func connect() throws -> DaemonConnection {
        let location = try locate()
        guard case .system = location else { return try connect(to: location) }
        do { return try connect(to: location) } catch let error as OstiaryError where error.code == .connectionLost {
            // The machine's daemon ended before it had greeted, so nothing was asked of it. The next one serves the same socket.
            return try connect(to: location)
        }
    }

    private func connect(to location: DaemonLocation) throws -> DaemonConnection {
        do { return try DaemonConnection(to: location) } catch let error as SystemCallError {
            guard startsDaemon, DaemonStarter.canHelp(with: error), case .user(let daemon) = location else {
                throw location.unreachable(error)
            }
            try DaemonStarter(location: daemon).start()
        }
        do { return try DaemonConnection(to: location) } catch let error as SystemCallError {
            throw location.unreachable(error)
        }
    }

    /// Calls on the current connection. Calls again on a new one if the daemon had ended before the request was sent.
    func call(
        _ body: WireRequest.OneOf_Body, tail: borrowing SecretBytes = SecretBytes(zeroed: 0),
        terminal: TerminalOffer? = nil, file: @autoclosure () -> SharedDescriptor? = nil,
        cancellation: Cancellation? = nil
    ) throws -> DaemonAnswer {
        do {
            return try connection().call(
                body, tail: tail, terminal: terminal, file: file(), for: actsFor, cancellation: cancellation)
        } catch  where DaemonConnection.isUnsent(error) {
            return try connection().call(
                body, tail: tail, terminal: terminal, file: file(), for: actsFor, cancellation: cancellation)
        }
    }

    static func unexpected() -> OstiaryError {
        OstiaryError(.unexpectedAnswer, "The daemon's answer does not fit the request; restart the daemon.")
    }
}
