import Glibc

/// The space of a file system, in bytes.
package struct DiskSpace: Sendable {
    /// The bytes that an ordinary user may still write.
    var free: UInt64
    var all: UInt64

    /// Whether programs must share the free space: less than 64 MiB, or less than a tenth of a small file system.
    var isScarce: Bool { free < min(64 * 1024 * 1024, all / 10) }

    init(free: UInt64, all: UInt64) {
        self.free = free
        self.all = all
    }

    /// Of the file system that holds `folder`; nil when the system does not say.
    package init?(of folder: String) {
        var status = statvfs()
        guard unsafe statvfs(folder, &status) == 0 else { return nil }
        let size = UInt64(status.f_frsize)
        self.init(free: UInt64(status.f_bavail) * size, all: UInt64(status.f_blocks) * size)
    }
}
