import CLinuxShims
import Foundation
import Glibc
import TerminalTestSupport
import UnixSocket

/// A real `ostiaryd` in folders of the test's own; killed with the value.
final class DaemonProcess: Sendable {
    let folders: DaemonFolders
    private let process: SpawnedProcess
    var processID: pid_t { process.processID }

    /// Starts a daemon and returns when it accepts connections.
    convenience init(
        in folders: DaemonFolders, environment: [String] = DaemonStart.environment, under wrapper: [String] = []
    ) throws {
        try self.init(DaemonStart(in: folders, environment: environment, under: wrapper), in: folders)
    }

    /// Takes over a daemon that has started.
    init(_ start: DaemonStart, in folders: DaemonFolders) throws {
        guard start.report == "ready" else {
            throw NotStarted(report: start.report, standardError: folders.standardError)
        }
        self.folders = folders
        process = start.process
    }

    struct NotStarted: Error {
        let report: String
        let standardError: String
    }

    func signal(_ number: CInt) { process.signal(number) }

    /// Stops it, and waits until all its threads stand still: the signal's sender is told nothing of that. SIGCONT ends it.
    func pause() throws {
        signal(SIGSTOP)
        var stopped = siginfo_t()
        while waitid(P_PID, id_t(processID), &stopped, WSTOPPED | WNOWAIT) != 0 {
            guard errno == EINTR else { throw SystemCallError("waitid") }
        }
    }

    func wait() -> ProcessEnding { process.wait() }

    /// Ends it as a service manager would.
    @discardableResult func stop() -> ProcessEnding {
        signal(SIGTERM)
        return wait()
    }

    /// Kills it with `signal`; returns how it ended.
    @discardableResult func kill(_ signal: CInt = SIGKILL) -> ProcessEnding {
        self.signal(signal)
        return wait()
    }

    /// Another daemon in the same folders, after this one was stopped or killed.
    func restarted() throws -> DaemonProcess { try DaemonProcess(in: folders) }

    var standardError: String { folders.standardError }

    /// How many descriptors it has open; nil when this user may not see that, since the daemon is not dumpable.
    var descriptorCount: Int? { try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(processID)/fd").count }

    var threadCount: Int? { try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(processID)/task").count }

    /// A connection that has not greeted.
    func connect() throws -> RawClient { try RawClient(UnixSocket.connect(to: folders.socket)) }

    /// A connection of this process that has greeted.
    func client() throws -> RawClient {
        let client = try connect()
        try client.greet()
        return client
    }
}

/// One attempt to start `ostiaryd`.
struct DaemonStart {
    let process: SpawnedProcess
    /// What it said on the descriptor of `--reports-readiness`: "ready" or a complaint.
    let report: String

    static let program = Build.program("ostiaryd")
    static let environment = ["PATH=/usr/bin:/bin"]

    /// Starts a daemon and waits for its word. `wrapper` is a program with arguments that executes what follows them.
    init(
        in folders: DaemonFolders, program: String = Self.program, options: [String]? = nil,
        environment: [String] = Self.environment, under wrapper: [String] = []
    ) throws {
        var ends: [CInt] = [-1, -1]
        guard ostiary_pipe(&ends) == 0 else { throw SystemCallError("pipe2") }
        let reading = FileHandle(fileDescriptor: ends[0], closeOnDealloc: true)
        var writing: SharedDescriptor? = SharedDescriptor(Descriptor(owning: ends[1]))
        let errors = try Descriptor(
            open(folders.errorFile, O_WRONLY | O_APPEND | O_CLOEXEC), from: "open", subject: folders.errorFile)
        let command = wrapper + [program, "--reports-readiness"] + (options ?? folders.options)
        process = try SpawnedProcess(
            command[0], Array(command.dropFirst()), environment: environment,
            descriptors: [-1, -1, errors.number, writing?.number ?? -1])
        writing = nil
        report = String(decoding: reading.readDataToEndOfFile(), as: UTF8.self)
    }

    /// How it ended, for a start that is expected to fail.
    var ending: ProcessEnding { process.wait() }
}
