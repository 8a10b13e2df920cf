import Dispatch
import Synchronization

/// Turns at something that one thread uses at a time. Owners take turns, and the threads of each in the order of asking. So an owner
/// waits for the turn that runs and for one of each other owner who waits already, however many threads those have. A lock gives the
/// turn to whichever thread comes first when it is free, so that one may wait for ever.
package final class Turns<Owner: Hashable & Sendable>: Sendable {
    private struct Line {
        /// Nil for what is done for nobody in particular.
        let owner: Owner?
        /// Oldest first; never empty.
        var waiting: [DispatchSemaphore]
    }

    private struct State {
        var isTaken = false
        /// Owners who wait. The first one has the next turn.
        var lines: [Line] = []

        mutating func enqueue(_ turn: DispatchSemaphore, of owner: Owner?) {
            if let index = lines.firstIndex(where: { $0.owner == owner }) {
                lines[index].waiting.append(turn)
            } else {
                lines.append(Line(owner: owner, waiting: [turn]))
            }
        }

        /// Takes out the thread whose turn it is. Its owner goes behind all others who wait.
        mutating func takeNext() -> DispatchSemaphore? {
            guard !lines.isEmpty else { return nil }
            var line = lines.removeFirst()
            let next = line.waiting.removeFirst()
            if !line.waiting.isEmpty { lines.append(line) }
            return next
        }
    }

    private let state = Mutex(State())

    package init() {}

    /// Whether a thread has the turn.
    package var isTaken: Bool { state.withLock { $0.isTaken } }

    /// Threads that wait.
    package var waitingCount: Int { state.withLock { $0.lines.reduce(0) { $0 + $1.waiting.count } } }

    /// Waits for a turn. The thread must pass it on, and must not ask for another one before.
    package func take(for owner: Owner?) {
        let turn: DispatchSemaphore? = state.withLock { state in
            guard state.isTaken else {
                state.isTaken = true
                return nil
            }
            let turn = DispatchSemaphore(value: 0)
            state.enqueue(turn, of: owner)
            return turn
        }
        turn?.wait()
    }

    package func passOn() {
        state.withLock { state in
            if let next = state.takeNext() { next.signal() } else { state.isTaken = false }
        }
    }
}
