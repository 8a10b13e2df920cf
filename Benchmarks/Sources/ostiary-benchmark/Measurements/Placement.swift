import CLinuxShims
import Foundation
import Glibc
import UnixSocket

/// On which processors everything of one pass runs.
enum Placement: Equatable {
    /// Wherever the scheduler likes: round trips are then bimodal, near to or far from each other.
    case free
    /// Client, daemon, echo server and ssh-agent share one processor.
    case pinned(Int)

    static var lastProcessor: Int { max(sysconf(CInt(_SC_NPROCESSORS_ONLN)), 1) - 1 }

    /// Applies to the calling thread and to everything that it starts from now on.
    func apply() throws {
        guard case .pinned(let processor) = self else { return }
        guard ostiary_pin_to_processor(CInt(clamping: processor)) == 0 else {
            throw SystemCallError("sched_setaffinity", subject: "processor \(processor)")
        }
    }

    /// Runs this program again, there, as a process that leads a session; returns the figures that it writes to its standard output.
    func measure(_ arguments: [String]) throws -> Figures {
        try apply()
        let program = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let output = Pipe()
        let subject = try ChildProcess(
            program, arguments, streams: .init(output: output.fileHandleForWriting.fileDescriptor), ownsSession: true)
        try output.fileHandleForWriting.close()
        let answer = try output.fileHandleForReading.readToEnd() ?? Data()
        try subject.waitForSuccess()
        return try JSONDecoder().decode(Figures.self, from: answer)
    }
}
