import Prompting
import Synchronization

/// Where a person gave a proof, as far as rules ask for it.
package enum ProofPlace: Equatable, Sendable {
    /// On a terminal, in a window, or without a question.
    case anywhere
    /// On the console of Ostiary's own, in answer to a question there.
    case trusted
}

/// The places where the questions for one proof were put.
package final class QuestionPlaces: Sendable {
    private struct State {
        var wasTrusted = false
        var wasElsewhere = false
    }

    private let state = Mutex(State())

    package init() {}

    func note(_ place: PromptPlace) {
        state.withLock { state in
            if place == .trusted { state.wasTrusted = true } else { state.wasElsewhere = true }
        }
    }

    /// Trusted only if each question was put there, and there was one.
    package var proofPlace: ProofPlace {
        state.withLock { $0.wasTrusted && !$0.wasElsewhere ? .trusted : .anywhere }
    }
}
