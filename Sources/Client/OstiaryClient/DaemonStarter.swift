@_implementationOnly import CLinuxShims
import Foundation
import Glibc
import UnixSocket

/// Starts the user's daemon when none answers: through the systemd user manager where there is one and knows the unit, else
/// from a fixed path, with a cleared environment, closed descriptors and in a session of its own.
struct DaemonStarter {
    let location: DaemonLocation

    /// Fixed places of the daemon, the first that exists counts. The last is beside the running program, for programs that
    /// bring their own daemon; none of them comes from the environment.
    static var programPaths: [String] {
        let own = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
        let folder = PathName.folder(of: own)
        return [
            "/usr/libexec/ostiary/ostiaryd", "/usr/local/libexec/ostiary/ostiaryd", folder + "/ostiaryd",
        ]
    }

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
        guard let program = Self.programPaths.first(where: { FileManager.default.isExecutableFile(atPath: $0) }) else {
            throw OstiaryError(
                .daemonUnavailable,
                "No daemon runs and ostiaryd is not installed (looked for \(Self.programPaths.joined(separator: ", ")))."
            )
        }
        try requireTrustworthy(program)
        try run(
            program,
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

    /// Throws when another user could have written the daemon's file.
    private func requireTrustworthy(_ program: String) throws {
        var status = stat()
        guard unsafe stat(program, &status) == 0, [0, geteuid()].contains(status.st_uid), status.st_mode & 0o022 == 0
        else {
            throw OstiaryError(
                .daemonUnavailable,
                "Other users can change \(program), so it is not started. Make root or yourself its owner, and remove "
                    + "write access for group and others.")
        }
    }

    private func run(_ program: String, _ arguments: [String]) throws {
        let complaint = try Pipe.opened()
        // The user manager is found through this variable alone; nothing else of the environment is passed on.
        let environment = [
            "PATH=/usr/bin:/bin", "LANG=C.UTF-8", "SWIFT_BACKTRACE=enable=no",
            "XDG_RUNTIME_DIR=" + PathName.folder(of: location.runtimeDirectory),
        ]
        let child = try ChildProcess(
            program: program, arguments: arguments, environment: environment, standardError: complaint.writing)
        complaint.closeWriting()
        let text = complaint.readAll(limit: 4096)
        guard child.waitForExit() == 0 else {
            throw OstiaryError(.daemonUnavailable, "The daemon did not start. " + text)
        }
    }
}

/// A pipe for the message of a starting daemon.
private final class Pipe {
    private let reading: Descriptor
    private var writingEnd: Descriptor?
    var writing: CInt { writingEnd?.number ?? -1 }

    private init(reading: consuming Descriptor, writing: consuming Descriptor) {
        self.reading = reading
        writingEnd = consume writing
    }

    static func opened() throws -> Pipe {
        var ends: [CInt] = [-1, -1]
        guard unsafe pipe(&ends) == 0 else { throw SystemCallError("pipe") }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        return Pipe(reading: Descriptor(owning: ends[0]), writing: Descriptor(owning: ends[1]))
    }

    func closeWriting() { writingEnd = nil }

    func readAll(limit: Int) -> String {
        var bytes = [UInt8](repeating: 0, count: limit)
        var count = 0
        while count < limit {
            let got = unsafe bytes.withUnsafeMutableBytes {
                unsafe read(reading.number, $0.baseAddress! + count, limit - count)
            }
            guard got > 0 else { break }
            count += got
        }
        return String(decoding: bytes[..<count], as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
    }
}

private struct ChildProcess {
    private let id: pid_t

    init(program: String, arguments: [String], environment: [String], standardError: CInt) throws {
        var child = pid_t()
        let descriptors: [CInt] = [-1, -1, standardError]
        let result = unsafe CStrings.withPointers(arguments) { arguments in
            unsafe CStrings.withPointers(environment) { environment in
                unsafe ostiary_spawn(program, arguments, environment, descriptors, 3, 1, "/", &child)
            }
        }
        guard result == 0 else { throw SystemCallError("posix_spawn", subject: program, code: result) }
        id = child
    }

    func waitForExit() -> CInt {
        var status: CInt = 0
        while unsafe waitpid(id, &status, 0) < 0 { guard errno == EINTR else { return -1 } }
        return status
    }
}
