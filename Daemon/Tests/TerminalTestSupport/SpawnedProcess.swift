import Foundation
import Glibc
import Synchronization
import UnixSocket

/// How a process ended.
public enum ProcessEnding: Equatable, Sendable {
    case exited(CInt)
    case killed(signal: CInt, leftCore: Bool)
    case stillRunning

    init(_ status: CInt) {
        let signal = status & 0x7F
        self = signal == 0 ? .exited((status >> 8) & 0xFF) : .killed(signal: signal, leftCore: status & 0x80 != 0)
    }
}

/// A child process with exactly these arguments, environment and descriptors, in a session of its own. It is killed
/// with its process group and reaped when the value goes away.
public final class SpawnedProcess: Sendable {
    public let processID: Int32
    private let ending = Mutex<ProcessEnding?>(nil)

    /// Starts `program`; child descriptor i is `descriptors[i]`, -1 being the null device.
    public init(
        _ program: String, _ arguments: [String] = [], environment: [String] = ["PATH=/usr/bin:/bin"],
        descriptors: [CInt] = [-1, -1, -1]
    ) throws {
        processID = try ProgramStart.spawn(
            program: program, arguments: [program] + arguments, environment: environment, descriptors: descriptors,
            leadsSession: true)
    }

    deinit { end() }

    /// Sends a signal, unless the process was reaped and its number may be another's.
    public func signal(_ number: CInt) {
        ending.withLock { if $0 == nil { _ = kill(processID, number) } }
    }

    /// Waits until it ended, for at most `seconds`.
    public func wait(seconds: Double = 20) -> ProcessEnding {
        let end = ContinuousClock.now.advanced(by: .seconds(seconds))
        repeat {
            if let ending = reap(WNOHANG) { return ending }
            usleep(2_000)
        } while ContinuousClock.now < end
        return .stillRunning
    }

    /// Kills and reaps it, with its process group.
    public func end() {
        ending.withLock { if $0 == nil { _ = (kill(processID, SIGKILL), kill(-processID, SIGKILL)) } }
        _ = reap(0)
    }

    private func reap(_ options: CInt) -> ProcessEnding? {
        ending.withLock { ending in
            if let ending { return ending }
            var status: CInt = 0
            var result: pid_t
            repeat { result = waitpid(processID, &status, options) } while result < 0 && errno == EINTR
            if result == processID { ending = ProcessEnding(status) }
            return ending
        }
    }
}

/// Whether a process with this number is there and not a zombie.
public func isRunning(_ processID: Int32) -> Bool {
    guard let text = try? String(contentsOfFile: "/proc/\(processID)/stat", encoding: .utf8) else { return false }
    return !text.contains(") Z ")
}
