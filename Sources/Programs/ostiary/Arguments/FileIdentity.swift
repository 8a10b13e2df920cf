import Glibc

/// Which regular file a name leads to: two names of one file have the same identity.
struct FileIdentity: Hashable {
    private let device: dev_t
    private let inode: ino_t

    /// Nil if the path leads to no regular file, which cannot be lost by being overwritten.
    init?(path: String) {
        var status = stat()
        guard unsafe stat(path, &status) == 0 else { return nil }
        self.init(status)
    }

    init?(descriptor: CInt) {
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0 else { return nil }
        self.init(status)
    }

    private init?(_ status: stat) {
        guard status.st_mode & S_IFMT == S_IFREG else { return nil }
        (device, inode) = (status.st_dev, status.st_ino)
    }
}
