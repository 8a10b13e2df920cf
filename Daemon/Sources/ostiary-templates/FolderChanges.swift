import CInotify
import Glibc
import UnixSocket

/// Notices that entries of folders come, go or change (inotify(7)).
final class FolderChanges {
    private let instance: Descriptor

    private static let kinds = UInt32(
        IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_CLOSE_WRITE | IN_MODIFY | IN_ATTRIB | IN_DELETE_SELF
            | IN_MOVE_SELF)

    init() throws(SystemCallError) {
        instance = try Descriptor(inotify_init1(CInt(IN_CLOEXEC | IN_NONBLOCK)), from: "inotify_init1")
    }

    /// From now on the folder is looked at. Call this before it is read, so that no change gets lost.
    ///
    /// - Parameter folder: an open folder.
    func watch(_ folder: CInt) throws(SystemCallError) {
        // Not by its name, which could lead elsewhere by now.
        guard unsafe inotify_add_watch(instance.number, "/proc/self/fd/\(folder)", Self.kinds) >= 0 else {
            throw SystemCallError("inotify_add_watch")
        }
    }

    /// Readable once something has changed.
    var descriptor: CInt { instance.number }

    var haveHappened: Bool {
        var polled = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return unsafe poll(&polled, 1, 0) > 0
    }
}
