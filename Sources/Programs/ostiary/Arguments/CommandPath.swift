import Foundation
import Glibc
import UnixSocket

/// The program of a command that is given behind `--`.
enum CommandPath {
    /// Its path, found as execvp(3) finds it.
    static func find(_ name: String) throws -> String {
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
