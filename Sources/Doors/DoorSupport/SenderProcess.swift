import CLinuxShims
import Glibc
package import UnixSocket

/// A process that asks over a message bus.
package struct SenderProcess: Sendable {
    /// A pidfd.
    package let process: SharedDescriptor
    package let processID: Int32
    package let terminal: SharedDescriptor?

    /// - Parameter process: a pidfd. The caller has made sure that it is of the sender.
    /// - Throws: `clientGone` when it has ended, `sandboxed` when it only passes on what a program in a Flatpak sends,
    ///   `doorFull` when there is no descriptor to look with.
    package init(_ process: SharedDescriptor) throws(DoorFailure) {
        let (processID, terminal) = try Self.look(at: process)
        let isSandboxed = try Self.isSandboxed(processID)
        // All of this was read by number, which is the process's own for as long as it lives.
        guard Self.isAlive(process) else { throw .gone("its process has ended") }
        guard !isSandboxed else { throw .sandboxed }
        (self.process, self.processID, self.terminal) = (process, processID, terminal)
    }

    private static func look(
        at process: SharedDescriptor
    ) throws(DoorFailure) -> (processID: Int32, terminal: SharedDescriptor?) {
        // The number may be read from a file, too.
        errno = 0
        let processID = ostiary_process_of(process.number)
        guard processID > 0 else {
            throw errno == EMFILE || errno == ENFILE ? .full : .gone("its process has ended")
        }
        let found: (status: ClientProcess, terminal: SharedDescriptor?)?
        do throws(SystemCallError) {
            found = try ClientProcess.found(processID).map { (status) throws(SystemCallError) in
                (status, try status.terminal())
            }
        } catch { throw .full }
        guard let found else { throw .gone("its process has ended") }
        return (processID, found.terminal)
    }

    /// Whether the process of a pidfd has not ended.
    package static func isAlive(_ process: SharedDescriptor) -> Bool {
        var watched = pollfd(fd: process.number, events: Int16(POLLIN), revents: 0)
        return unsafe poll(&watched, 1, 0) == 0
    }

    /// Flatpak puts a proxy between its programs and the bus. To the bus and to the kernel all of them are the proxy.
    private static func isSandboxed(_ processID: Int32) throws(DoorFailure) -> Bool {
        try isProxy(executedName: ClientProcess.executedName(of: processID), root: "/proc/\(processID)/root")
    }

    /// - Parameters:
    ///   - name: the name of the file that the process executes; nil where it cannot be read.
    ///   - root: the process's root folder. Flatpak mounts a file in that of each process which it starts. In a namespace of its own a
    ///     program can have any file system there, also one that it serves itself and that never answers.
    /// - Throws: `doorFull`.
    static func isProxy(executedName name: String?, root: String) throws(DoorFailure) -> Bool {
        guard name != "xdg-dbus-proxy" else { return true }
        let isMarked = unsafe ostiary_has_known_entry(root, ".flatpak-info")
        guard isMarked >= 0 else { throw .full }
        return isMarked == 1
    }
}
