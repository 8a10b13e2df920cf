import Foundation
import Glibc
import UnixSocket

/// The daemon's program as it is installed.
package enum DaemonProgram {
    /// Fixed places of the daemon, the first that exists counts. The last is beside the running program, for programs
    /// that bring their own daemon; none of them comes from the environment.
    static var paths: [String] {
        let own = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
        let folder = PathName.folder(of: own)
        return [
            "/usr/libexec/ostiary/ostiaryd", "/usr/local/libexec/ostiary/ostiaryd", folder + "/ostiaryd",
        ]
    }

    /// The environment of every daemon that is started: nothing of the caller's.
    package static let environment = ["PATH=/usr/bin:/bin", "LANG=C.UTF-8", "SWIFT_BACKTRACE=enable=no"]

    /// The path of the program, which nobody but root and the user can have written.
    package static func find() throws(OstiaryError) -> String {
        guard let program = paths.first(where: { FileManager.default.isExecutableFile(atPath: $0) }) else {
            throw OstiaryError(
                .daemonUnavailable,
                "No daemon runs and ostiaryd is not installed (looked for \(paths.joined(separator: ", "))).")
        }
        var status = stat()
        guard unsafe stat(program, &status) == 0, [0, geteuid()].contains(status.st_uid), status.st_mode & 0o022 == 0
        else {
            throw OstiaryError(
                .daemonUnavailable,
                "Other users can change \(program), so it is not started. Make root or yourself its owner, and remove "
                    + "write access for group and others.")
        }
        return program
    }
}
