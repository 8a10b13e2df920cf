import CInotify
import Glibc
import UnixSocket

/// Notices added, removed and changed entries of folders (inotify(7)).
final class FolderChanges {
    private let instance: Descriptor

    private static let kinds = UInt32(
        IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_CLOSE_WRITE | IN_MODIFY | IN_ATTRIB | IN_DELETE_SELF
            | IN_MOVE_SELF)

    init() throws(SystemCallError) {
        instance = try Descriptor(inotify_init1(CInt(IN_CLOEXEC | IN_NONBLOCK)), from: "inotify_init1")
    }

    /// Begins to watch a folder. Call this before reading the folder, so that no change is missed.
    ///
    /// - Parameter folder: an open folder.
    func watch(_ folder: CInt) throws(SystemCallError) {
        // Not by its name, which could lead to another folder by now.
        guard unsafe inotify_add_watch(instance.number, "/proc/self/fd/\(folder)", Self.kinds) >= 0 else {
            throw SystemCallError("inotify_add_watch")
        }
    }

    /// Readable after a change.
    var descriptor: CInt { instance.number }

    var haveHappened: Bool {
        var polled = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return unsafe poll(&polled, 1, 0) > 0
    }
}
