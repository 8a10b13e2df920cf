public import ProcessFacts
public import Prompting
public import PromptProtocol
public import SecretMemory
import Synchronization

/// A person who answers from a list, in order. It keeps the questions. A question without a prepared answer is counted and
/// answered with no.
public final class ScriptedPrompter: Prompter {
    public enum Answer: Sendable, Equatable {
        case text(String)
        /// Types the text whose bytes these are with all bits turned over: a search of memory does not find the answer itself.
        case inverted([UInt8])
        case confirm
        case cancel
        case fallback
        /// Nothing is done: the question stays until it is taken away, or its time is over.
        case wait
        /// As ``wait``, but the question is never visible, as behind another one or in a dialog that does not tell.
        case waitUnseen
        /// Cancelled by the person in the very moment in which something else ended the question.
        case cancelAnyway
        /// The program has no terminal, and there is no dialog: the question is never put.
        case nobody
    }

    private struct State {
        var answers: [Answer] = []
        var asked: [PromptQuestion] = []
        var unpreparedCount = 0
        var habit: (@Sendable (PromptQuestion) -> Answer)?
        var interlude: (@Sendable () -> Void)?
        var updates: [PromptUpdate] = []
        var sensorRefusal: SensorRefusal?
        var term = 0
    }

    private let state = Mutex(State())

    public init() {}

    /// Answers the next questions with these; forgets the rest of the earlier answers, and the questions so far.
    public func prepare(_ answers: [Answer]) {
        state.withLock {
            $0.answers = answers
            $0.asked = []
            $0.updates = []
            $0.unpreparedCount = 0
        }
    }

    /// Answers every question by `habit`, from any thread, in place of prepared answers.
    public func always(_ habit: (@Sendable (PromptQuestion) -> Answer)?) { state.withLock { $0.habit = habit } }

    /// Runs `interlude` once, while the next question is on screen.
    public func duringNextQuestion(_ interlude: @escaping @Sendable () -> Void) {
        state.withLock { $0.interlude = interlude }
    }

    /// Chooses this term in each question from now on; 0 for once.
    public func choose(term: Int) { state.withLock { $0.term = term } }

    /// Has no sensor wait for any process, or every sensor again.
    public func refuseSensors(because refusal: SensorRefusal?) { state.withLock { $0.sensorRefusal = refusal } }

    public func sensorRefusal(ofProcess processID: Int32, of userID: UInt32) -> SensorRefusal? {
        state.withLock { $0.sensorRefusal }
    }

    /// The questions since the last ``prepare(_:)``.
    public var asked: [PromptQuestion] { state.withLock { $0.asked } }
    /// The kinds of these questions.
    public var askedKinds: [PromptKind] { asked.map(\.kind) }
    /// The lines of questions about their sensors while they were visible, since the last ``prepare(_:)``.
    public var updates: [PromptUpdate] { state.withLock { $0.updates } }
    /// Answers that nobody asked for.
    public var unusedAnswers: [Answer] { state.withLock { $0.answers } }
    public var unpreparedCount: Int { state.withLock { $0.unpreparedCount } }

    /// How long a question stays for which ``Answer/wait`` was prepared.
    private static let patienceMilliseconds: CInt = 20_000

    public func ask(_ question: PromptQuestion, on caller: PromptCaller, live: LiveQuestion) -> PromptOutcome {
        let interlude = state.withLock { state in
            state.asked.append(question)
            return state.interlude.take()
        }
        let isSeen = state.withLock { state in
            state.habit != nil || ![.waitUnseen, .nobody].contains(state.answers.first)
        }
        return live.showingUpdates(with: { update in self.state.withLock { $0.updates.append(update) } }) {
            if isSeen { live.noteShown() }
            live.note(term: state.withLock { $0.term })
            interlude?()
            let next = state.withLock { $0.answers.first }
            if let interruption = live.cancellation.interruption, next != .cancelAnyway {
                // A sensor may be quicker than this thread, and the wait was meant for this question, not for the next.
                if next == .wait || next == .waitUnseen { _ = answer(to: question) }
                return .interrupted(by: interruption)
            }
            let answer = answer(to: question)
            guard answer == .wait || answer == .waitUnseen else { return outcome(answer, to: question) }
            guard let interruption = live.cancellation.wait(milliseconds: Self.patienceMilliseconds) else {
                return .timedOut
            }
            return .interrupted(by: interruption)
        }
    }

    private func answer(to question: PromptQuestion) -> Answer? {
        if let habit = state.withLock({ $0.habit }) { return habit(question) }
        return state.withLock { state in
            guard state.answers.isEmpty else { return state.answers.removeFirst() }
            state.unpreparedCount += 1
            return nil
        }
    }

    private func outcome(_ answer: Answer?, to question: PromptQuestion) -> PromptOutcome {
        switch answer {
        case .text(let text):
            guard let factor = question.kind.factor else { return .cancelled }
            return .entered(EnteredSecret(SecretBytes(text: text), for: factor))
        case .inverted(let bytes):
            guard let factor = question.kind.factor else { return .cancelled }
            var secret = SecretBytes(zeroedForPasscode: bytes.count)
            secret.withUnsafeMutableBytes { for index in bytes.indices { $0[index] = ~bytes[index] } }
            return .entered(EnteredSecret(secret, for: factor))
        case .confirm: return .confirmed
        case .fallback: return .fallback
        case .wait, .waitUnseen: return .timedOut
        case .cancel, .cancelAnyway, nil: return .cancelled
        case .nobody: return .unavailable(.notInteractive)
        }
    }
}

extension SecretBytes {
    /// The UTF-8 bytes of a text, which is no secret in a test.
    public init(text: String) {
        self.init(bytes: Array(text.utf8))
    }

    /// A copy of bytes that are no secret in a test.
    public init(bytes: some Collection<UInt8>) {
        self.init(zeroed: bytes.count)
        withUnsafeMutableBytes { $0.copyBytes(from: bytes) }
    }
}
