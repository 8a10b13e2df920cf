import CLinuxShims
import CommandFailures
import DoorSupport
import Glibc

/// The programs that may ask for credentials: those of systemd. A unit's own program gets what systemd hands to it, and asks nobody.
///
/// systemd asks from a child of the service manager. Before version 254 the child executes the manager's own file, since then
/// `systemd-executor`.
package struct ServiceManagers: Sendable {
    private let paths: [String]

    /// Where distributions have systemd.
    package static let usual = ServiceManagers(
        ["/usr/lib", "/lib"].flatMap { ["\($0)/systemd/systemd", "\($0)/systemd/systemd-executor"] })

    package init(_ paths: [String]) { self.paths = paths }

    /// The files are compared, and not the paths: a user can mount a file of their own where a namespace of theirs has systemd, and the
    /// kernel would print the same path.
    ///
    /// - Throws: `notServiceManager`, and `unitUnreadable` where nobody can say what the process executes.
    func requireOne(_ process: Int32) throws(DoorFailure) {
        guard let program = Self.file("/proc/\(process)/exe") else { throw .programUnreadable(process) }
        let isKnown = paths.lazy.compactMap(Self.file).contains { file in
            file.device == program.device && file.inode == program.inode
        }
        guard isKnown else { throw .notServiceManager(process) }
    }

    /// The file that a path leads to. Nil where there is none, or where it may not be seen.
    private static func file(_ path: String) -> ostiary_file_identity? {
        var identity = ostiary_file_identity()
        guard unsafe ostiary_identify(AT_FDCWD, path, &identity) == 0 else { return nil }
        return identity
    }
}

extension DoorFailure {
    static func notServiceManager(_ process: Int32) -> DoorFailure {
        DoorFailure(
            -189, FailureClass("notServiceManager", .refused),
            "Process \(process) asked for a credential and is not systemd, so it got nothing. Only LoadCredential= asks here. "
                + "If systemd was upgraded since it started, run `systemctl --user daemon-reexec`; if it lies in an unusual place, "
                + "name it with --manager.")
    }

    fileprivate static func programUnreadable(_ process: Int32) -> DoorFailure {
        DoorFailure(
            -198, FailureClass("unitUnreadable", .refused),
            "The program of process \(process) cannot be told, because it has ended or may not be seen. Start the unit again."
        )
    }
}
