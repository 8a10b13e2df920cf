import Glibc
import Synchronization
import UnixSocket

/// The connections that a door serves now.
final class ServedConnections: Sendable {
    private struct State {
        var connections: [ObjectIdentifier: UnixSocket] = [:]
        /// Whether somebody waits for a client to leave.
        var isAwaited = false
    }

    private let state = Mutex(State())
    /// A pipe. A byte lies in it when a client has left and somebody waited for that.
    private let reader: SharedDescriptor
    private let writer: SharedDescriptor

    init() throws(SystemCallError) {
        let ends = try PipeEnds()
        reader = SharedDescriptor(ends.reader)
        writer = SharedDescriptor(ends.writer)
    }

    var connections: [UnixSocket] { state.withLock { Array($0.connections.values) } }
    /// For `poll`; see ``areFewer(than:)``.
    var descriptor: CInt { reader.number }

    func enter(_ connection: UnixSocket) {
        state.withLock { $0.connections[ObjectIdentifier(connection)] = connection }
    }

    func leave(_ connection: UnixSocket) {
        state.withLock { state in
            state.connections[ObjectIdentifier(connection)] = nil
            guard state.isAwaited else { return }
            state.isAwaited = false
            // A wait is told once, so the pipe is never full and this never blocks.
            var byte: UInt8 = 1
            while unsafe write(writer.number, &byte, 1) < 0, errno == EINTR {}
        }
    }

    /// Whether fewer than `limit` are served. If not, ``descriptor`` can be read when the next client leaves.
    func areFewer(than limit: Int) -> Bool {
        state.withLock { state in
            state.isAwaited = state.connections.count >= limit
            return !state.isAwaited
        }
    }

    /// Takes the byte out of the pipe. To be called when ``descriptor`` can be read.
    func forgetLeaving() {
        var byte: UInt8 = 0
        while unsafe read(reader.number, &byte, 1) < 0, errno == EINTR {}
    }
}

/// The end of waits in `poll`. The time for which the machine sleeps does not count.
package struct PollDeadline: Sendable {
    private let end: SuspendingClock.Instant

    package init(after time: Duration) { end = SuspendingClock.now + time }

    /// The time until then, rounded up; nil when it has come.
    package var milliseconds: CInt? {
        let left = SuspendingClock.now.duration(to: end)
        return left > .zero ? CInt(min((left / .milliseconds(1)).rounded(.up), Double(CInt.max))) : nil
    }
}
