import CLinuxShims
import Glibc
package import UnixSocket

/// Programs that the system brings: their files are root's, and nobody else may write them.
package enum SystemProgram {
    /// Whether a process executes such a file with this name.
    ///
    /// A program of the user that hides on purpose can make the kernel say so of itself (Documentation/security/limits.md, limit 1).
    ///
    /// - Parameter process: a pidfd.
    package static func isExecuted(by process: SharedDescriptor, named name: String) -> Bool {
        let processID = ostiary_process_of(process.number)
        var file = ostiary_file_identity()
        guard processID > 0, ClientProcess.executedName(of: processID) == name,
            unsafe ostiary_identify(AT_FDCWD, "/proc/\(processID)/exe", &file) == 0
        else { return false }
        // All of this was read by number, which is the process's own for as long as it lives.
        return isOfSystem(owner: file.owner, mode: file.mode) && SenderProcess.isAlive(process)
    }

    static func isOfSystem(owner: UInt32, mode: UInt32) -> Bool { owner == 0 && mode & 0o022 == 0 }
}
