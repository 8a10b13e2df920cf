import Foundation
import Glibc
import UnixSocket

/// The folder and the database file: who owns them, their modes, and the moment a new store appears in its place.
struct VaultFile {
    let folder: String
    /// The user whom folder and file must belong to.
    let userID: UInt32
    var path: String { Self.path(inFolder: folder) }
    static func path(inFolder folder: String) -> String { folder + "/vault.sqlite" }
    /// Space that is kept for removing things when the disk is full.
    var reservePath: String { folder + "/vault.reserve" }
    /// Removing writes every page of what is removed to the journal, and the largest object or item has 1 MiB of data.
    /// Where there is less room, the reserve is smaller by some steps.
    private static let reserveByteCounts = stride(from: 2 * 1024 * 1024, to: 0, by: -64 * 1024)
    /// Where a new store is made; it takes its place whole or not at all.
    var unfinishedPath: String { path + ".new" }

    /// Checks what is in the store's place and closes it to others; false if there is nothing.
    ///
    /// Must run before SQLite opens the file: closing any descriptor of it would drop SQLite's locks.
    func exists() throws -> Bool {
        guard try prepareExistingFolder() else { return false }
        let number = unsafe open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)
        if number < 0 && errno == ENOENT { return false }
        if number < 0 && errno == ELOOP { throw VaultError.unreadable(.notOurFile) }
        guard number >= 0 else { throw VaultError.io(code: errno) }
        let file = Descriptor(owning: number)
        var status = stat()
        guard unsafe fstat(file.number, &status) == 0 else { throw VaultError.io(code: errno) }
        guard status.st_mode & S_IFMT == S_IFREG, status.st_uid == userID, status.st_nlink == 1 else {
            throw VaultError.unreadable(.notOurFile)
        }
        guard fchmod(file.number, 0o600) == 0 else { throw VaultError.io(code: errno) }
        return true
    }

    /// Makes the folder (0700) if needed and an empty file (0600) for a new store; leftovers of an interrupted attempt go.
    func makeUnfinished() throws {
        if try !prepareExistingFolder() {
            guard unsafe mkdir(folder, 0o700) == 0 else { throw VaultError(errno: errno) }
        }
        for suffix in ["", "-wal", "-shm", "-journal"] {
            guard unsafe unlink(unfinishedPath + suffix) == 0 || errno == ENOENT else {
                throw VaultError.io(code: errno)
            }
        }
        let number = unsafe open(unfinishedPath, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard number >= 0 else { throw VaultError(errno: errno) }
        _ = Descriptor(owning: number)
    }

    /// Puts the finished store into its place, durably.
    func finish() throws {
        guard unsafe rename(unfinishedPath, path) == 0 else { throw VaultError(errno: errno) }
        let number = unsafe open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard number >= 0 else { throw VaultError(errno: errno) }
        let directory = Descriptor(owning: number)
        guard fsync(directory.number) == 0 else { throw VaultError(errno: errno) }
    }

    /// Sets the reserve aside, or makes a small one larger, as far as there is room.
    func keepReserve() throws {
        let number = unsafe open(reservePath, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0o600)
        guard number >= 0 else { throw VaultError(errno: errno) }
        let file = Descriptor(owning: number)
        var status = stat()
        guard unsafe fstat(file.number, &status) == 0 else { throw VaultError.io(code: errno) }
        let present = Int(status.st_size)
        for byteCount in Self.reserveByteCounts where byteCount > present {
            let code = FileSpace.allocate(file.number, from: 0, to: byteCount)
            if code == 0 { return }
            // A disk that is full already leaves nothing to set aside; that is not a reason to refuse the store.
            guard FileSpace.isFull(code) else { throw VaultError(errno: code) }
        }
        if present == 0 { try giveUpReserve() }
    }

    /// Frees the reserve; false if there is none.
    @discardableResult
    func giveUpReserve() throws -> Bool {
        if unsafe unlink(reservePath) == 0 { return true }
        guard errno == ENOENT else { throw VaultError(errno: errno) }
        return false
    }

    /// False if there is no folder. Only its owner may enter it afterwards.
    private func prepareExistingFolder() throws -> Bool {
        let number = unsafe open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        if number < 0 && errno == ENOENT { return false }
        if number < 0 && (errno == ELOOP || errno == ENOTDIR) { throw VaultError.unreadable(.notOurFile) }
        guard number >= 0 else { throw VaultError.io(code: errno) }
        let directory = Descriptor(owning: number)
        var status = stat()
        guard unsafe fstat(directory.number, &status) == 0 else { throw VaultError.io(code: errno) }
        guard status.st_uid == userID else { throw VaultError.unreadable(.notOurFile) }
        guard fchmod(directory.number, 0o700) == 0 else { throw VaultError.io(code: errno) }
        return true
    }
}
