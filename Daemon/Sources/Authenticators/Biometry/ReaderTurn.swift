import Dispatch
import Synchronization

/// Lets one question after the other use the reader, in the order in which they were visible. A finger is not aimed at a window,
/// so no two questions wait for it.
final class ReaderTurn: Sendable {
    private let waiters = Mutex<[Waiter]>([])

    /// One question's place.
    final class Waiter: Sendable {
        fileprivate let signal = DispatchSemaphore(value: 0)

        /// Ends the wait: look again.
        func wake() { signal.signal() }
    }

    /// Runs `body` when it is this waiter's turn.
    ///
    /// - Parameters:
    ///   - isCancelled: asked whenever the waiter was woken.
    ///   - onWait: called when another question is first.
    /// - Returns: nil when it was cancelled before its turn.
    func take<Result>(
        _ waiter: Waiter, unless isCancelled: () -> Bool, onWait: () -> Void, _ body: () throws -> Result
    ) rethrows -> Result? {
        let isFirst = waiters.withLock { waiters in
            waiters.append(waiter)
            return waiters.count == 1
        }
        defer { leave(waiter) }
        if !isFirst { onWait() }
        while !isCancelled() {
            if waiters.withLock({ $0.first === waiter }) { return try body() }
            waiter.signal.wait()
        }
        return nil
    }

    private func leave(_ waiter: Waiter) {
        let next = waiters.withLock { waiters in
            waiters.removeAll { $0 === waiter }
            return waiters.first
        }
        next?.wake()
    }
}
