import Glibc

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

    static func nanoseconds(_ time: timespec) -> Int128 {
        Int128(time.tv_sec) * 1_000_000_000 + Int128(time.tv_nsec)
    }
}
