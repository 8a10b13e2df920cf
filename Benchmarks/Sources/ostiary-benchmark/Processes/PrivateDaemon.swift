import Foundation
import Glibc
import OstiaryClient
import UnixSocket

/// A daemon with folders of its own, started the way clients start it.
final class PrivateDaemon {
    private let folders: DaemonFolders
    private let program: String
    private let configuration: String

    private let busOptions: [String]

    /// - Parameters:
    ///   - text: the configuration. The user's own file may name a dialog program, which nobody would answer.
    ///   - systemBus: the path of the daemon's system bus; the machine's when nil.
    init(
        program: String, in folders: DaemonFolders, configuration text: String = "prompt.front-ends = terminal\n",
        systemBus: String? = nil
    ) throws {
        self.program = program
        self.folders = folders
        configuration = folders.path + "/ostiaryd.conf"
        busOptions = systemBus.map { ["--system-bus", $0] } ?? []
        try text.write(toFile: configuration, atomically: true, encoding: .utf8)
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
            ] + busOptions)
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

    /// How often its threads were scheduled in that time, as proc_pid_status(5) counts it. Nobody may be connected.
    func contextSwitches(duringSeconds seconds: Int) throws -> Int {
        let process = try process
        sleep(2)  // The end of the last connection has work to do.
        return try process.contextSwitches(duringSeconds: seconds).values.reduce(0, +)
    }

    func residentMegabytes() throws -> Double { try process.residentMegabytes() }

    private var process: RunningProcess {
        get throws { RunningProcess(id: try UnixSocket.connect(to: socketPath).peerCredentials().processID) }
    }

    private var socketPath: String { folders.runtimeDirectory + "/ostiaryd.socket" }
}
