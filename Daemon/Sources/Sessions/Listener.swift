package import Cancellations
import Glibc
package import UnixSocket

/// The socket at which a server accepts.
package enum Listener: Sendable {
    /// This process alone listens.
    case own(UnixSocket)
    /// The service manager listens, too. Programs that connect while no daemon accepts wait in the socket's queue for the next one.
    case inherited(UnixSocket, end: PollableCancellation)

    /// Begins to listen at `path`, which must not exist.
    package init(at path: String) throws(SystemCallError) { self = .own(try UnixSocket.listen(at: path)) }

    package init(inheriting socket: UnixSocket) throws(SystemCallError) {
        self = .inherited(socket, end: try PollableCancellation())
    }

    /// Whether another daemon goes on at the socket.
    package var outlivesDaemon: Bool {
        if case .inherited = self { true } else { false }
    }

    /// Waits for the next connection; nil after a while without one at an inherited socket, and after ``stop()``.
    package func next() throws(SystemCallError) -> UnixSocket? {
        switch self {
        case .own(let socket): return try socket.accept()
        case .inherited(let socket, let end): return try Self.next(at: socket, unless: end)
        }
    }

    private static func next(
        at socket: UnixSocket, unless end: PollableCancellation
    ) throws(SystemCallError) -> UnixSocket? {
        var waits = [
            pollfd(fd: end.descriptor, events: Int16(POLLIN), revents: 0),
            pollfd(fd: socket.number, events: Int16(POLLIN), revents: 0),
        ]
        let count = unsafe poll(&waits, nfds_t(waits.count), CInt(SessionLimits.turnSeconds) * 1000)
        guard count >= 0 else {
            if errno == EINTR { return nil }
            throw SystemCallError("poll")
        }
        guard waits[0].revents == 0, waits[1].revents != 0 else { return nil }
        do throws(SystemCallError) { return try socket.accept() } catch {
            // Another process that has the socket was faster.
            if error.code == EAGAIN { return nil }
            throw error
        }
    }

    /// Ends the wait for connections. Afterwards a socket of this process alone refuses them, and an inherited one keeps them: to shut it
    /// down would shut it down for the service manager, too.
    package func stop() {
        switch self {
        case .own(let socket): socket.shutdown()
        case .inherited(_, let end): end.cancel()
        }
    }
}
