import Foundation
import Glibc
import UnixSocket

/// The daemon's program, and those that lie beside it, as they are installed.
package enum DaemonProgram {
    /// Fixed folders of the daemon, the first that has the program counts. The last is that of the running program, for programs
    /// that bring their own daemon; none of them comes from the environment.
    private static var folders: [String] {
        let own = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
        return ["/usr/libexec/ostiary", "/usr/local/libexec/ostiary", PathName.folder(of: own)]
    }

    /// The environment of every daemon that is started: nothing of the caller's.
    package static let environment = ["PATH=/usr/bin:/bin", "LANG=C.UTF-8", "SWIFT_BACKTRACE=enable=no"]

    /// The path of the daemon's program, which nobody but root and the user can have written.
    package static func find() throws(OstiaryError) -> String {
        try find("ostiaryd", absence: "No daemon runs and ostiaryd is not installed")
    }

    /// The same for a program that is installed beside the daemon.
    package static func findNeighbour(_ name: String) throws(OstiaryError) -> String {
        try find(
            name, absence: "\(name) is not installed",
            advice: " Install the package that has it: ostiary-doors, or ostiary-relying-party for servers.")
    }

    private static func find(_ name: String, absence: String, advice: String = "") throws(OstiaryError) -> String {
        let paths = folders.map { $0 + "/" + name }
        guard let program = paths.first(where: { FileManager.default.isExecutableFile(atPath: $0) }) else {
            throw OstiaryError(
                .daemonUnavailable, "\(absence) (looked for \(paths.joined(separator: ", "))).\(advice)")
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
