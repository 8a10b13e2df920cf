import Glibc
public import PromptProtocol
import Synchronization

/// One question at a time; the others wait in the order in which they came. A newcomer never takes a question away, and one
/// that is cancelled while it waits leaves without having been shown.
public final class PromptQueue: Prompter {
    /// Questions that may wait at once; a caller beyond that is refused.
    public static let maximumWaitingCount = 16
    /// The waiting questions that one program may have, so that no program keeps the others from asking.
    public static let maximumWaitingCountOfProgram = 4

    private let prompter: any Prompter
    private let now: @Sendable () -> ContinuousClock.Instant
    private let terminalDevice: @Sendable (PromptCaller) -> UInt32?
    private let state = Mutex(State())

    private struct State {
        var isBusy = false
        var waiting: [Place] = []
        var cooldown = CancellationCooldown()
    }

    private struct Place {
        let program: String
        let wakeup: Wakeup
    }

    /// - Parameter terminalDevice: the controlling terminal of a caller that passed one.
    public init(
        _ prompter: any Prompter, now: @escaping @Sendable () -> ContinuousClock.Instant = { ContinuousClock.now },
        terminalDevice: @escaping @Sendable (PromptCaller) -> UInt32? = TerminalCheck.controllingTerminal(of:)
    ) {
        self.prompter = prompter
        self.now = now
        self.terminalDevice = terminalDevice
    }

    /// How many questions wait for their turn.
    public var waitingCount: Int { state.withLock { $0.waiting.count } }

    /// Waits for the turn, then asks. Blocks for as long as the questions before take, each of which has a time limit.
    public func ask(_ question: PromptQuestion, on caller: PromptCaller, live: LiveQuestion) -> PromptOutcome {
        let cancellation = live.cancellation
        switch enter(caller.program, cancellation) {
        case .interrupted(let interruption): return .interrupted(by: interruption)
        case .refused(let reason): return .unavailable(reason)
        case .turn: break
        }
        defer { leave() }
        if let interruption = cancellation.interruption { return .interrupted(by: interruption) }
        let sources = sources(of: caller)
        if let remaining = state.withLock({ $0.cooldown.remaining(for: sources, at: now()) }) {
            return .unavailable(.coolingDown(remaining: remaining))
        }
        let outcome = prompter.ask(question, on: caller, live: live)
        note(outcome, of: sources)
        return outcome
    }

    private func sources(of caller: PromptCaller) -> [CancellationCooldown.Source] {
        [.program(caller.program)] + (terminalDevice(caller).map { [.terminal($0)] } ?? [])
    }

    private func note(_ outcome: borrowing PromptOutcome, of sources: [CancellationCooldown.Source]) {
        switch outcome {
        case .cancelled: state.withLock { $0.cooldown.noteCancellation(of: sources, at: now()) }
        case .entered: noteAnswer(of: sources)
        case .confirmed: noteAnswer(of: sources)
        case .fallback: noteAnswer(of: sources)
        case .interrupted(by: .proved): noteAnswer(of: sources)
        default: break
        }
    }

    private func noteAnswer(of sources: [CancellationCooldown.Source]) {
        state.withLock { $0.cooldown.noteAnswer(of: sources) }
    }

    private enum Entry {
        case turn
        case interrupted(PromptInterruption)
        case refused(PromptUnavailability)
    }

    private func enter(_ program: String, _ cancellation: PromptCancellation) -> Entry {
        guard let wakeup = try? Wakeup() else { return .refused(.promptFailed) }
        let entry: Entry? = state.withLock { state in
            guard state.isBusy else {
                state.isBusy = true
                return .turn
            }
            guard state.waiting.count < Self.maximumWaitingCount,
                state.waiting.count(where: { $0.program == program }) < Self.maximumWaitingCountOfProgram
            else { return .refused(.tooManyWaiting) }
            state.waiting.append(Place(program: program, wakeup: wakeup))
            return nil
        }
        return entry ?? waitForTurn(wakeup, cancellation)
    }

    private func waitForTurn(_ wakeup: Wakeup, _ cancellation: PromptCancellation) -> Entry {
        var polled = [
            pollfd(fd: wakeup.descriptor, events: Int16(POLLIN), revents: 0),
            pollfd(fd: cancellation.descriptor, events: Int16(POLLIN), revents: 0),
        ]
        while unsafe poll(&polled, nfds_t(polled.count), -1) < 0, errno == EINTR {}
        let hasLeft = state.withLock { state in
            guard let index = state.waiting.firstIndex(where: { $0.wakeup === wakeup }) else { return false }
            state.waiting.remove(at: index)
            return true
        }
        // A thread that is no longer in the list was given the turn, and must pass it on.
        return hasLeft ? .interrupted(cancellation.interruption ?? .superseded) : .turn
    }

    private func leave() {
        state.withLock { state in
            guard !state.waiting.isEmpty else {
                state.isBusy = false
                return
            }
            state.waiting.removeFirst().wakeup.wake()
        }
    }
}
