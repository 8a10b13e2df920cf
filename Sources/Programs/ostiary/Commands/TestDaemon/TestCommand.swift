import Dispatch
import Foundation
import Glibc
import OstiaryClient
import Synchronization
import UnixSocket

/// The command of a test run, and the signals that are meant for it.
final class TestCommand {
    private let state = SignalledProcess()
    private let sources: [any DispatchSourceSignal]

    /// From now on signals end this process only through the command.
    ///
    /// The terminal sends Ctrl-C and Ctrl-\ to the command too, so these are not sent on.
    init() {
        sources = [SIGTERM, SIGHUP, SIGINT, SIGQUIT].map { number in
            signal(number, SIG_IGN)
            return DispatchSource.makeSignalSource(signal: number, queue: .global())
        }
        for (source, number) in zip(sources, [SIGTERM, SIGHUP, SIGINT, SIGQUIT]) {
            source.setEventHandler { [state] in state.receive(number) }
            source.activate()
        }
    }

    /// Runs the command with this process's standard streams, folder and environment, changed by `changes`.
    ///
    /// - Returns: its exit status; 128 and the number of the signal that ended it, or that came before it began.
    func run(_ path: String, _ arguments: [String], environment changes: [String: String]) throws -> CInt {
        let environment = ProcessInfo.processInfo.environment.merging(changes) { $1 }
        do throws(SystemCallError) {
            return try state.run { () throws(SystemCallError) in
                try ChildProcess(
                    program: path, arguments: arguments, environment: environment.map { $0.key + "=" + $0.value },
                    descriptors: [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO], leadsSession: false,
                    workingDirectory: ".")
            }
        } catch { throw CommandError.commandNotStarted(error) }
    }
}

/// A process that signals are passed on to, while it runs.
private final class SignalledProcess: Sendable {
    private struct State {
        var process: ChildProcess?
        var received: CInt?
    }

    private let state = Mutex(State())

    /// The last signal.
    var received: CInt? { state.withLock { $0.received } }

    func receive(_ number: CInt) {
        state.withLock { state in
            state.received = number
            if let process = state.process, [SIGTERM, SIGHUP].contains(number) { kill(process.id, number) }
        }
    }

    func run(_ start: () throws(SystemCallError) -> ChildProcess) throws(SystemCallError) -> CInt {
        let process = try state.withLock { state throws(SystemCallError) -> ChildProcess? in
            if state.received == nil { state.process = try start() }
            return state.process
        }
        guard let process else { return 128 + (received ?? 0) }
        // The number may belong to another process as soon as this one is reaped.
        process.waitForEnd()
        state.withLock { $0.process = nil }
        return process.waitForStatus()
    }
}

/// The command ended with this status, which is the status of `ostiary` too. Nothing is printed.
struct CommandEnded: Error {
    let status: CInt
}
