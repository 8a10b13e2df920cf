import Glibc
public import PromptProtocol
import Synchronization

/// One question at a time; the others wait in the order in which they came. A newcomer never takes a question away, and one
/// that is cancelled while it waits leaves without having been shown.
public final class PromptQueue: Prompter {
    /// Questions that may wait at once; a caller beyond that is refused.
    public static let maximumWaitingCount = 16

    private let prompter: any Prompter
    private let now: @Sendable () -> ContinuousClock.Instant
    private let state = Mutex(State())

    private struct State {
        var isBusy = false
        var waiting: [Wakeup] = []
        var cooldown = CancellationCooldown()
    }

    public init(
        _ prompter: any Prompter, now: @escaping @Sendable () -> ContinuousClock.Instant = { ContinuousClock.now }
    ) {
        self.prompter = prompter
        self.now = now
    }

    /// How many questions wait for their turn.
    public var waitingCount: Int { state.withLock { $0.waiting.count } }

    /// Waits for the turn, then asks. Blocks for as long as the questions before take, each of which has a time limit.
    public func ask(
        _ question: PromptQuestion, on caller: PromptCaller, cancellation: PromptCancellation
    ) -> PromptOutcome {
        switch enter(cancellation) {
        case .interrupted(let interruption): return .interrupted(by: interruption)
        case .refused(let reason): return .unavailable(reason)
        case .turn: break
        }
        defer { leave() }
        if let interruption = cancellation.interruption { return .interrupted(by: interruption) }
        let program = caller.program
        if let remaining = state.withLock({ $0.cooldown.remaining(for: program, at: now()) }) {
            return .unavailable(.coolingDown(remaining: remaining))
        }
        let outcome = prompter.ask(question, on: caller, cancellation: cancellation)
        note(outcome, of: program)
        return outcome
    }

    private func note(_ outcome: borrowing PromptOutcome, of program: String) {
        switch outcome {
        case .cancelled: state.withLock { $0.cooldown.noteCancellation(of: program, at: now()) }
        case .entered: noteAnswer(of: program)
        case .confirmed: noteAnswer(of: program)
        case .fallback: noteAnswer(of: program)
        default: break
        }
    }

    private func noteAnswer(of program: String) { state.withLock { $0.cooldown.noteAnswer(of: program) } }

    private enum Entry {
        case turn
        case interrupted(PromptInterruption)
        case refused(PromptUnavailability)
    }

    private func enter(_ cancellation: PromptCancellation) -> Entry {
        guard let wakeup = try? Wakeup() else { return .refused(.promptFailed) }
        let entry: Entry? = state.withLock { state in
            guard state.isBusy else {
                state.isBusy = true
                return .turn
            }
            guard state.waiting.count < Self.maximumWaitingCount else { return .refused(.tooManyWaiting) }
            state.waiting.append(wakeup)
            return nil
        }
        return entry ?? waitForTurn(wakeup, cancellation)
    }

    private func waitForTurn(_ wakeup: Wakeup, _ cancellation: PromptCancellation) -> Entry {
        var polled = [
            pollfd(fd: wakeup.descriptor, events: Int16(POLLIN), revents: 0),
            pollfd(fd: cancellation.descriptor, events: Int16(POLLIN), revents: 0),
        ]
        while poll(&polled, nfds_t(polled.count), -1) < 0, errno == EINTR {}
        let hasLeft = state.withLock { state in
            guard let index = state.waiting.firstIndex(where: { $0 === wakeup }) else { return false }
            state.waiting.remove(at: index)
            return true
        }
        // Whoever is no longer in the list was given the turn, and has to pass it on.
        return hasLeft ? .interrupted(cancellation.interruption ?? .superseded) : .turn
    }

    private func leave() {
        state.withLock { state in
            guard !state.waiting.isEmpty else {
                state.isBusy = false
                return
            }
            state.waiting.removeFirst().wake()
        }
    }
}
