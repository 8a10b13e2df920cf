import CLinuxShims
import Foundation
import Glibc
import UnixSocket

/// The names in the log's folder, and the moves between them.
struct LogFolder: Sendable {
    let path: String
    /// The user whom the logs must belong to.
    let userID: UInt32
    var log: String { path + "/audit.log" }
    /// A log that is being made to take the place of another, or of none.
    var replacement: String { path + "/audit.log.new" }

    func removeReplacement() throws(AuditLogError) {
        guard unsafe unlink(replacement) == 0 || errno == ENOENT else { throw AuditLogError(errno: errno) }
    }

    /// A part that was closed.
    func closed(_ number: Int) -> String { "\(log).\(number)" }

    /// Whether nothing lies where a part belongs when it is closed.
    func isFree(part number: Int) throws(AuditLogError) -> Bool { try isFree(closed(number)) }

    private func isFree(_ path: String) throws(AuditLogError) -> Bool {
        var status = stat()
        if unsafe lstat(path, &status) == 0 { return false }
        guard errno == ENOENT else { throw AuditLogError(errno: errno) }
        return true
    }

    /// Puts the finished replacement into the place of a part, which becomes a closed one. Can be done again after a crash.
    func closePart(_ number: Int) throws(AuditLogError) {
        guard unsafe rename(log, closed(number)) == 0 || errno == ENOENT else { throw AuditLogError(errno: errno) }
        try install()
    }

    /// Puts the finished replacement into place; a former log is kept as `audit.log.damaged.N`, its closed parts as
    /// `audit.log.damaged.N.1` and so on.
    func installReplacement() throws(AuditLogError) {
        try keepFormer()
        try install()
    }

    private func install() throws(AuditLogError) {
        guard unsafe rename(replacement, log) == 0 else { throw AuditLogError(errno: errno) }
        try syncNames()
    }

    private func keepFormer() throws(AuditLogError) {
        let former = try closedParts()
        for number in 1...Self.mostKept where try isFree("\(log).damaged.\(number)") {
            // The open part is the last, so that an interrupted move goes on under the same number.
            for part in former + [""] {
                guard
                    unsafe ostiary_rename_exclusive(log + part, "\(log).damaged.\(number)\(part)") == 0
                        || errno == ENOENT
                else { throw AuditLogError(errno: errno) }
            }
            return
        }
        throw .exists
    }

    /// The ends of the names of all closed parts, such as `.1`.
    private func closedParts() throws(AuditLogError) -> [String] {
        let names: [String]
        do { names = try FileManager.default.contentsOfDirectory(atPath: path) } catch { throw .io(code: EIO) }
        return names.compactMap { name in
            guard name.hasPrefix("audit.log."), let number = Int(name.dropFirst(10)), number > 0 else { return nil }
            return ".\(number)"
        }
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
