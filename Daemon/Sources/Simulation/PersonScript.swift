import PromptProtocol
package import SimulatorMessages
import Synchronization

/// The next actions of the simulated person, and the questions so far.
package final class PersonScript: Sendable {
    private struct State {
        var actions: [PersonAction] = []
        /// For the questions that the test itself causes, by their reasons.
        var ownActions: [String: [PersonAction]] = [:]
        var questions: [SimulatedQuestion] = []
        /// The number of the first one in ``questions``.
        var firstNumber = 0
    }

    private let state = Mutex(State())

    package init() {}

    /// A question that is visible.
    struct Entry: Sendable {
        /// Nil for a question that the test itself caused.
        let number: Int?
        let reason: String
    }

    package func add(_ actions: [PersonAction], reason: String?) {
        state.withLock { state in
            if let reason { state.ownActions[reason, default: []] += actions } else { state.actions += actions }
        }
    }

    package func forget(reason: String) { state.withLock { $0.ownActions[reason] = nil } }

    package var report: SimulatorReport {
        state.withLock { SimulatorReport(questions: $0.questions, remaining: $0.actions) }
    }

    // MARK: the person's side

    func begin(_ question: SimulatedQuestion) -> Entry {
        state.withLock { state in
            guard state.ownActions[question.reason] == nil else { return Entry(number: nil, reason: question.reason) }
            state.questions.append(question)
            if state.questions.count > SimulatorReport.questionLimit {
                state.questions.removeFirst()
                state.firstNumber += 1
            }
            return Entry(number: state.firstNumber + state.questions.count - 1, reason: question.reason)
        }
    }

    /// The next action for the question; nil when there is none.
    func next(for entry: Entry) -> PersonAction? {
        state.withLock { state in
            guard entry.number == nil else {
                return state.actions.isEmpty ? nil : state.actions.removeFirst()
            }
            guard var actions = state.ownActions[entry.reason], !actions.isEmpty else { return nil }
            defer { state.ownActions[entry.reason] = actions }
            return actions.removeFirst()
        }
    }

    func note(_ text: String, in entry: Entry) { change(entry) { $0.readerTexts.append(text) } }

    func end(_ entry: Entry, as end: SimulatedQuestion.End) { change(entry) { $0.end = end } }

    private func change(_ entry: Entry, _ change: (inout SimulatedQuestion) -> Void) {
        guard let number = entry.number else { return }
        state.withLock { state in
            let index = number - state.firstNumber
            // One that was asked before so many others is forgotten.
            if state.questions.indices.contains(index) { change(&state.questions[index]) }
        }
    }
}

extension SimulatedQuestion {
    init(_ question: PromptQuestion, of program: String) {
        self.init(
            kind: Kind(question.kind), program: program, reason: question.reason?.string ?? "",
            operation: question.operation.string, objects: question.objects?.names.map(\.string) ?? [],
            offersFinger: question.sensors.contains { $0.kind == .finger },
            offersSecurityKey: question.sensors.contains { $0.kind == .securityKey }, notice: question.notice?.string,
            triesLeft: question.triesLeft, cancelTitle: question.cancelTitle?.string,
            fallbackTitle: question.fallbackTitle?.string)
    }
}

extension SimulatedQuestion.Kind {
    init(_ kind: PromptKind) {
        self =
            switch kind {
            case .enterPasscode: .passcode
            case .newPasscode: .newPasscode
            case .repeatPasscode: .repeatedPasscode
            case .applicationPassword: .applicationPassword
            case .newApplicationPassword: .newApplicationPassword
            case .repeatApplicationPassword: .repeatedApplicationPassword
            case .keyPIN, .newKeyPIN, .repeatKeyPIN: .keyPIN
            case .ownerPassword: .ownerPassword
            // Asked at the trusted place alone, which a simulated device has not.
            case .choice, .newSign: .choice
            case .confirmation: .confirmation
            case .sensor: .touch
            }
    }
}
