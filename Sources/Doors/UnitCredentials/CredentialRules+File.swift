package import DoorSupport
import Glibc
import UnixSocket

extension CredentialRules {
    /// The usual file: `/etc/ostiary/credentials.conf` of root, `ostiary/credentials.conf` in the configuration folder of others.
    package static func usualPath() throws(DoorFailure) -> String {
        guard geteuid() != 0 else { return "/etc/ostiary/credentials.conf" }
        if let folder = unsafe getenv("XDG_CONFIG_HOME").map({ unsafe String(cString: $0) }),
            PathName.isAbsolute(folder)
        {
            return folder + "/ostiary/credentials.conf"
        }
        guard let entry = unsafe getpwuid(geteuid()), let home = unsafe entry.pointee.pw_dir else {
            throw .rulesUnusable(
                "This user has no home folder, so there is no place for rules. Name a file with --rules.")
        }
        return unsafe String(cString: home) + "/.config/ostiary/credentials.conf"
    }

    /// Reads a file that belongs to this user or root, and that nobody else can write.
    ///
    /// - Throws: `rulesAbsent`, `rulesUnusable`.
    package init(at path: String) throws(DoorFailure) {
        try self.init(parsing: try Self.bytes(at: path), path: path)
    }

    private static func bytes(at path: String) throws(DoorFailure) -> [UInt8] {
        // A pipe in the file's place must not hold up all units.
        let number = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
        guard number >= 0 else {
            if errno == ENOENT { throw .rulesAbsent(path) }
            throw unreadable(SystemCallError("open", subject: path))
        }
        let file = Descriptor(owning: number)
        var status = stat()
        guard unsafe fstat(file.number, &status) == 0 else { throw unreadable(SystemCallError("fstat", subject: path)) }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw .rulesUnusable("\(path) is not a file. Remove it, and write the rules into a file.")
        }
        guard status.st_uid == geteuid() || status.st_uid == 0, status.st_mode & (S_IWGRP | S_IWOTH) == 0 else {
            throw .rulesUnusable(
                "\(path) can be written by others, who could give any unit any secret. Make it yours alone (chmod go-w)."
            )
        }
        return try contents(of: file, path)
    }

    private static func contents(of file: borrowing Descriptor, _ path: String) throws(DoorFailure) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: byteCount + 1)
        var filled = 0
        while filled < bytes.count {
            let count = unsafe bytes.withUnsafeMutableBytes {
                unsafe read(file.number, $0.baseAddress! + filled, $0.count - filled)
            }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw unreadable(SystemCallError("read", subject: path)) }
            if count == 0 { break }
            filled += count
        }
        return Array(bytes[..<filled])
    }

    private static func unreadable(_ error: SystemCallError) -> DoorFailure {
        .rulesUnusable("The rules are there, but cannot be read (\(error)). Make them readable.")
    }
}
