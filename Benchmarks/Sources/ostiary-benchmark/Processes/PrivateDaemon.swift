import Foundation
import Glibc
import OstiaryClient
import UnixSocket

/// A daemon with folders of its own, started the way clients start it.
final class PrivateDaemon {
    private let folders: DaemonFolders
    private let program: String
    private let configuration: String

    init(program: String, in folders: DaemonFolders) throws {
        self.program = program
        self.folders = folders
        configuration = folders.path + "/ostiaryd.conf"
        // The user's own file may name a dialog program, which nobody would answer.
        try "prompt.front-ends = terminal\n".write(toFile: configuration, atomically: true, encoding: .utf8)
        guard chmod(configuration, 0o600) == 0 else { throw SystemCallError("chmod", subject: configuration) }
    }

    deinit { try? stop() }  // A run that failed says why; this can add nothing.

    /// Starts it and asks for its status; returns once that was answered.
    func start() throws {
        try ChildProcess.run(
            program,
            [
                "--detach", "--runtime-directory", folders.runtimeDirectory, "--state-directory",
                folders.stateDirectory, "--configuration", configuration,
            ])
        _ = try folders.newClient().status()
    }

    /// Ends it and waits until it has exited; whoever adopted it may take long to notice that.
    func stop() throws {
        guard let socket = try? UnixSocket.connect(to: socketPath) else { return }
        let id = try socket.peerCredentials().processID
        let exit = socket.peerProcessDescriptor()
        guard kill(id, SIGTERM) == 0 else { throw SystemCallError("kill", subject: program) }
        if let exit {
            var waiting = pollfd(fd: exit.number, events: Int16(POLLIN), revents: 0)
            while poll(&waiting, 1, -1) < 0 && errno == EINTR {}
        } else {
            while kill(id, 0) == 0 { usleep(1000) }
        }
    }

    /// Resident memory in megabytes (10^6 bytes), as proc_pid_status(5) says.
    func residentMegabytes() throws -> Double {
        let id = try UnixSocket.connect(to: socketPath).peerCredentials().processID
        let status = try String(contentsOfFile: "/proc/\(id)/status", encoding: .utf8)
        let line = status.split(separator: "\n").first { $0.hasPrefix("VmRSS:") }
        guard let kibibytes = line?.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap({ Double($0) })
        else {
            throw SystemCallError("read", subject: "/proc/\(id)/status", code: EIO)
        }
        return kibibytes * 1024 / 1e6
    }

    private var socketPath: String { folders.runtimeDirectory + "/ostiaryd.socket" }
}
