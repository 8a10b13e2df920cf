import Dispatch
import Synchronization

/// Turns at something that one thread uses at a time. Owners take turns, and the threads of each in the order of asking. The owner whose
/// turn ends comes behind all others who wait. So an owner waits for the turn that runs and for one of each further owner who waits
/// already, however many threads those have. A lock gives the turn to whichever thread comes first when it is free, so that one may wait
/// for ever.
package final class Turns<Owner: Hashable & Sendable>: Sendable {
    private struct Line {
        /// Nil for what is done for nobody in particular.
        let owner: Owner?
        /// Oldest first; never empty.
        var waiting: [DispatchSemaphore]
    }

    private struct State {
        var isTaken = false
        /// Whose turn runs, or ran last.
        var holder: Owner?
        /// Owners who wait. The first one has the next turn.
        var lines: [Line] = []

        mutating func takeIfFree(for owner: Owner?) -> Bool {
            guard !isTaken else { return false }
            (isTaken, holder) = (true, owner)
            return true
        }

        mutating func enqueue(_ turn: DispatchSemaphore, of owner: Owner?) {
            if let index = lines.firstIndex(where: { $0.owner == owner }) {
                lines[index].waiting.append(turn)
            } else {
                lines.append(Line(owner: owner, waiting: [turn]))
            }
        }

        /// Takes out the thread whose turn it is. Its owner goes behind all others who wait.
        mutating func takeNext() -> DispatchSemaphore? {
            // Another thread of the owner whose turn ends may have waited before all others.
            if let first = lines.first, first.owner == holder { lines.append(lines.removeFirst()) }
            guard !lines.isEmpty else { return nil }
            var line = lines.removeFirst()
            let next = line.waiting.removeFirst()
            holder = line.owner
            if !line.waiting.isEmpty { lines.append(line) }
            return next
        }

        /// Takes out a thread that no longer waits; false if it was given the turn before.
        mutating func remove(_ turn: DispatchSemaphore, of owner: Owner?) -> Bool {
            guard let line = lines.firstIndex(where: { $0.owner == owner }),
                let place = lines[line].waiting.firstIndex(where: { $0 === turn })
            else { return false }
            lines[line].waiting.remove(at: place)
            if lines[line].waiting.isEmpty { lines.remove(at: line) }
            return true
        }
    }

    private let state = Mutex(State())

    package init() {}

    /// Whether a thread has the turn.
    package var isTaken: Bool { state.withLock { $0.isTaken } }

    /// Threads that wait.
    package var waitingCount: Int { state.withLock { $0.lines.reduce(0) { $0 + $1.waiting.count } } }

    /// Waits for a turn. The thread must pass it on, and must not ask for another one before.
    package func take(for owner: Owner?) { place(for: owner)?.wait() }

    /// As ``take(for:)``, for a limited time.
    ///
    /// - Returns: whether the thread has the turn. Otherwise it has left its place, and has nothing to pass on.
    package func take(for owner: Owner?, within limit: Duration) -> Bool {
        guard let turn = place(for: owner) else { return true }
        let milliseconds = Int(limit / .milliseconds(1))
        guard turn.wait(timeout: .now() + .milliseconds(milliseconds)) == .timedOut else { return true }
        // The turn may have come since.
        return !state.withLock { $0.remove(turn, of: owner) }
    }

    /// Takes the turn if it is free, and gives nil. Otherwise gives the thread a place, at which it waits.
    private func place(for owner: Owner?) -> DispatchSemaphore? {
        state.withLock { state in
            guard !state.takeIfFree(for: owner) else { return nil }
            let turn = DispatchSemaphore(value: 0)
            state.enqueue(turn, of: owner)
            return turn
        }
    }

    package func passOn() {
        state.withLock { state in
            if let next = state.takeNext() { next.signal() } else { state.isTaken = false }
        }
    }
}
