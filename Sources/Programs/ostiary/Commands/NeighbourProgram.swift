import Glibc
import OstiaryClient
import UnixSocket

/// A program that is installed beside the daemon and does the work of a command.
enum NeighbourProgram {
    /// Turns this process into the program, so that signals, terminal and session are this command's own.
    ///
    /// - Parameter arguments: without the program's own name.
    static func become(_ name: String, _ arguments: [String]) throws -> Never {
        let program = try DaemonProgram.findNeighbour(name)
        // Returns only when it failed.
        _ = unsafe CStrings.withPointers([PathName.last(of: program)] + arguments) { unsafe execv(program, $0) }
        throw CommandError.commandNotStarted(SystemCallError("execv", subject: program))
    }
}
