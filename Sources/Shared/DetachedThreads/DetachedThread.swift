import Glibc

/// A thread that does one piece of work and ends, for calls that block.
public enum DetachedThread {
    /// Whether threads that this thread starts are refused, as the system refuses them: for tests.
    @TaskLocal public static var areRefused = false

    private final class Work: Sendable {
        let body: @Sendable () -> Void
        init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }

    /// Runs `body` on a thread of its own.
    ///
    /// - Parameter stackByteCount: the size of its stack; nil for the system's.
    /// - Returns: false if the system gives no thread, which Foundation's `Thread` does not say. Then `body` never runs.
    public static func start(stackByteCount: Int? = nil, _ body: @escaping @Sendable () -> Void) -> Bool {
        guard !areRefused else { return false }
        var attributes = pthread_attr_t()
        guard unsafe pthread_attr_init(&attributes) == 0 else { return false }
        defer { unsafe pthread_attr_destroy(&attributes) }
        guard unsafe pthread_attr_setdetachstate(&attributes, CInt(PTHREAD_CREATE_DETACHED)) == 0 else { return false }
        if let stackByteCount, unsafe pthread_attr_setstacksize(&attributes, stackByteCount) != 0 { return false }
        let work = unsafe Unmanaged.passRetained(Work(body))
        var thread = pthread_t()
        let code = unsafe pthread_create(
            &thread, &attributes,
            { work in
                guard let work = unsafe work else { return nil }
                unsafe Unmanaged<Work>.fromOpaque(work).takeRetainedValue().body()
                return nil
            }, work.toOpaque())
        if code != 0 { unsafe work.release() }
        return code == 0
    }
}
