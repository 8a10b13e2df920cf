import Dispatch
import Synchronization

/// Turns at something that one thread uses at a time, in the order of asking. A lock gives the turn to whichever thread comes
/// first when it is free, so that one may wait for ever.
package final class Turns: Sendable {
    private struct State {
        var isTaken = false
        var waiting: [DispatchSemaphore] = []
    }

    private let state = Mutex(State())

    package init() {}

    /// Whether a thread has the turn.
    package var isTaken: Bool { state.withLock { $0.isTaken } }

    /// Threads that wait.
    package var waitingCount: Int { state.withLock { $0.waiting.count } }

    /// Waits for a turn. The thread must pass it on, and must not ask for another one before.
    package func take() {
        let turn: DispatchSemaphore? = state.withLock { state in
            guard state.isTaken else {
                state.isTaken = true
                return nil
            }
            let turn = DispatchSemaphore(value: 0)
            state.waiting.append(turn)
            return turn
        }
        turn?.wait()
    }

    package func passOn() {
        state.withLock { state in
            if state.waiting.isEmpty { state.isTaken = false } else { state.waiting.removeFirst().signal() }
        }
    }
}
