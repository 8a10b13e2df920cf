import Cancellations
import ExactNames
import Glibc
public import ProcessFacts
public import PromptProtocol
import Synchronization
import UnixSocket

/// One question at a time on each terminal and in the dialog of each owner. The others wait there, in an order that is fair among
/// programs (``PromptOrder``). A new question never takes a visible one away. A question that is cancelled while it
/// waits is never shown.
public final class PromptQueue: Prompter {
    private let prompter: any PlacingPrompter
    private let now: @Sendable () -> ContinuousClock.Instant
    private let terminalDevice: @Sendable (PromptCaller) -> UInt32?
    private let state = Mutex(State())

    private struct State {
        var order = PromptOrder()
        /// The cancellations that end the waits for a turn.
        var turns: [PromptOrder.Ticket: PollableCancellation] = [:]
        var cooldown = PromptCooldown()
    }

    /// - Parameter terminalDevice: the controlling terminal of a caller that passed one.
    public init(
        _ prompter: any PlacingPrompter,
        now: @escaping @Sendable () -> ContinuousClock.Instant = { ContinuousClock.now },
        terminalDevice: @escaping @Sendable (PromptCaller) -> UInt32? = TerminalCheck.controllingTerminal(of:)
    ) {
        self.prompter = prompter
        self.now = now
        self.terminalDevice = terminalDevice
    }

    /// How many questions wait for their turn.
    public var waitingCount: Int { state.withLock { $0.order.waitingCount } }

    public func sensorRefusal(ofProcess processID: Int32, of userID: UInt32) -> SensorRefusal? {
        prompter.sensorRefusal(ofProcess: processID, of: userID)
    }

    public func laterSensorRefusal(ofProcess processID: Int32, of userID: UInt32) -> () -> SensorRefusal? {
        prompter.laterSensorRefusal(ofProcess: processID, of: userID)
    }

    public var hasTrustedPlace: Bool { prompter.hasTrustedPlace }

    public func placeRefusal(ofProcess processID: Int32, of userID: UInt32) -> PlaceRefusal? {
        prompter.placeRefusal(ofProcess: processID, of: userID)
    }

    public func forget(_ userID: UInt32) { prompter.forget(userID) }

    /// Waits for the turn, then asks. Blocks until the earlier questions have ended; each has a time limit. Returns at
    /// once if there is no place to ask at.
    public func ask(_ question: PromptQuestion, on caller: PromptCaller, live: LiveQuestion) -> PromptOutcome {
        let sources = sources(of: caller)
        var placing = prompter.place(question, for: caller)
        while true {
            let placed: PlacedQuestion
            switch placing {
            case .success(let question): placed = question
            case .failure(let unavailability): return .unavailable(unavailability)
            }
            let (ticket, hasWaited): (PromptOrder.Ticket, Bool)
            switch enter(caller.asker, at: placed.place, live.cancellation) {
            case .interrupted(let interruption): return .interrupted(by: interruption)
            case .refused(let reason): return .unavailable(reason)
            case .turn(let given, let waited): (ticket, hasWaited) = (given, waited)
            }
            defer { leave(ticket) }
            if let interruption = live.cancellation.interruption { return .interrupted(by: interruption) }
            if let remaining = state.withLock({ $0.cooldown.remaining(for: sources, at: now()) }) {
                return .unavailable(.coolingDown(remaining: remaining))
            }
            guard hasWaited else { return ask(placed, live, of: sources) }
            // Choose again: meanwhile the terminal may have become unusable, or the display may have gone.
            placing = prompter.place(question, for: caller)
            if case .success(let placedNow) = placing, placedNow.place == placed.place {
                return ask(placedNow, live, of: sources)
            }
        }
    }

    private func ask(
        _ placed: PlacedQuestion, _ live: LiveQuestion, of sources: [PromptCooldown.Source]
    ) -> PromptOutcome {
        let start = now()
        let outcome = placed.ask(live)
        let end = now()
        guard let effect = PromptCooldown.Effect(of: outcome, after: start.duration(to: end)) else { return outcome }
        state.withLock { $0.cooldown.note(effect, of: sources, at: end) }
        return outcome
    }

    private func sources(of caller: PromptCaller) -> [PromptCooldown.Source] {
        [.program(caller.asker)] + (terminalDevice(caller).map { [.terminal($0, of: caller.owner)] } ?? [])
    }

    private enum Entry {
        case turn(PromptOrder.Ticket, hasWaited: Bool)
        case interrupted(PromptInterruption)
        case refused(PromptUnavailability)
    }

    private func enter(_ program: ProgramOfOwner, at place: PromptPlace, _ cancellation: PromptCancellation) -> Entry {
        let turn: PollableCancellation
        do { turn = try PollableCancellation() } catch { return .refused(.promptFailed(reason: "\(error)")) }
        let entry = state.withLock { state in
            let entry = state.order.enter(program, at: place)
            if case .waits(let ticket) = entry { state.turns[ticket] = turn }
            return entry
        }
        switch entry {
        case .turn(let ticket): return .turn(ticket, hasWaited: false)
        case .waits(let ticket): return waitForTurn(ticket, turn, cancellation)
        case .refused: return .refused(.tooManyWaiting)
        }
    }

    private func waitForTurn(
        _ ticket: PromptOrder.Ticket, _ turn: PollableCancellation, _ cancellation: PromptCancellation
    ) -> Entry {
        var polled = [
            pollfd(fd: turn.descriptor, events: Int16(POLLIN), revents: 0),
            pollfd(fd: cancellation.descriptor, events: Int16(POLLIN), revents: 0),
        ]
        while unsafe poll(&polled, nfds_t(polled.count), -1) < 0, errno == EINTR {}
        let hasLeft = state.withLock { state in
            state.turns[ticket] = nil
            return state.order.withdraw(ticket)
        }
        // If the question no longer waits, it has the turn and must pass it on.
        return hasLeft ? .interrupted(cancellation.interruption ?? .superseded) : .turn(ticket, hasWaited: true)
    }

    private func leave(_ ticket: PromptOrder.Ticket) {
        state.withLock { state in
            guard let next = state.order.leave(ticket) else { return }
            state.turns[next]?.cancel()
        }
    }
}
