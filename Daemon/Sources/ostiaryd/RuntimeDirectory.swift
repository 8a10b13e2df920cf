import Foundation
import Glibc
import UnixSocket

/// Folders that only the user may enter.
enum PrivateFolder {
    /// Makes the folder with mode 0700, or checks that it is the user's and closed to others.
    ///
    /// - Parameter variable: the environment variable that chooses another place.
    static func make(_ path: String, chosenBy variable: String, userID: UInt32) throws {
        do {
            try FileManager.default.createDirectory(
                atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch { throw StartError("\(path) cannot be made: \(error.localizedDescription)") }
        var status = stat()
        let isFound = unsafe lstat(path, &status) == 0
        guard !isFound || status.st_mode & S_IFMT != S_IFLNK else {
            throw StartError("\(path) is a symbolic link. Ostiary needs a folder: move it here, or set \(variable).")
        }
        guard isFound, status.st_mode & S_IFMT == S_IFDIR, status.st_uid == userID, status.st_mode & 0o077 == 0 else {
            throw StartError("\(path) must be a folder of yours that is closed to others: chmod 700 \(path)")
        }
    }
}

/// The folder of the socket.
struct RuntimeDirectory {
    let path: String
    private let userID: UInt32
    var socketPath: String { path + "/ostiaryd.socket" }

    init(path: String, userID: UInt32) throws {
        self.path = path
        self.userID = userID
        try PrivateFolder.make(path, chosenBy: "XDG_RUNTIME_DIR", userID: userID)
    }

    /// Removes the socket of a daemon that was killed. The caller holds the lock, so no other daemon of ours listens.
    /// Any other file in the socket's place stays untouched.
    func clearStaleSocket() throws {
        var status = stat()
        guard unsafe lstat(socketPath, &status) == 0 else { return }
        guard status.st_mode & S_IFMT == S_IFSOCK, status.st_uid == userID else {
            throw StartError("\(socketPath) is not a socket of yours; find out who made it, then remove it.")
        }
        do throws(SystemCallError) {
            _ = try UnixSocket.connect(to: socketPath)
        } catch {
            guard error.code == ECONNREFUSED else { throw StartError("\(error)") }
            removeSocket()
            return
        }
        throw StartError("Another program listens at \(socketPath); stop it first.")
    }

    func removeSocket() { _ = unsafe unlink(socketPath) }
}

/// One daemon per folder: an advisory lock (flock(2)) on the folder itself, which ends with the process.
///
/// A lock on a file inside would be lost with the file: somebody who deletes it lets a second daemon lock a new one, and two
/// daemons ruin one store.
final class FolderLock {
    private let folder: SharedDescriptor

    init(on path: String) throws {
        let number = unsafe open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW)
        guard number >= 0 else { throw StartError("\(SystemCallError("open", subject: path))") }
        folder = SharedDescriptor(Descriptor(owning: number))
        guard flock(folder.number, LOCK_EX | LOCK_NB) == 0 else {
            guard errno == EWOULDBLOCK else { throw StartError("\(SystemCallError("flock", subject: path))") }
            throw AlreadyRunning(folder: path)
        }
        // Between opening and locking the folder can have been replaced; the lock would then protect another one.
        guard try Self.isAt(path, folder.number) else {
            throw StartError("\(path) was replaced while ostiaryd started. Start it again.")
        }
    }

    /// Ends the lock before the process does. A user can keep the kernel from ending it: the close of a descriptor that a program passed
    /// waits for the server of the program's file system (FUSE).
    func release() { _ = flock(folder.number, LOCK_UN) }

    private static func isAt(_ path: String, _ folder: CInt) throws -> Bool {
        var (named, locked) = (stat(), stat())
        guard unsafe lstat(path, &named) == 0 else { throw StartError("\(SystemCallError("lstat", subject: path))") }
        guard unsafe fstat(folder, &locked) == 0 else { throw StartError("\(SystemCallError("fstat", subject: path))") }
        return named.st_dev == locked.st_dev && named.st_ino == locked.st_ino
    }
}

/// Another daemon holds the lock.
struct AlreadyRunning: Error, CustomStringConvertible {
    let folder: String
    var description: String { "Another ostiaryd serves \(folder) already; use it, or stop it first." }
}
