import GRDB
import Glibc
import UnixSocket

/// Space in the database file for what lies in the journal alone.
///
/// SQLite makes the file larger when it moves the journal's pages into it, and when it has moved all, cuts what is held
/// here beyond them. With the space there beforehand, the journal can be emptied on a full disk too, and its own space
/// serves removals. (A file system that copies on write may need some all the same.)
final class DatabaseFileSpace: Sendable {
    /// How much is held at a time, in bytes, so that few commits pay for it.
    private static let stepByteCount = 256 * 1024
    // Open as long as the vault is: closing any descriptor of the file drops SQLite's locks on it.
    private let descriptor: Descriptor
    private let pageByteCount: Int

    init(_ file: VaultFile, in queue: DatabaseQueue) throws {
        pageByteCount = try VaultError.mapping {
            try queue.read { try Int.fetchOne($0, sql: "PRAGMA page_size") ?? 0 }
        }
        let number = unsafe open(file.path, O_RDWR | O_NOFOLLOW | O_CLOEXEC)
        guard number >= 0 else { throw VaultError(errno: errno) }
        descriptor = Descriptor(owning: number)
    }

    /// The size of the database, with what the present transaction added.
    func pageCount(in database: Database) throws -> Int {
        try Int.fetchOne(database.cachedStatement(sql: "PRAGMA page_count")) ?? 0
    }

    /// Makes sure of space for so many pages; call it before they are committed.
    func hold(pageCount: Int) throws {
        var status = stat()
        guard unsafe fstat(descriptor.number, &status) == 0 else { throw VaultError.io(code: errno) }
        let (present, needed) = (Int(status.st_size), pageCount * pageByteCount)
        guard present < needed else { return }
        for end in [needed + Self.stepByteCount, needed] {
            let code = FileSpace.allocate(descriptor.number, from: present, to: end)
            // A file system that cannot hold space: moving the journal will say.
            guard FileSpace.isFull(code) else { return }
        }
        throw VaultError.diskFull
    }
}

/// Allocating the space of a file.
enum FileSpace {
    /// Allocates what is not allocated yet and makes the file as long; 0 or the error's number.
    static func allocate(_ descriptor: CInt, from start: Int, to end: Int) -> CInt {
        var code: CInt
        repeat { code = posix_fallocate(descriptor, off_t(start), off_t(end - start)) } while code == EINTR
        return code
    }

    static func isFull(_ code: CInt) -> Bool { code == ENOSPC || code == EDQUOT }
}
