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
