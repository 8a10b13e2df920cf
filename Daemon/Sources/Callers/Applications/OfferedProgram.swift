import CLinuxShims
import Foundation
import Glibc
import ProcessFacts
import Synchronization
package import UnixSocket

/// The file of a program as another process passed it, opened for reading. A daemon under an account of its own may not open the files of
/// users itself.
package final class OfferedProgram: Sendable {
    let file: SharedDescriptor
    /// Whether its digest is asked for only while a process executes it.
    private let isExecuted: Bool
    private let kept = Mutex<(stamp: FileStamp, digest: Data)?>(nil)

    package init(_ file: SharedDescriptor, isExecuted: Bool) { (self.file, self.isExecuted) = (file, isExecuted) }

    /// Whether it is this file.
    func isFile(_ executed: ExecutedFile) -> Bool { ExecutedFile(opened: file) == executed }

    /// Whether a read of it ends: the server of a network's file system, or of a user's, may never answer.
    var isOfKernel: Bool { ostiary_reads_end(file.number) != 0 }

    // MARK: its digest

    func keptDigest(_ stamp: FileStamp) -> Data? {
        kept.withLock { $0?.stamp == stamp ? $0?.digest : nil }
    }

    /// Keeps the digest, if the stamp shows each later change of the file. Nobody can write to a file as long as a process executes it, nor
    /// map it so; before and after, the first store to each page changes the stamp.
    func keep(_ digest: Data, _ stamp: FileStamp) {
        guard isExecuted, !Self.kernelLetsExecutedFilesChange, ostiary_dates_mapped_stores(file.number) != 0 else {
            return
        }
        kept.withLock { $0 = (stamp, digest) }
    }

    /// Linux 6.11 and 6.12 let programs write to an executed file, until a later one of each took that back. A kernel that does not tell
    /// its version counts as one of them.
    private static let kernelLetsExecutedFilesChange: Bool = {
        let text = try? String(contentsOfFile: "/proc/sys/kernel/osrelease", encoding: .utf8)
        return letsExecutedFilesChange(release: text ?? "")
    }()

    static func letsExecutedFilesChange(release: String) -> Bool {
        let numbers = release.split(separator: ".").prefix(2).map { part in
            UInt(part.prefix { $0.isASCII && $0.isNumber })
        }
        guard numbers.count == 2, let major = numbers[0], let minor = numbers[1] else { return true }
        return major == 6 && (minor == 11 || minor == 12)
    }

    /// The path as the kernel tells it; nil when there is none, or it is no text.
    var path: String? {
        var text = [UInt8](repeating: 0, count: Int(PATH_MAX))
        let count = unsafe readlink("/proc/self/fd/\(file.number)", &text, text.count)
        guard count > 0, count < text.count else { return nil }
        return String(validating: text[..<count], as: UTF8.self)
    }
}

/// Through what the content of a caller's file is read.
struct CallerContent: Sendable {
    let process: any HeldProcess
    /// What the caller passed; nil when it passed nothing.
    let offered: OfferedProgram?

    func digest(by digests: ContentDigests) throws(ProgramFileError) -> Data {
        if let offered { return try digests.digest(of: offered) }
        guard let content = try? process.content() else { throw .unreadable }
        return try digests.digest(of: content)
    }
}
