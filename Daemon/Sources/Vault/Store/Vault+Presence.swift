import GRDB
import Glibc
import Synchronization

extension Vault {
    /// Whether `folder` has any file in the store's place, usable or not.
    ///
    /// - Throws: ``VaultError/io(code:)`` when the folder cannot be examined: unreadable is not absent.
    public static func exists(inFolder folder: String) throws(VaultError) -> Bool {
        var status = stat()
        if unsafe lstat(VaultFile.path(inFolder: folder), &status) == 0 { return true }
        guard errno == ENOENT else { throw .io(code: errno) }
        return false
    }
}

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
