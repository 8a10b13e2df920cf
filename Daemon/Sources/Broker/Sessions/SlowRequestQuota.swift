import OstiaryMessages
import Refusals
import Synchronization

/// Bounds the slow requests of all connections together, and with them the descriptors that callers make the daemon hold.
final class SlowRequestQuota: Sendable {
    private let limit: Int
    private let taken = Mutex(0)

    init(limit: Int = SessionLimits.slowRequestTotal) { self.limit = limit }

    /// Counts one request in; refuses when there are as many as there may be.
    func take() throws(Refusal) {
        let isTaken = taken.withLock { taken in
            guard taken < limit else { return false }
            taken += 1
            return true
        }
        guard isTaken else {
            throw Refusal(
                .tooMany, "\(limit) requests of all programs wait already; try again.", cause: "request.too-many-in-all"
            )
        }
    }

    func giveBack() { taken.withLock { $0 -= 1 } }
}
