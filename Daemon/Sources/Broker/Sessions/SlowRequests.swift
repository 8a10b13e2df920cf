import OstiaryMessages
import Synchronization

/// The requests of one connection that wait for a person or a slow part, and how to end them.
final class SlowRequests: Sendable {
    private let running = Mutex<[UInt64: RequestCancellation]>([:])

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

    func finish(_ id: UInt64) { _ = running.withLock { $0.removeValue(forKey: id) } }

    func cancel(_ id: UInt64, _ reason: RequestCancellation.Reason) {
        running.withLock { $0[id] }?.cancel(reason)
    }

    func cancelAll(_ reason: RequestCancellation.Reason) {
        for cancellation in running.withLock({ Array($0.values) }) { cancellation.cancel(reason) }
    }
}
