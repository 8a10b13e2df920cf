@_implementationOnly import CLinuxShims
import Glibc

/// A file on which a library of this process holds record locks, as SQLite does on its databases.
///
/// Closing any descriptor of such a file ends every record lock that the process holds on it (fcntl(2)). While this value
/// lives, no descriptor that another program passes is closed if it is of this file, and ``isGuarded(_:)`` tells the file
/// apart. The file is known by device and inode, so every name of it counts.
public final class GuardedFile: Sendable {
    // As long as the file has a handle, its inode number is given to no other file. Closing a handle ends no lock.
    private let handle: Descriptor
    private let identity: ostiary_file_identity

    /// - Parameter path: the file's path. A link is followed.
    public init(path: String) throws(SystemCallError) {
        handle = try Descriptor(ostiary_open_handle(AT_FDCWD, path), from: "open", subject: path)
        var identity = ostiary_file_identity()
        guard unsafe ostiary_identify_open(handle.number, &identity) == 0 else {
            throw SystemCallError("statx", subject: path)
        }
        guard unsafe ostiary_guard_file(&identity) == 0 else { throw SystemCallError("malloc", subject: path) }
        self.identity = identity
    }

    deinit {
        var identity = identity
        unsafe ostiary_unguard_file(&identity)
    }

    /// Whether the open file is guarded. One that cannot be examined counts as guarded.
    public static func isGuarded(_ file: borrowing Descriptor) -> Bool {
        var identity = ostiary_file_identity()
        guard unsafe ostiary_identify_open(file.number, &identity) == 0 else { return true }
        return unsafe ostiary_is_guarded(&identity) != 0
    }
}
