import CLinuxShims
import Cancellations
import DetachedThreads
import Glibc
import OstiaryClient
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
    private let served: ServedConnections

    private init(_ socket: UnixSocket, path: String, claim: SocketClaim?) throws(DoorFailure) {
        (self.socket, self.path, self.claim, isActivated) = (socket, path, claim, claim == nil)
        do {
            end = try PollableCancellation()
            served = try ServedConnections()
        } catch { throw .unusable(error) }
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
    /// Clients beyond `limit` wait in the socket's queue until one leaves. If they were closed, systemd would take the end of the stream for
    /// an empty credential, and ssh would find no keys.
    ///
    /// - Parameters:
    ///   - body: serves one connection and returns when it has ended.
    ///   - unserved: gets each connection that is closed without being served, and why: `foreignUser`, and `doorUnusable` where the system
    ///     gives no thread. It runs on the thread that accepts, so it must not block for long.
    package func serve(
        limit: Int = 64, _ body: @escaping @Sendable (UnixSocket) -> Void,
        unserved: (UnixSocket, DoorFailure) -> Void = { _, _ in }
    ) throws(DoorFailure) {
        // Reading the arguments needed most of the program's code, and nothing needs it again.
        ostiary_release_code()
        while try waitForPlace(limit), try wait(for: socket.number) {
            guard let connection = try accept() else { continue }
            do throws(DoorFailure) { try start(connection, body) } catch { unserved(connection, error) }
        }
    }

    /// Waits until all clients have left, but no longer than `patience`. To be called when ``serve(limit:_:unserved:)`` has returned.
    ///
    /// - Returns: the connections that are still served.
    package func connections(stillServedAfter patience: Duration) -> [UnixSocket] {
        let deadline = PollDeadline(after: patience)
        while !served.areFewer(than: 1), let left = deadline.milliseconds {
            var watched = pollfd(fd: served.descriptor, events: Int16(POLLIN), revents: 0)
            if unsafe poll(&watched, 1, left) > 0 { served.forgetLeaving() }
        }
        return served.connections
    }

    /// Ends ``serve(limit:_:unserved:)``. Connections go on. Removes the socket, unless it is the service manager's. May be called more
    /// than once.
    package func stop() {
        end.cancel()
        guard let claim else { return }
        claim.removeSocket()
        // A client that waits to be accepted must not wait for ever.
        socket.shutdown()
    }

    deinit { stop() }

    /// Waits until fewer than `limit` clients are served. False once ``stop()`` was called.
    private func waitForPlace(_ limit: Int) throws(DoorFailure) -> Bool {
        while !served.areFewer(than: limit) {
            guard try wait(for: served.descriptor) else { return false }
            served.forgetLeaving()
        }
        return true
    }

    /// Waits until a descriptor can be read. False once ``stop()`` was called.
    private func wait(for descriptor: CInt) throws(DoorFailure) -> Bool {
        var watched = [
            pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0),
            pollfd(fd: end.descriptor, events: Int16(POLLIN), revents: 0),
        ]
        while unsafe poll(&watched, nfds_t(watched.count), -1) < 0 {
            guard errno == EINTR else { throw .unusable(SystemCallError("poll", subject: path)) }
        }
        return watched[1].revents == 0
    }

    /// Serves a connection on a thread of its own.
    ///
    /// - Throws: `foreignUser`, and `doorUnusable` if the system gives no thread.
    private func start(
        _ connection: UnixSocket, _ body: @escaping @Sendable (UnixSocket) -> Void
    ) throws(DoorFailure) {
        guard Self.isOfUser(connection) else { throw .foreignUser }
        // Before the thread runs: when serving has ended, each connection is known.
        served.enter(connection)
        let isStarted = DetachedThread.start { [served] in
            defer { served.leave(connection) }
            body(connection)
        }
        guard isStarted else {
            served.leave(connection)
            throw .unusable("The system gives no thread to serve a client with, so it was sent away. Try again later.")
        }
    }

    /// A connection whose user cannot be told counts as another user's.
    private static func isOfUser(_ connection: UnixSocket) -> Bool {
        do { return try connection.peerCredentials().userID == geteuid() } catch { return false }
    }

    /// The next connection; nil when there is none after all.
    private func accept() throws(DoorFailure) -> UnixSocket? {
        do { return try socket.accept() } catch {
            switch error.code {
            case EAGAIN, EINTR, ECONNABORTED, EPROTO: return nil
            case EMFILE, ENFILE, ENOBUFS, ENOMEM:
                // The connection stays in the queue, and would wake this thread again at once.
                usleep(Self.shortageMicroseconds)
                return nil
            // stop() has shut the socket down since the wait.
            case _ where end.isCancelled: return nil
            default: throw .unusable(error)
            }
        }
    }

    private static let shortageMicroseconds: useconds_t = 100_000
}
