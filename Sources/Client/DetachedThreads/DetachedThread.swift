import Glibc

/// A thread that does one piece of work and ends, for calls that block.
package enum DetachedThread {
    /// Whether threads that this thread starts are refused, as the system refuses them: for tests.
    @TaskLocal package static var areRefused = false

    private final class Work: Sendable {
        let body: @Sendable () -> Void
        init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }

    /// False if the system gives no thread, which Foundation's `Thread` does not say.
    package static func start(_ body: @escaping @Sendable () -> Void) -> Bool {
        guard !areRefused else { return false }
        let work = unsafe Unmanaged.passRetained(Work(body))
        var thread = pthread_t()
        let code = unsafe pthread_create(
            &thread, nil,
            { work in
                guard let work = unsafe work else { return nil }
                unsafe Unmanaged<Work>.fromOpaque(work).takeRetainedValue().body()
                return nil
            }, work.toOpaque())
        guard code == 0 else {
            unsafe work.release()
            return false
        }
        pthread_detach(thread)
        return true
    }
}
