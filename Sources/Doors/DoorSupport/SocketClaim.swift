import Glibc
import UnixSocket

/// The right to serve the socket at a path, which one process of the user has at a time.
///
/// A lock on a file beside the socket decides it, because a socket that somebody left cannot be told from one that another process is about
/// to serve.
final class SocketClaim: Sendable {
    private let path: String
    /// Closing it gives the claim up.
    private let lock: SharedDescriptor

    /// Makes the folder, takes the lock, and removes a stale socket.
    ///
    /// - Throws: `doorInUse`, `doorForeign`, `doorUnusable`.
    init(_ path: String) throws(DoorFailure) {
        self.path = path
        try Self.makeFolder(PathName.folder(of: path))
        lock = try Self.takeLock(path)
        try Self.removeStale(path)
    }

    /// Removes the socket that this process made.
    func removeSocket() { _ = unsafe unlink(path) }

    private static func makeFolder(_ folder: String) throws(DoorFailure) {
        makeMissing(folder)
        var status = stat()
        guard unsafe lstat(folder, &status) == 0 else { throw .unusable(SystemCallError("lstat", subject: folder)) }
        guard status.st_mode & S_IFMT == S_IFDIR, status.st_uid == geteuid() else { throw .foreign(folder) }
        guard status.st_mode & 0o077 == 0 else {
            throw .unusable("Others may enter \(folder), so no door is served there. Run `chmod 700 \(folder)`.")
        }
    }

    /// Makes the folder, and those above it that are missing, for this user alone. The folder is looked at afterwards.
    private static func makeMissing(_ folder: String) {
        guard unsafe mkdir(folder, 0o700) != 0, errno == ENOENT, folder.utf8.count > 1 else { return }
        makeMissing(PathName.folder(of: folder))
        _ = unsafe mkdir(folder, 0o700)
    }

    private static func takeLock(_ path: String) throws(DoorFailure) -> SharedDescriptor {
        let file = path + ".lock"
        let number = unsafe open(file, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard number >= 0 else {
            throw errno == ELOOP ? .foreign(file) : .unusable(SystemCallError("open", subject: file))
        }
        let lock = SharedDescriptor(Descriptor(owning: number))
        while flock(number, LOCK_EX | LOCK_NB) != 0 {
            switch errno {
            case EINTR: continue
            case EWOULDBLOCK: throw .inUse(path)
            default: throw .unusable(SystemCallError("flock", subject: file))
            }
        }
        return lock
    }

    /// With the lock, no door serves the socket. The service manager may still listen there.
    private static func removeStale(_ path: String) throws(DoorFailure) {
        var status = stat()
        guard unsafe lstat(path, &status) == 0 else {
            guard errno == ENOENT else { throw .unusable(SystemCallError("lstat", subject: path)) }
            return
        }
        guard status.st_mode & S_IFMT == S_IFSOCK, status.st_uid == geteuid() else { throw .foreign(path) }
        guard !isServed(path) else { throw .inUse(path) }
        guard unsafe unlink(path) == 0 || errno == ENOENT else {
            throw .unusable(SystemCallError("unlink", subject: path))
        }
    }

    /// Only a socket at which nobody listens refuses: every other failure counts as one that is served.
    private static func isServed(_ path: String) -> Bool {
        do {
            _ = try UnixSocket.connectInTime(to: path)
            return true
        } catch { return error.code != ECONNREFUSED }
    }
}

/// The socket that the service manager passed to this process.
struct PassedListener {
    let socket: UnixSocket
    let path: String

    private static let firstNumber: CInt = 3

    /// Nil when this process was started without one. Removes the variables that announce it.
    static func take() throws(DoorFailure) -> PassedListener? {
        let process = removedVariable("LISTEN_PID")
        let count = removedVariable("LISTEN_FDS")
        for name in ["LISTEN_FDNAMES", "LISTEN_PIDFDID"] { _ = removedVariable(name) }
        // Variables for another process, which started this one, say nothing about this one's descriptors.
        guard let process, let count, process == "\(getpid())" else { return nil }
        guard count == "1" else {
            throw .unusable("The service manager passed \(count) sockets, and a door has one. \(remedy)")
        }
        return try PassedListener(firstNumber)
    }

    init(_ number: CInt) throws(DoorFailure) {
        do {
            let address = try ListenerAddress(of: number)
            guard address.type == CInt(SOCK_STREAM.rawValue), !address.path.isEmpty else {
                throw DoorFailure.unusable("The socket that was passed is no stream socket with a path. \(Self.remedy)")
            }
            socket = try UnixSocket.inherited(number)
            path = address.path
        } catch let error as DoorFailure { throw error } catch {
            throw .unusable("The descriptor that was passed is no Unix socket that listens (\(error)). \(Self.remedy)")
        }
    }

    private static let remedy = "Use the units as they are installed, and start again."

    private static func removedVariable(_ name: String) -> String? {
        guard let value = unsafe getenv(name) else { return nil }
        let text = unsafe String(cString: value)
        unsafe unsetenv(name)
        return text
    }
}
