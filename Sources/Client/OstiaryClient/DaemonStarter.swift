import Foundation
import Glibc
import UnixSocket

/// Starts the user's daemon when none answers: through the systemd user manager where there is one and knows the unit, else
/// from a fixed path, with a cleared environment, closed descriptors and in a session of its own.
///
/// It needs the location of a user's daemon, so in system mode none can be made.
struct DaemonStarter {
    let location: UserDaemonLocation

    private static let unitPaths = [
        "/usr/lib/systemd/user/ostiaryd.service", "/usr/local/lib/systemd/user/ostiaryd.service",
        "/etc/systemd/user/ostiaryd.service",
    ]

    /// Whether `error` means that nothing listens, rather than that something else is wrong.
    static func canHelp(with error: SystemCallError) -> Bool {
        error.call == "connect" && [ENOENT, ECONNREFUSED].contains(error.code)
    }

    /// Returns when the daemon accepts connections. Throws an error with the daemon's message if it could not start.
    func start() throws {
        if let unit = systemdStart { return try run(unit.program, unit.arguments) }
        try run(
            DaemonProgram.find(),
            [
                "ostiaryd", "--detach", "--runtime-directory", location.runtimeDirectory, "--state-directory",
                location.stateDirectory,
            ])
    }

    private var systemdStart: (program: String, arguments: [String])? {
        let manager = PathName.folder(of: location.runtimeDirectory) + "/systemd/private"
        guard FileManager.default.fileExists(atPath: manager),
            Self.unitPaths.contains(where: FileManager.default.fileExists(atPath:))
        else { return nil }
        return ("/usr/bin/systemctl", ["systemctl", "--user", "start", "ostiaryd.service"])
    }

    private func run(_ program: String, _ arguments: [String]) throws {
        let complaint = try ReportPipe()
        // The user manager is found through this variable alone; nothing else of the environment is passed on.
        let environment =
            DaemonProgram.environment + [
                "XDG_RUNTIME_DIR=" + PathName.folder(of: location.runtimeDirectory)
            ]
        let child = try ChildProcess(
            program: program, arguments: arguments, environment: environment,
            descriptors: [-1, -1, complaint.writing], leadsSession: true)
        let text = complaint.readAll()
        guard child.waitForStatus() == 0 else {
            throw OstiaryError(.daemonUnavailable, "The daemon did not start. " + text)
        }
    }
}
