import Foundation
import Glibc
import UnixSocket

/// A program that this one started. Ended and waited for when let go.
final class ChildProcess {
    /// Where the child's standard streams come from; nil is the null device.
    struct Streams {
        var input: CInt?
        var output: CInt?
        /// Nil is this program's own.
        var errors: CInt?
        /// What the child finds as its descriptors from 3 on.
        var others: [CInt] = []
    }

    let id: pid_t
    private let name: String
    private var isRunning = true

    /// - Parameter ownsSession: whether it leads a session of its own, without a terminal at first.
    init(
        _ program: String, _ arguments: [String], environment: [String] = [], streams: Streams = Streams(),
        ownsSession: Bool = false
    ) throws {
        name = program
        let descriptors =
            [streams.input ?? -1, streams.output ?? -1, streams.errors ?? STDERR_FILENO] + streams.others
        id = try ProgramStart.spawn(
            program: program, arguments: [program] + arguments,
            environment: ["PATH=/usr/bin:/bin", "LANG=C.UTF-8"] + environment, descriptors: descriptors,
            leadsSession: ownsSession)
    }

    deinit { end() }

    /// Runs a program to its end; throws unless it succeeds.
    static func run(_ program: String, _ arguments: [String], environment: [String] = []) throws {
        try ChildProcess(program, arguments, environment: environment).waitForSuccess()
    }

    func waitForSuccess() throws {
        let status = wait()
        guard status == 0 else { throw Failed(program: name, status: status) }
    }

    /// Asks it to end, and waits.
    func end() {
        guard isRunning else { return }
        kill(id, SIGTERM)
        _ = wait()
    }

    /// Whether it has ended by itself.
    func hasEnded() -> Bool {
        if isRunning, waitpid(id, nil, WNOHANG) == id { isRunning = false }
        return !isRunning
    }

    private func wait() -> CInt {
        var status: CInt = 0
        while waitpid(id, &status, 0) < 0 && errno == EINTR {}
        isRunning = false
        return status
    }

    struct Failed: Error, CustomStringConvertible {
        let program: String
        let status: CInt
        var description: String { "\(program) failed (wait status \(status))" }
    }
}
