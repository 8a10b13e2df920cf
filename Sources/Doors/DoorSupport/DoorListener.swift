import CLinuxShims
import Cancellations
import DetachedThreads
import Glibc
import OstiaryClient
import Synchronization
package import UnixSocket

/// The socket at which a door is reached: the service manager's, or one that this process makes.
package final class DoorListener: Sendable {
    /// The path of the socket.
    package let path: String
    /// Whether the service manager listens with this process. Its socket outlives the process, and waits for the next one.
    package let isActivated: Bool
    private let socket: UnixSocket
    /// Held as long as this process serves a socket that it made. Nil for the service manager's.
    private let claim: SocketClaim?
    private let end: PollableCancellation

    private init(_ socket: UnixSocket, path: String, claim: SocketClaim?) throws(DoorFailure) {
        (self.socket, self.path, self.claim, isActivated) = (socket, path, claim, claim == nil)
        do { end = try PollableCancellation() } catch { throw .unusable(error) }
    }

    // MARK: making one

    /// The socket that the service manager passed (sd_listen_fds(3)); without one a new socket `NAME.sock` in the folder of the runtime.
    ///
    /// To be called before the process has a second thread: it removes variables of the environment.
    ///
    /// - Throws: `doorInUse`, `doorForeign`, `doorUnusable`.
    package static func open(_ name: String) throws(DoorFailure) -> DoorListener {
        if let passed = try PassedListener.take() {
            return try DoorListener(passed.socket, path: passed.path, claim: nil)
        }
        return try listen(at: try runtimeFolder() + "/\(name).sock")
    }

    /// A new socket at `path`, with mode 0600 in a folder of mode 0700. A stale socket of this user is replaced, and anything else left
    /// alone.
    package static func listen(at path: String) throws(DoorFailure) -> DoorListener {
        let claim = try SocketClaim(path)
        do {
            let socket = try UnixSocket.listen(at: path)
            try socket.attachSenderCredentials()
            return try DoorListener(socket, path: path, claim: claim)
        } catch let error as DoorFailure { throw error } catch let error as SystemCallError {
            throw .unusable(error)
        } catch { throw DoorFailure(any: error) }
    }

    /// The folder of the doors' sockets, which is that of a user's own daemon: `$XDG_RUNTIME_DIR/ostiary`.
    package static func runtimeFolder() throws(DoorFailure) -> String {
        do { return try DaemonLocation.ownOfCurrentUser().runtimeDirectory } catch { throw DoorFailure(error) }
    }

    // MARK: serving

    /// Serves clients until ``stop()``, each on a thread of its own. Blocks; without clients nothing wakes up.
    ///
    /// Clients beyond `limit` are closed at once, and so are connections of another user.
    ///
    /// - Parameter body: serves one connection and returns when it has ended.
    package func serve(limit: Int = 64, _ body: @escaping @Sendable (UnixSocket) -> Void) throws(DoorFailure) {
        let count = ServedCount(limit: limit)
        // Reading the arguments needed most of the program's code, and nothing needs it again.
        ostiary_release_code()
        while try waitForClient() {
            guard let connection = try accept() else { continue }
            guard count.enter() else { continue }
            let isStarted = DetachedThread.start {
                defer { count.leave() }
                body(connection)
            }
            if !isStarted { count.leave() }
        }
    }

    /// Ends ``serve(limit:_:)``. Connections go on. Removes the socket, unless it is the service manager's. May be called more than once.
    package func stop() {
        end.cancel()
        guard let claim else { return }
        claim.removeSocket()
        // A client that waits to be accepted must not wait for ever.
        socket.shutdown()
    }

    deinit { stop() }

    /// False once ``stop()`` was called.
    private func waitForClient() throws(DoorFailure) -> Bool {
        var watched = [
            pollfd(fd: socket.number, events: Int16(POLLIN), revents: 0),
            pollfd(fd: end.descriptor, events: Int16(POLLIN), revents: 0),
        ]
        while unsafe poll(&watched, nfds_t(watched.count), -1) < 0 {
            guard errno == EINTR else { throw .unusable(SystemCallError("poll", subject: path)) }
        }
        return watched[1].revents == 0
    }

    /// The next connection of this user; nil when there is none after all.
    private func accept() throws(DoorFailure) -> UnixSocket? {
        do {
            let connection = try socket.accept()
            guard try connection.peerCredentials().userID == geteuid() else { return nil }
            return connection
        } catch {
            switch error.code {
            case EAGAIN, EINTR, ECONNABORTED, EPROTO, ENOTCONN: return nil
            case EMFILE, ENFILE, ENOBUFS, ENOMEM:
                // The connection stays in the queue, and would wake this thread again at once.
                usleep(Self.shortageMicroseconds)
                return nil
            default: throw .unusable(error)
            }
        }
    }

    private static let shortageMicroseconds: useconds_t = 100_000
}

/// How many clients are served now.
private final class ServedCount: Sendable {
    private let limit: Int
    private let count = Mutex(0)

    init(limit: Int) { self.limit = limit }

    /// False when as many are served as may be.
    func enter() -> Bool {
        count.withLock { count in
            guard count < limit else { return false }
            count += 1
            return true
        }
    }

    func leave() { count.withLock { $0 -= 1 } }
}
