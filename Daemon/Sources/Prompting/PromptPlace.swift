public import ExactNames
public import PromptProtocol

/// Where a person sees a question. One place shows one question at a time.
public enum PromptPlace: Hashable, Sendable {
    /// The terminal with this number, in the numbering of TIOCGDEV; one place for all users who are asked there.
    case terminal(UInt32)
    /// The desktop of an owner: one dialog at a time, so that none hides another. Nil for a question of the daemon itself.
    case dialog(of: OwnerID?)
    /// The console of Ostiary's own; one place for all owners.
    case trusted
}

/// A question and its chosen place.
public struct PlacedQuestion: Sendable {
    public let place: PromptPlace
    private let put: @Sendable (LiveQuestion) -> PromptOutcome

    /// - Parameter put: asks the question at `place`, and blocks until there is an outcome.
    public init(at place: PromptPlace, _ put: @escaping @Sendable (LiveQuestion) -> PromptOutcome) {
        self.place = place
        self.put = put
    }

    /// Asks the question, and blocks until there is an outcome.
    public func ask(_ live: LiveQuestion) -> PromptOutcome {
        live.notePlaced(at: place)
        return put(live)
    }
}

/// A prompter that chooses the place of a question before it asks.
public protocol PlacingPrompter: Prompter {
    /// Chooses the place where `question` can be asked now, or says why there is none. Shows nothing.
    func place(_ question: PromptQuestion, for caller: PromptCaller) -> Result<PlacedQuestion, PromptUnavailability>
}

extension PlacingPrompter {
    public func ask(_ question: PromptQuestion, on caller: PromptCaller, live: LiveQuestion) -> PromptOutcome {
        if let interruption = live.cancellation.interruption { return .interrupted(by: interruption) }
        switch place(question, for: caller) {
        case .success(let placed): return placed.ask(live)
        case .failure(let unavailability): return .unavailable(unavailability)
        }
    }
}
