import CLinuxShims
import Glibc

/// The system gave no thread: a limit on processes is reached (RLIMIT_NPROC, the service manager's TasksMax), or memory is short.
package struct ThreadShortage: Error, Equatable, Sendable {
    package init() {}
}

/// Blocking threads with a stack of known size. The daemon blocks by design (sockets, prompts, disk), which the shared
/// thread pool must never do.
package enum Threads {
    /// The deepest use is an HPKE open.
    private static let stackByteCount = 512 * 1024

    /// Whether threads that this thread starts are refused, as the system refuses them: for tests.
    @TaskLocal package static var areRefused = false

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

    /// Foundation's `Thread` does not say whether pthread_create(3) gave a thread.
    static func create(_ name: String, _ body: @escaping @Sendable () -> Void) throws(ThreadShortage) {
        guard !areRefused else { throw ThreadShortage() }
        var attributes = pthread_attr_t()
        guard unsafe pthread_attr_init(&attributes) == 0 else { throw ThreadShortage() }
        defer { unsafe pthread_attr_destroy(&attributes) }
        guard unsafe pthread_attr_setdetachstate(&attributes, CInt(PTHREAD_CREATE_DETACHED)) == 0,
            unsafe pthread_attr_setstacksize(&attributes, stackByteCount) == 0
        else { throw ThreadShortage() }
        let work = unsafe Unmanaged.passRetained(Work(name: name, body: body))
        var thread = pthread_t()
        let code = unsafe pthread_create(
            &thread, &attributes,
            { work in
                guard let work = unsafe work else { return nil }
                unsafe Unmanaged<Work>.fromOpaque(work).takeRetainedValue().run()
                return nil
            }, work.toOpaque())
        guard code == 0 else {
            unsafe work.release()
            throw ThreadShortage()
        }
    }

    private final class Work: Sendable {
        private let name: String
        private let body: @Sendable () -> Void

        init(name: String, body: @escaping @Sendable () -> Void) { (self.name, self.body) = (name, body) }

        func run() {
            unsafe ostiary_name_thread(name)
            body()
        }
    }
}
