import Foundation
import Glibc
import UnixSocket

/// The folder and the database file: who owns them, their modes, and the moment a new store appears in its place.
struct VaultFile {
    let folder: String
    /// The user who must own folder and file.
    let userID: UInt32
    var path: String { Self.path(inFolder: folder) }
    static func path(inFolder folder: String) -> String { folder + "/vault.sqlite" }
    /// Space that is set aside for removals on a full disk.
    var reservePath: String { folder + "/vault.reserve" }
    /// A removal writes every page of the removed object or item to the journal, and the largest one has 1 MiB of data.
    /// With less room on the disk, the reserve is smaller by some steps.
    private static let reserveByteCounts = stride(from: 2 * 1024 * 1024, to: 0, by: -64 * 1024)
    /// The path where a new store is made, before it is moved into place as a whole.
    var unfinishedPath: String { path + ".new" }

    /// Checks the file in the store's place and closes it to other users; false if there is none.
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

    /// Makes the folder (0700) if needed and an empty file (0600) for a new store. Removes what an interrupted attempt
    /// left.
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

    /// Guards the files that SQLite has locks on while the store is open: the database and the index of its journal.
    func guarded() throws -> [GuardedFile] {
        do throws(SystemCallError) { return [try GuardedFile(path: path), try GuardedFile(path: path + "-shm")] } catch
        {
            throw VaultError(errno: error.code)
        }
    }

    /// Puts the finished store into its place, durably.
    func finish() throws {
        guard unsafe rename(unfinishedPath, path) == 0 else { throw VaultError(errno: errno) }
        let number = unsafe open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard number >= 0 else { throw VaultError(errno: errno) }
        let directory = Descriptor(owning: number)
        guard fsync(directory.number) == 0 else { throw VaultError(errno: errno) }
    }

    /// Sets the reserve aside, or enlarges a small one, as far as there is room.
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
            // A full disk has no space to set aside. That is no reason to refuse the store.
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

    /// Closes the folder to everybody but its owner; false if there is no folder.
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
