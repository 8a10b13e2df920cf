public import Prompting
public import SecretMemory
import Synchronization

/// A person who answers from a list, in order. What was asked is kept; a question nobody prepared for is counted and
/// answered with no.
public final class ScriptedPrompter: Prompter {
    public enum Answer: Sendable, Equatable {
        case text(String)
        case confirm
        case cancel
        case fallback
    }

    private struct State {
        var answers: [Answer] = []
        var asked: [PromptQuestion] = []
        var unpreparedCount = 0
        var habit: (@Sendable (PromptQuestion) -> Answer)?
        var interlude: (@Sendable () -> Void)?
    }

    private let state = Mutex(State())

    public init() {}

    /// Answers the next questions with these; forgets what was left of earlier ones, and what was asked.
    public func prepare(_ answers: [Answer]) {
        state.withLock {
            $0.answers = answers
            $0.asked = []
            $0.unpreparedCount = 0
        }
    }

    /// Answers every question by `habit`, from any thread, whatever else is prepared.
    public func always(_ habit: (@Sendable (PromptQuestion) -> Answer)?) { state.withLock { $0.habit = habit } }

    /// Runs `interlude` once, while the next question is on screen.
    public func duringNextQuestion(_ interlude: @escaping @Sendable () -> Void) {
        state.withLock { $0.interlude = interlude }
    }

    /// The questions since the last ``prepare(_:)``.
    public var asked: [PromptQuestion] { state.withLock { $0.asked } }
    /// What kinds of questions these were.
    public var askedKinds: [PromptKind] { asked.map(\.kind) }
    /// Answers that nobody asked for.
    public var unusedAnswers: [Answer] { state.withLock { $0.answers } }
    public var unpreparedCount: Int { state.withLock { $0.unpreparedCount } }

    public func ask(
        _ question: PromptQuestion, on caller: PromptCaller, cancellation: PromptCancellation
    ) -> PromptOutcome {
        let interlude = state.withLock { state in
            state.asked.append(question)
            return state.interlude.take()
        }
        interlude?()
        if let interruption = cancellation.interruption { return .interrupted(by: interruption) }
        return outcome(answer(to: question), to: question)
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
        case .confirm: return .confirmed
        case .fallback: return .fallback
        case .cancel, nil: return .cancelled
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
