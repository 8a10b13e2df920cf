public import Glibc
import ProcessFacts
public import Testing

/// A process in a session of its own whose controlling terminal is a pseudo-terminal: what a program in a terminal
/// window is.
public final class CallerProcess: Sendable {
    private let process: SpawnedProcess
    public var processID: pid_t { process.processID }

    /// Runs `script` in a shell after it took the terminal; waits until the script says `ready`.
    ///
    /// - Parameter descriptors: what the shell finds as its descriptors from 3 on.
    public init(
        on terminal: PseudoTerminal, script: String = "echo ready; exec sleep 600", descriptors: [CInt] = [],
        _ location: SourceLocation = #_sourceLocation
    ) throws {
        process = try SpawnedProcess(
            "/bin/bash", ["-c", "exec 0<>\(terminal.path) 1>&0 2>&0; \(script)"],
            descriptors: [-1, -1, -1] + descriptors)
        // With its line end, which may come later and would be taken for something that was shown afterwards.
        terminal.waitFor("ready\r\n", location)
        terminal.clearScreen()
    }

    public func signal(_ number: CInt) { process.signal(number) }

    /// Waits until it ended, for at most `seconds`.
    public func wait(seconds: Double = 20) -> ProcessEnding { process.wait(seconds: seconds) }

    /// Kills and reaps it.
    public func end() { process.end() }

    /// Whether it can still hold a lock or a file. The kernel lets it be reaped when all of its threads have ended; what it calls a zombie
    /// before can have threads.
    public var isRunning: Bool { process.wait(seconds: 0) == .stillRunning }
}
