import Dispatch
package import ExactNames
import Foundation
import OstiaryMessages
package import Refusals
import Synchronization

/// The program that waits for turns, and the cancellation of its wait. The program decides the place in the order in which typed
/// secrets are stretched and much is read.
///
/// No call that waits has a default for it: one that forgot it would wait as the daemon, which nothing ends.
package struct StretchRequester: Sendable {
    /// The program; it shares one place in the order with all processes of its owner that have its name.
    fileprivate let program: ProgramOfOwner
    /// Nil where nothing ends the wait.
    fileprivate let cancellation: RequestCancellation?

    package init(program: ProgramOfOwner, cancellation: RequestCancellation) {
        self.init(program, cancellation)
    }

    private init(_ program: ProgramOfOwner, _ cancellation: RequestCancellation?) {
        self.program = program
        self.cancellation = cancellation
    }

    /// The daemon, where it works for itself.
    package static let daemon = StretchRequester(ProgramOfOwner(owner: nil, program: ""), nil)

    /// Throws if the request was ended.
    package func check() throws(Refusal) { try cancellation?.check() }
}

/// Says that its holder has a turn at stretching. It is lent to the calls that need the turn, and cannot be kept.
package struct StretchTurn: ~Copyable {
    init() {}
}

/// Bounds how many do something costly at once (``StretchLimits``), in an order that is fair among owners, and among the programs
/// of each (``StretchOrder``): stretch a typed secret, or read much of the store.
package final class StretchTurns: Sendable {
    /// One computation takes 64 MiB and a processor, and all of a process share them.
    package static let ofThisMachine = StretchTurns(
        StretchLimits(
            processorCount: ProcessInfo.processInfo.activeProcessorCount,
            memoryByteCount: ProcessInfo.processInfo.physicalMemory))

    /// Those who read much of the store, a piece in each turn: one at a time, so that a short reading waits for one piece at
    /// most, and no owner's or program's pieces keep another one's waiting for more than their turn.
    package static let ofReading = StretchTurns(
        StretchLimits(runCount: 1, waitingCountOfProgram: 256, waitingCountOfOwner: 512), waitingFor: .reading)

    /// The work that a turn is for, as refusals name it.
    package enum Purpose: String, Sendable {
        case stretching = "for a password to be computed"
        case reading = "to read the store"
    }

    private struct State {
        var order: StretchOrder
        var waiting: [StretchOrder.Ticket: DispatchSemaphore] = [:]
    }

    private let state: Mutex<State>
    private let purpose: Purpose

    package init(_ limits: StretchLimits, waitingFor purpose: Purpose = .stretching) {
        state = Mutex(State(order: StretchOrder(limits)))
        self.purpose = purpose
    }

    /// Computations that run and that wait.
    package var counts: (running: Int, waiting: Int) {
        state.withLock { ($0.order.runningCount, $0.order.waitingCount) }
    }

    /// Waits for a turn, runs `body`, and passes the turn on. `body` must not wait for another turn of the same: where one runs at a
    /// time, it would wait for itself.
    ///
    /// Take the turn before `OwnerAccount.changing` and ``ExclusiveAccess``: one that waits for a turn must not hold what another one
    /// waits for during its turn.
    ///
    /// - Throws: the refusal `tooMany` when the program or its owner has too many waiting; the refusal of a request that was ended
    ///   while it waited.
    package func withTurn<Result: ~Copyable>(
        as requester: StretchRequester, _ body: () throws -> Result
    ) throws -> Result {
        let ticket = try takeTurn(for: requester)
        defer { passOn(ticket) }
        return try body()
    }

    private func takeTurn(for requester: StretchRequester) throws(Refusal) -> StretchOrder.Ticket {
        let turn = DispatchSemaphore(value: 0)
        let entry = state.withLock { state in
            let entry = state.order.enter(requester.program)
            if case .waits(let ticket) = entry { state.waiting[ticket] = turn }
            return entry
        }
        switch entry {
        case .turn(let ticket): return ticket
        case .waits(let ticket):
            try wait(for: turn, ticket, requester.cancellation)
            return ticket
        case .refused(let refused): throw refusal(of: refused)
        }
    }

    private func refusal(of refused: StretchOrder.Refused) -> Refusal {
        let area = purpose == .stretching ? "stretch" : "read"
        return switch refused {
        case .program:
            Refusal(
                .tooMany, "Too many requests of this program wait \(purpose.rawValue); try again later.",
                cause: "\(area).too-many")
        case .owner:
            Refusal(
                .tooMany, "Too many requests of this user's programs wait \(purpose.rawValue); try again later.",
                cause: "\(area).too-many-of-owner")
        }
    }

    private func wait(
        for turn: DispatchSemaphore, _ ticket: StretchOrder.Ticket, _ cancellation: RequestCancellation?
    ) throws(Refusal) {
        guard let cancellation else { return turn.wait() }
        cancellation.signalling(turn) { turn.wait() }
        do throws(Refusal) { try cancellation.check() } catch {
            // One that no longer waits was given its turn, and passes it on.
            if !withdraw(ticket) { passOn(ticket) }
            throw error
        }
    }

    private func withdraw(_ ticket: StretchOrder.Ticket) -> Bool {
        state.withLock { state in
            state.waiting[ticket] = nil
            return state.order.withdraw(ticket)
        }
    }

    private func passOn(_ ticket: StretchOrder.Ticket) {
        state.withLock { state in
            guard let next = state.order.leave(ticket) else { return }
            state.waiting.removeValue(forKey: next)?.signal()
        }
    }
}
