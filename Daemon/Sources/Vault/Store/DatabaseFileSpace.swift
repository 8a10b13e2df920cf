import GRDB
import Glibc
import UnixSocket

/// Allocates space in the database file for pages that so far lie in the journal alone.
///
/// SQLite makes the file larger when it moves the journal's pages into it. When it has moved all, it cuts the unused
/// rest. With the space allocated beforehand, the journal can be emptied on a full disk too, and removals can then use
/// the journal's own space. (A file system that copies on write may need some space all the same.)
final class DatabaseFileSpace: Sendable {
    /// How many bytes are allocated at a time. Large steps spare most commits the cost.
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

    /// The size of the database, including the additions of the present transaction.
    func pageCount(in database: Database) throws -> Int {
        try Int.fetchOne(database.cachedStatement(sql: "PRAGMA page_count")) ?? 0
    }

    /// Makes sure of space for so many pages. Call it before the pages are committed.
    func hold(pageCount: Int) throws {
        var status = stat()
        guard unsafe fstat(descriptor.number, &status) == 0 else { throw VaultError.io(code: errno) }
        let (present, needed) = (Int(status.st_size), pageCount * pageByteCount)
        guard present < needed else { return }
        for end in [needed + Self.stepByteCount, needed] {
            let code = FileSpace.allocate(descriptor.number, from: present, to: end)
            // This file system cannot allocate ahead. Moving the journal will report a full disk.
            guard FileSpace.isFull(code) else { return }
        }
        throw VaultError.diskFull
    }
}

/// Allocating the space of a file.
enum FileSpace {
    /// Allocates the missing space and makes the file as long. Returns 0 or the error's number.
    static func allocate(_ descriptor: CInt, from start: Int, to end: Int) -> CInt {
        var code: CInt
        repeat { code = posix_fallocate(descriptor, off_t(start), off_t(end - start)) } while code == EINTR
        return code
    }

    static func isFull(_ code: CInt) -> Bool { code == ENOSPC || code == EDQUOT }
}
