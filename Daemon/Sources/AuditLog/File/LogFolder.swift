import CLinuxShims
import Glibc
import UnixSocket

/// The names in the log's folder, and the moves between them.
struct LogFolder: Sendable {
    let path: String
    var log: String { path + "/audit.log" }
    /// A log that is being made to take the place of another, or of none.
    var replacement: String { path + "/audit.log.new" }

    func removeReplacement() throws(AuditLogError) {
        guard unsafe unlink(replacement) == 0 || errno == ENOENT else { throw AuditLogError(errno: errno) }
    }

    /// Puts the finished replacement into place; a former log is kept as `audit.log.damaged.N`.
    func installReplacement() throws(AuditLogError) {
        try keepFormer()
        guard unsafe rename(replacement, log) == 0 else { throw AuditLogError(errno: errno) }
        try syncNames()
    }

    private func keepFormer() throws(AuditLogError) {
        for number in 1...Self.mostKept {
            if unsafe ostiary_rename_exclusive(log, "\(log).damaged.\(number)") == 0 || errno == ENOENT { return }
            guard errno == EEXIST else { throw AuditLogError(errno: errno) }
        }
        throw .exists
    }

    /// Makes the names durable.
    func syncNames() throws(AuditLogError) {
        let number = unsafe open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard number >= 0 else { throw AuditLogError(errno: errno) }
        let directory = Descriptor(owning: number)
        guard fsync(directory.number) == 0 else { throw AuditLogError(errno: errno) }
    }

    /// Somebody who makes the log fail again and again cannot fill the disk with old logs.
    private static let mostKept = 1000
}
