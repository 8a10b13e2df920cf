import Foundation
import Glibc
import UnixSocket

/// Folders that only the user may enter.
enum PrivateFolder {
    /// Makes the folder with mode 0700, or checks that it is the user's and closed to others.
    static func make(_ path: String) throws {
        do {
            try FileManager.default.createDirectory(
                atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch { throw StartError("\(path) cannot be made: \(error.localizedDescription)") }
        var status = stat()
        guard unsafe lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR, status.st_uid == geteuid(),
            status.st_mode & 0o077 == 0
        else { throw StartError("\(path) must be a folder of yours that is closed to others: chmod 700 \(path)") }
    }
}

/// The folder of the socket.
struct RuntimeDirectory {
    let path: String
    var socketPath: String { path + "/ostiaryd.socket" }

    init(path: String) throws {
        self.path = path
        try PrivateFolder.make(path)
    }

    /// Removes the socket of a daemon that was killed. The caller holds the lock, so no other daemon of ours listens.
    /// Any other file in the socket's place stays untouched.
    func clearStaleSocket() throws {
        var status = stat()
        guard unsafe lstat(socketPath, &status) == 0 else { return }
        guard status.st_mode & S_IFMT == S_IFSOCK, status.st_uid == geteuid() else {
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

/// One daemon per folder: an advisory lock (flock(2)) that ends with the process.
final class LockFile {
    private let file: SharedDescriptor

    init(in folder: String) throws {
        let path = folder + "/ostiaryd.lock"
        let number = unsafe open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard number >= 0 else { throw StartError("\(SystemCallError("open", subject: path))") }
        file = SharedDescriptor(Descriptor(owning: number))
        guard flock(file.number, LOCK_EX | LOCK_NB) == 0 else { throw AlreadyRunning(folder: folder) }
    }
}

/// Another daemon holds the lock.
struct AlreadyRunning: Error, CustomStringConvertible {
    let folder: String
    var description: String { "Another ostiaryd serves \(folder) already; use it, or stop it first." }
}
