import Glibc
package import UnixSocket

/// A process that this one started and must reap. Until it is reaped its id cannot come to mean another process.
package struct UnreapedProcess: ~Copyable, Sendable {
    package let id: Int32

    /// Starts the program at the absolute path `program`, without arguments, with exactly this environment and exactly these
    /// descriptors: number i of the child is `descriptors[i]`, -1 is the null device. Working directory is `/`, signals are
    /// at their defaults. With `leadsSession` it leads a session and a process group of its own.
    package init(
        program: String, environment: [String], descriptors: [CInt], leadsSession: Bool
    ) throws(SystemCallError) {
        id = try ProgramStart.spawn(
            program: program, arguments: [program], environment: environment, descriptors: descriptors,
            leadsSession: leadsSession)
    }

    /// Asks the process to end.
    package borrowing func terminate() { _ = Glibc.kill(id, SIGTERM) }

    /// Kills the process, if it is still there, and waits until it is gone. A process that leads a session is killed with
    /// everything that is still in its process group.
    package consuming func killAndReap(withGroup: Bool = false) { kill(withGroup: withGroup)() }

    /// The same without the wait.
    ///
    /// - Returns: what waits until the process is gone. It must be called once, on any thread.
    package consuming func kill(withGroup: Bool) -> @Sendable () -> Void {
        let id = id
        if withGroup { _ = Glibc.kill(-id, SIGKILL) }
        _ = Glibc.kill(id, SIGKILL)
        return { while waitpid(id, nil, 0) < 0, errno == EINTR {} }
    }
}
