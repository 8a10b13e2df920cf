import CLinuxShims
import Foundation
import Glibc
import UnixSocket

/// The names of files in the log's folder, and the moves between them.
struct LogFolder: Sendable {
    let path: String
    /// The user who must own the logs.
    let userID: UInt32
    var log: String { path + "/audit.log" }
    /// The path where a new file is made, before it takes the place of the log.
    var replacement: String { path + "/audit.log.new" }

    func removeReplacement() throws(AuditLogError) {
        guard unsafe unlink(replacement) == 0 || errno == ENOENT else { throw AuditLogError(errno: errno) }
    }

    /// The path of a closed part.
    func closed(_ number: Int) -> String { "\(log).\(number)" }

    /// Whether the name of a closed part is free.
    func isFree(part number: Int) throws(AuditLogError) -> Bool { try isFree(closed(number)) }

    private func isFree(_ path: String) throws(AuditLogError) -> Bool {
        var status = stat()
        if unsafe lstat(path, &status) == 0 { return false }
        guard errno == ENOENT else { throw AuditLogError(errno: errno) }
        return true
    }

    /// Renames the open part to a closed one and puts the finished replacement into its place. Can be repeated after a
    /// crash.
    func closePart(_ number: Int) throws(AuditLogError) {
        guard unsafe rename(log, closed(number)) == 0 || errno == ENOENT else { throw AuditLogError(errno: errno) }
        try install()
    }

    /// Puts the finished replacement into place. Keeps a former log as `audit.log.damaged.N`, and its closed parts as
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
            // Move the open part last, so that an interrupted move continues under the same number.
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

    /// The endings of all closed parts' names, such as `.1`.
    private func closedParts() throws(AuditLogError) -> [String] {
        let names: [String]
        do { names = try FileManager.default.contentsOfDirectory(atPath: path) } catch { throw .io(code: EIO) }
        return names.compactMap { name in
            guard name.hasPrefix("audit.log."), let number = Int(name.dropFirst(10)), number > 0 else { return nil }
            return ".\(number)"
        }
    }

    /// Brings the names to disk.
    func syncNames() throws(AuditLogError) {
        let number = unsafe open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard number >= 0 else { throw AuditLogError(errno: errno) }
        let directory = Descriptor(owning: number)
        guard fsync(directory.number) == 0 else { throw AuditLogError(errno: errno) }
    }

    /// A bound, so that somebody who damages the log again and again cannot fill the disk with kept logs.
    private static let mostKept = 1000
}

extension AuditLog {
    /// Whether there is a log in a folder. Nothing of it is examined.
    package static func exists(inFolder path: String) -> Bool {
        FileManager.default.fileExists(atPath: LogFolder(path: path, userID: 0).log)
    }
}
