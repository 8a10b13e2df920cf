import Cancellations
import Dispatch
import FingerprintReader
import Glibc
import OstiaryMessages
import PromptProtocol
import Refusals
import Synchronization

/// Lets one question after the other use a reader or camera, in the order in which they were visible. Neither finger nor face is
/// aimed at a window, so no two questions wait for it.
final class ReaderTurn: Sendable {
    private let waiters = Mutex<[Waiter]>([])
    private let lastResult = Mutex<LastResult?>(nil)

    private struct LastResult {
        let time = ContinuousClock.now
        let evaluation: EvaluationIdentity
    }

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
    func take<Value>(
        _ waiter: Waiter, unless isCancelled: () -> Bool, onWait: () -> Void, _ body: () throws -> Value
    ) rethrows -> Value? {
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

    /// Runs `body` when it is the turn of one wait of a sensor, and has it stopped when the wait is cancelled or the evaluation
    /// has no try left.
    ///
    /// - Returns: nil when it was stopped.
    /// - Throws: what `body` throws; a refusal in the words for `sensor` when no try is left.
    func take<Value>(
        until stop: Cancellation, _ tries: EvaluationTries, of sensor: PromptSensor.Kind, onWait: () -> Void,
        _ body: (PollableCancellation) throws -> Value?
    ) throws -> Value? {
        let waiter = Waiter()
        let readerStop: PollableCancellation
        do { readerStop = try PollableCancellation() } catch {
            throw Refusal(.internal, "The daemon has no descriptor left for the sensor.")
        }
        let end: @Sendable () -> Void = {
            readerStop.cancel()
            waiter.wake()
        }
        guard let ending = stop.register(end) else { return nil }
        defer { stop.remove(ending) }
        let result = try tries.whenOver(end) {
            try take(waiter, unless: { readerStop.isCancelled }, onWait: onWait) { try body(readerStop) }
        }
        if let result = result ?? nil { return result }
        if !stop.isCancelled { try tries.requireLeft(sensor) }
        return nil
    }

    // MARK: one touch, one question

    /// Notes that a finger was compared for an evaluation.
    func noteResult(for tries: EvaluationTries) {
        lastResult.withLock { $0 = LastResult(evaluation: tries.evaluation) }
    }

    /// Waits until `pause` has gone by since a finger was compared for another evaluation: a finger that still lies there answers
    /// one question alone.
    func rest(
        after pause: Duration, for tries: EvaluationTries, until stop: PollableCancellation
    ) throws(ReaderFailure) {
        let last = lastResult.withLock { $0 }
        guard let last, last.evaluation !== tries.evaluation else { return }
        let end = last.time.advanced(by: pause)
        while true {
            let left = (end - ContinuousClock.now) / .milliseconds(1)
            guard left > 0 else { return }
            var polled = pollfd(fd: stop.descriptor, events: Int16(POLLIN), revents: 0)
            guard unsafe poll(&polled, 1, CInt(left.rounded(.up))) <= 0 else { throw .stopped }
        }
    }

    private func leave(_ waiter: Waiter) {
        let next = waiters.withLock { waiters in
            waiters.removeAll { $0 === waiter }
            return waiters.first
        }
        next?.wake()
    }
}
