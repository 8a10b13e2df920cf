import DoorSupport
import Glibc
import UnixSocket

/// The answer to a connection that gets no credential: more zeros than a credential may have, so that the service manager fails to start the
/// unit. If the connection were just closed, the unit would start with an empty credential, and an empty password is one that somebody may
/// accept.
enum Refusal {
    /// More than systemd takes: 1 MiB, and some for an encrypted one.
    static let byteCount = 2 * 1024 * 1024

    /// Sends it to all connections side by side, and ends each of them. Blocks until every peer has it or has gone, but no longer than
    /// `limit`. A peer that does not read so fast gets less.
    static func send(to connections: [UnixSocket], within limit: Duration) {
        let zeros = [UInt8](repeating: 0, count: 64 * 1024)
        let deadline = PollDeadline(after: limit)
        var rests = connections.map { Rest(connection: $0) }
        repeat {
            for index in rests.indices { rests[index].send(zeros) }
            rests.removeAll { $0.byteCount == 0 }
        } while wait(for: rests, until: deadline)
        for rest in rests { rest.connection.shutdown() }
    }

    /// Waits until a peer has room or has gone. False when there is nobody to wait for, and when the time is over.
    private static func wait(for rests: [Rest], until deadline: PollDeadline) -> Bool {
        guard !rests.isEmpty, let left = deadline.milliseconds else { return false }
        var watched = rests.map { pollfd(fd: $0.connection.number, events: Int16(POLLOUT), revents: 0) }
        // An interrupted wait begins again.
        return unsafe poll(&watched, nfds_t(watched.count), left) != 0
    }

    /// The rest of one refusal.
    private struct Rest {
        let connection: UnixSocket
        var byteCount = Refusal.byteCount

        /// Sends as much as the peer has room for, and ends the connection behind the last byte. A peer that has gone, or has stopped reading
        /// as it should, needs no more.
        mutating func send(_ zeros: [UInt8]) {
            while byteCount > 0 {
                let flags = CInt(MSG_DONTWAIT) | CInt(MSG_NOSIGNAL)
                let sent = unsafe Glibc.send(connection.number, zeros, min(byteCount, zeros.count), flags)
                if sent < 0 && errno == EINTR { continue }
                if sent < 0 && errno == EAGAIN { return }
                byteCount = sent < 0 ? 0 : byteCount - sent
            }
            connection.shutdown()
        }
    }
}

/// How long refusals may take. The limits end a refusal whose peer does not read; a service manager needs milliseconds.
package struct RefusalLimits: Sendable {
    /// Each one, in all. A busy machine may let a service manager wait for a processor.
    package var usual = Duration.seconds(10)
    /// One that others wait for: on the thread that accepts, and of programs that hold their share of the places already.
    package var short = Duration.seconds(1)
    /// At the end, for answers and refusals that are on their way.
    package var underWay = Duration.seconds(2)
    /// At the end, for everybody who has no answer by then. With the former it is far less than the 90 seconds after which systemd kills.
    package var last = Duration.seconds(5)

    package init() {}
}
