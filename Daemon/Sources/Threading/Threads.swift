import CLinuxShims
import DetachedThreads

/// The system gave no thread: a limit on processes is reached (RLIMIT_NPROC, the service manager's TasksMax), or memory is short.
package struct ThreadShortage: Error, Equatable, Sendable {
    package init() {}
}

/// Blocking threads with a stack of known size. The daemon blocks by design (sockets, prompts, disk), which the shared
/// thread pool must never do.
package enum Threads {
    /// The deepest use is an HPKE open.
    private static let stackByteCount = 512 * 1024

    /// Runs `body` on a thread of its own. If it throws, `body` never runs.
    package static func start(
        _ name: String, _ body: @escaping @Sendable () -> Void
    ) throws(ThreadShortage) {
        try create(name, body)
        LateThreads.shared.startWaiting()
    }

    /// Runs `body` on a thread of its own: at once, or as soon as the system gives one. For work that must not be lost, and
    /// that nobody could be told about.
    package static func startEventually(_ name: String, _ body: @escaping @Sendable () -> Void) {
        do throws(ThreadShortage) { try start(name, body) } catch { LateThreads.shared.add(name, body) }
    }

    /// Starts the thread that tries again for ``startEventually(_:_:)``, unless it runs. Without it, a late thread starts
    /// when the next other one does.
    package static func prepare() throws(ThreadShortage) { try LateThreads.shared.prepare() }

    static func create(_ name: String, _ body: @escaping @Sendable () -> Void) throws(ThreadShortage) {
        let isStarted = DetachedThread.start(stackByteCount: stackByteCount) {
            unsafe ostiary_name_thread(name)
            body()
        }
        guard isStarted else { throw ThreadShortage() }
    }
}
