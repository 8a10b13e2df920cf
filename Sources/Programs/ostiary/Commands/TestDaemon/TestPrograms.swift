import Foundation
import Glibc
import UnixSocket

/// The programs of a test run.
struct TestPrograms {
    /// The folder that they lie below, without links in it.
    private let folder: String
    private let groups: [String]

    /// - Parameter groups: the access groups that they share; the first is for new items.
    init(below folder: String, sharing groups: [String]) throws {
        guard let real = unsafe realpath(folder, nil) else {
            throw CommandError.unreadableInput(SystemCallError("realpath", subject: folder))
        }
        defer { unsafe free(real) }
        self.folder = unsafe String(cString: real)
        self.groups = groups
    }

    /// The daemon's options for them.
    var options: [String] { ["--test-programs=" + folder] + groups.map { "--test-group=" + $0 } }

    /// The path of the program that a command names, found as execvp(3) finds it.
    static func path(of name: String) throws -> String {
        if name.contains("/") { return name }
        let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin")
            .split(separator: ":", omittingEmptySubsequences: false).map { $0.isEmpty ? "." : String($0) }
        guard let folder = folders.first(where: { isExecutable($0 + "/" + name) }) else {
            throw CommandError.commandNotStarted(SystemCallError("execvp", subject: name, code: ENOENT))
        }
        return folder + "/" + name
    }

    private static func isExecutable(_ path: String) -> Bool {
        var status = stat()
        guard unsafe stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return false }
        return unsafe access(path, X_OK) == 0
    }
}
