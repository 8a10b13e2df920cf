import CLinuxShims
import Glibc
import UnixSocket

/// Files whose names come from callers.
enum NamedFile {
    /// Opens a regular file for reading, unless it is one of the store's own.
    ///
    /// The store's files are guarded: closing any descriptor of one would end SQLite's locks (``GuardedFile``). The next
    /// program that closed the store would then remove the journal that the daemon uses, and later writes would be lost.
    /// So the file is first identified through a handle, whose closing ends no lock, and then opened through that handle.
    /// A file that is put in its place meanwhile does not count.
    ///
    /// - Parameter folder: a folder's handle that the name is relative to; `AT_FDCWD` for none.
    static func open(_ name: String, in folder: CInt = AT_FDCWD) throws(ProgramFileError) -> Descriptor {
        let number = unsafe ostiary_open_handle(folder, name)
        guard number >= 0 else { throw .unreadable }
        let handle = Descriptor(owning: number)
        var status = stat()
        guard unsafe fstat(handle.number, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
            !GuardedFile.isGuarded(handle)
        else { throw .unreadable }
        let opened = unsafe Glibc.open("/proc/self/fd/\(handle.number)", O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)
        guard opened >= 0 else { throw .unreadable }
        return Descriptor(owning: opened)
    }
}

/// The values that show whether a file is the same and unchanged: device, inode, size, and the times of its last change
/// of content and of status. No program can set the last one. But a store to a page of a mapping, after the first one, leaves
/// all of them as they are: see ``ContentDigests``.
struct FileStamp: Hashable, Sendable {
    let device, inode: UInt64
    let size: Int64
    let modified, changed: Int128

    init(_ status: stat) {
        device = UInt64(status.st_dev)
        inode = UInt64(status.st_ino)
        size = Int64(status.st_size)
        modified = Self.nanoseconds(status.st_mtim)
        changed = Self.nanoseconds(status.st_ctim)
    }

    /// The file at `path` itself, not the target of a link; nil when it cannot be read.
    init?(path: String) {
        var status = stat()
        guard unsafe lstat(path, &status) == 0 else { return nil }
        self.init(status)
    }

    /// The file that `path` leads to, through links; nil when it cannot be read.
    init?(following path: String) {
        var status = stat()
        guard unsafe stat(path, &status) == 0 else { return nil }
        self.init(status)
    }

    static func nanoseconds(_ time: timespec) -> Int128 {
        Int128(time.tv_sec) * 1_000_000_000 + Int128(time.tv_nsec)
    }
}
