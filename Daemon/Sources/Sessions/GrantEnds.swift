import Auditing
import Callers
import Dispatch
import OstiaryMessages
import ProtectedObjects
package import Refusals
import Synchronization
import Threading

/// The ends of grants of one connection. Those that ended by a limit or by the owner's order are recorded, and waiting
/// programs are told.
///
/// The contexts report from wherever a grant ends, maybe in the middle of a decision; records are written on a thread.
package final class GrantEnds: Sendable {
    private struct State {
        /// Counts reports.
        var number: UInt64 = 0
        var isOver = false
        var waiting: [ObjectIdentifier: DispatchSemaphore] = [:]
    }

    private let state = Mutex(State())
    private let trail: AuditTrail
    private let thread: WorkThread

    /// - Parameter thread: the one of all connections.
    init(trail: AuditTrail, thread: WorkThread) {
        self.trail = trail
        self.thread = thread
    }

    /// Reports the ends of a program's grants: the connected one's, or a client's.
    func reporter(of program: CallerProgram) -> GrantEndHandler { { [self] in report($0, of: program) } }

    /// Waits for nothing.
    private func report(_ ended: [EndedGrant], of program: CallerProgram) {
        signal { $0.number += 1 }
        guard !ended.isEmpty else { return }
        thread.run { [self] in for grant in ended { record(grant, of: program) } }
    }

    /// The connection has ended.
    func close() { signal { $0.isOver = true } }

    private func signal(_ change: (inout State) -> Void) {
        let waiting = state.withLock { state in
            change(&state)
            return Array(state.waiting.values)
        }
        for semaphore in waiting { semaphore.signal() }
    }

    /// Waits until the number differs from `known`, and returns it; at once for nil. Ends with the request and with the connection.
    package func wait(unless known: UInt64?, _ cancellation: RequestCancellation) throws(Refusal) -> UInt64 {
        let semaphore = DispatchSemaphore(value: 0)
        let id = ObjectIdentifier(semaphore)
        state.withLock { $0.waiting[id] = semaphore }
        defer { state.withLock { _ = $0.waiting.removeValue(forKey: id) } }
        while true {
            try cancellation.check()
            let (number, isOver) = state.withLock { ($0.number, $0.isOver) }
            guard !isOver else {
                throw Refusal(.unknownContext, "The connection has ended.", cause: "connection.unknown")
            }
            if number != known { return number }
            cancellation.signalling(semaphore) { semaphore.wait() }
        }
    }

    /// In the order of decisions: no release is recorded behind the end of its grant.
    private func record(_ grant: EndedGrant, of program: CallerProgram) {
        trail.decide {
            trail.note(
                AuditTrail.Event(name: "grant-end", program: program, object: grant.object),
                reason: grant.end.rawValue)
        }
    }
}
