import Dispatch
import OstiaryMessages
import Synchronization

/// The requests of one connection that wait for a person or a slow part, and how to end them.
final class SlowRequests: Sendable {
    private let running = Mutex<[UInt64: RequestCancellation]>([:])
    private let threads = DispatchGroup()

    func isRunning(_ id: UInt64) -> Bool { running.withLock { $0[id] != nil } }

    /// Counts a request in, whose id is not in use; refuses when too many wait. Called by the connection's thread alone.
    func begin(_ id: UInt64) throws(Refusal) -> RequestCancellation {
        let cancellation = try RequestCancellation()
        let refusal: Refusal? = running.withLock { running in
            guard running.count < SessionLimits.slowRequestCount else {
                return Refusal(.tooMany, "\(SessionLimits.slowRequestCount) requests of this program wait already.")
            }
            running[id] = cancellation
            return nil
        }
        if let refusal { throw refusal }
        return cancellation
    }

    /// Runs a request's work on a thread of its own.
    func start(_ work: @escaping @Sendable () -> Void) {
        threads.enter()
        Threads.start("ostiary-request") { [threads] in
            defer { threads.leave() }
            work()
        }
    }

    /// Waits until the threads are done. Those that wait for a person have to be cancelled before.
    func wait() { threads.wait() }

    func finish(_ id: UInt64) { _ = running.withLock { $0.removeValue(forKey: id) } }

    func cancel(_ id: UInt64, _ reason: RequestCancellation.Reason) {
        running.withLock { $0[id] }?.cancel(reason)
    }

    func cancelAll(_ reason: RequestCancellation.Reason) {
        for cancellation in running.withLock({ Array($0.values) }) { cancellation.cancel(reason) }
    }
}
