import Dispatch
import OstiaryMessages
import Refusals
import Synchronization

/// The requests of one connection that wait for a person or a slow part, and how to end them.
final class SlowRequests: Sendable {
    private let running = Mutex<[UInt64: RequestCancellation]>([:])
    private let threads = DispatchGroup()
    private let quota: SlowRequestQuota

    /// - Parameter quota: what all connections share.
    init(quota: SlowRequestQuota) { self.quota = quota }

    func isRunning(_ id: UInt64) -> Bool { running.withLock { $0[id] != nil } }

    /// Runs a request's work on a thread of its own; refuses when too many run. Called by the connection's thread alone, with
    /// an id that is not in use.
    func start(_ id: UInt64, _ work: @escaping @Sendable (RequestCancellation) -> Void) throws(Refusal) {
        guard running.withLock({ $0.count }) < SessionLimits.slowRequestCount else {
            throw Refusal(
                .tooMany, "\(SessionLimits.slowRequestCount) requests of this program wait already; try again later.")
        }
        try quota.take()
        let cancellation = RequestCancellation()
        running.withLock { $0[id] = cancellation }
        threads.enter()
        Threads.start("ostiary-request") { [threads, quota] in
            defer {
                quota.giveBack()
                threads.leave()
            }
            work(cancellation)
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
