import Dispatch
import FingerprintReader
import OstiaryMessages
import Prompting
import Refusals
import Synchronization

/// Lets one question after the other use a reader or camera, in the order in which they were visible. Neither finger nor face is
/// aimed at a window, so no two questions wait for it.
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

    /// Runs `body` when it is the turn of one wait of a sensor, and has it stopped when the wait is cancelled or the evaluation
    /// has no try left.
    ///
    /// - Returns: nil when it was stopped.
    /// - Throws: what `body` throws; a refusal in the words for `sensor` when no try is left.
    func take<Result>(
        until stop: SensorStop, _ tries: EvaluationTries, of sensor: PromptSensor.Kind, onWait: () -> Void,
        _ body: (ReaderStop) throws -> Result?
    ) throws -> Result? {
        let waiter = Waiter()
        let readerStop: ReaderStop
        do { readerStop = try ReaderStop() } catch {
            throw Refusal(.internal, "The daemon has no descriptor left for the sensor.")
        }
        let end: @Sendable () -> Void = {
            readerStop.cancel()
            waiter.wake()
        }
        stop.whenCancelled(end)
        let result = try tries.whenOver(end) {
            try take(waiter, unless: { readerStop.isCancelled }, onWait: onWait) { try body(readerStop) }
        }
        if let result = result ?? nil { return result }
        if !stop.isCancelled { try tries.requireLeft(sensor) }
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
