import Dispatch
import Foundation
import Synchronization

/// Threads that wait for the start, then all call at once.
final class Crowd: Sendable {
    private struct State {
        var samples = Samples()
        var failure: (any Error)?
    }

    private let starts: [DispatchSemaphore]
    private let finished = DispatchSemaphore(value: 0)
    private let callsEach: Int
    private let state = Mutex(State())

    /// One thread for each of `calls`, which it makes `callsEach` times a round.
    init(_ calls: [@Sendable () throws -> Void], callsEach: Int) {
        starts = calls.map { _ in DispatchSemaphore(value: 0) }
        self.callsEach = callsEach
        for (start, call) in zip(starts, calls) {
            let thread = Thread { [self] in
                while true {
                    start.wait()
                    runRound(call)
                    finished.signal()
                }
            }
            thread.start()
        }
    }

    /// One round of all threads; returns how many calls a second there were.
    func round() throws -> Double {
        let begin = MonotonicClock.now()
        for start in starts { start.signal() }
        for _ in starts { finished.wait() }
        let seconds = Double(MonotonicClock.now() - begin) / 1e9
        if let failure = state.withLock({ $0.failure }) { throw failure }
        return Double(callsEach * starts.count) / seconds
    }

    /// How long each call took, over all rounds.
    var samples: Samples { state.withLock { $0.samples } }

    private func runRound(_ call: () throws -> Void) {
        var own = Samples()
        do {
            for _ in 0..<callsEach { try own.time(call) }
        } catch { state.withLock { $0.failure = error } }
        state.withLock { state in for value in own.values { state.samples.append(value) } }
    }
}
