import GRDB
import Synchronization

/// Connections that were needed for a moment while a store was opened, closed.
///
/// A connection has a dispatch queue. When that is freed, Dispatch starts its threads, which then wake the process every second.
/// So the closed connections are kept: an idle daemon must sleep. There are few, because a process opens its store once.
enum ClosedConnections {
    private static let kept = Mutex<[DatabaseQueue]>([])

    /// Closes the connection. Afterwards it must not be used.
    static func close(_ connection: DatabaseQueue) throws {
        kept.withLock { $0.append(connection) }
        try connection.close()
    }
}
