import Callers
import OstiaryMessages
import ProcessFacts
package import Prompting
package import PromptProtocol
package import Refusals
package import SecretMemory
import Synchronization

/// The number of the term that was chosen in the last question; 0 for once.
final class ChosenTerm: Sendable {
    private let number = Mutex(0)

    var value: Int { number.withLock { $0 } }

    func set(_ term: Int) { number.withLock { $0 = term } }
}

/// Puts one question and turns everything but an answer into a refusal.
package struct Questioning {
    package let prompter: any Prompter
    package let asking: Asking
    /// Whether each question is put at the trusted place or not at all.
    let isAtTrustedPlace: Bool
    /// Where the questions were put.
    let places = QuestionPlaces()
    /// For how long the person said that the answer counts.
    let chosenTerm = ChosenTerm()

    package init(prompter: any Prompter, asking: Asking, isAtTrustedPlace: Bool = false) {
        self.prompter = prompter
        self.asking = asking
        self.isAtTrustedPlace = isAtTrustedPlace
    }

    /// What is refused where there is no trusted place.
    package static let withoutTrustedPlace = Questioning.refusal(PromptUnavailability.placeRefused(.absent))

    /// What the person typed, for the factor that was asked for.
    package func secret(_ question: PromptQuestion) throws(Refusal) -> SecretBytes {
        switch try ask(question) {
        case .entered(let entered):
            guard let factor = question.kind.factor, let secret = entered.take(for: factor) else {
                throw Refusal(.internal, "The prompt answered for another factor.")
            }
            return secret
        case let outcome: throw refusal(of: outcome)
        }
    }

    /// Returns when the person confirmed the warning.
    package func confirmation(_ question: PromptQuestion) throws(Refusal) {
        switch try ask(question) {
        case .confirmed: return
        case let outcome: throw refusal(of: outcome)
        }
    }

    /// Puts a question and returns what it came to.
    ///
    /// - Parameters:
    ///   - sheet: the sheet in which the last answer to the same question was wrong; nil for a new question.
    ///   - onShown: called when the person can see it.
    package func ask(
        _ question: PromptQuestion, on sheet: HeldSheet? = nil,
        onShown: @escaping @Sendable (LiveQuestion) -> Void = { _ in }
    ) throws(Refusal) -> PromptOutcome {
        guard asking.question.isInteractionAllowed else { throw Refusal.notInteractive }
        return try asking.cancellation.endingQuestion { cancellation throws(Refusal) in
            let caller = try asking.caller.promptCaller(
                terminal: asking.terminal, label: asking.clientLabel)
            let live = LiveQuestion(
                endedBy: cancellation, on: sheet, onShown: onShown, onPlaced: { [places] in places.note($0) })
            let outcome = prompter.ask(isAtTrustedPlace ? question.atTrustedPlace : question, on: caller, live: live)
            chosenTerm.set(live.chosenTerm)
            return outcome
        }
    }

    /// Why an outcome that is no answer to the question refuses the request.
    package func refusal(of outcome: consuming PromptOutcome) -> Refusal {
        switch outcome {
        case .cancelled: Refusal(.userCancel, "Cancelled; nothing was done.", cause: "prompt.cancelled")
        case .fallback:
            Refusal(.userFallback, "The person chose the program's other way.", cause: "prompt.fallback")
        case .timedOut: Refusal(.timedOut, "Nobody answered in time.", cause: "prompt.timed-out")
        case .interrupted(let interruption): Self.refusal(interruption, asking.cancellation)
        case .unavailable(let reason): Self.refusal(reason)
        case .entered: Self.unfitting
        case .confirmed: Self.unfitting
        }
    }

    private static let unfitting = Refusal(.internal, "The answer does not fit the question.")

    private static func refusal(_ interruption: PromptInterruption, _ cancellation: RequestCancellation) -> Refusal {
        do { try cancellation.check() } catch { return error }
        let what =
            switch interruption {
            case .background: "The prompt ended, because the program is no longer in its terminal's foreground."
            case .terminalGone: "The prompt ended, because its terminal is gone."
            case .switchedAway: "The prompt ended, because another console was switched to."
            case .clientGone, .lock, .superseded, .proved, .promptEnded: "The prompt ended without an answer."
            }
        return Refusal(.systemCancel, what, cause: "prompt.\(interruption)")
    }

    private static func advice(on refusal: TerminalRefusal) -> String {
        if refusal == .otherOwner {
            return "After `su` or `sudo -u` it still belongs to the user who logged in. Log in as yourself, for "
                + "example with ssh, or ask on the desktop; `ostiary doctor` says whether that is possible."
        }
        return "Run the program in the foreground of its terminal, or ask on the desktop; `ostiary doctor` says "
            + "whether that is possible."
    }

    static func refusal(_ reason: PromptUnavailability) -> Refusal {
        switch reason {
        case .notInteractive: Refusal.notInteractive
        case .otherUser:
            Refusal(.internal, "The question came to the prompter of another user.", cause: "prompt.other-user")
        case .terminalRefused(let refusal):
            Refusal(
                .notInteractive,
                "Nobody can be asked on the program's terminal: \(refusal.words). \(advice(on: refusal))",
                cause: "prompt.terminal-\(refusal)")
        case .sensorRefused(let refusal):
            Refusal(
                .notInteractive, "No sensor may be used for this program: \(refusal.words).",
                cause: "prompt.sensor-\(refusal)")
        case .dialogFailed:
            Refusal(
                .notInteractive, "The configured pinentry did not work; check ostiaryd.conf.", cause: "prompt.dialog")
        case .untrusted(let distrust):
            Refusal(
                .notInteractive,
                "The configured pinentry was not started, because another user could have replaced it: \(distrust). "
                    + "`ostiary doctor` says more.", cause: "prompt.untrusted")
        case .displayRefused(let refusal):
            Refusal(
                .notInteractive,
                "Nobody can be asked on the display: \(refusal.words). Run the program in a terminal, or see what "
                    + "`ostiary doctor` says about the display.", cause: "prompt.display-\(refusal)")
        case .placeRefused(let refusal):
            Refusal(
                .notInteractive,
                "Nobody can be asked at the trusted place: \(refusal.words). See `ostiary doctor`.",
                cause: "prompt.place-\(refusal.name)")
        case .promptFailed(let reason):
            Refusal(
                .notInteractive, "ostiary-prompt could not be started: \(reason). Run `ostiary doctor`.",
                cause: "prompt.failed")
        case .unshowable:
            Refusal(
                .notInteractive,
                "The question does not fit on the terminal or the dialog, so it was not asked; use a wider terminal.",
                cause: "prompt.unshowable")
        case .coolingDown(let remaining):
            Refusal(
                .cooldown,
                "Several questions of this program in a row got no answer; it may ask again in "
                    + "\(Refusal.readable(remaining)).", retryAfter: remaining, cause: "prompt.cooldown")
        case .tooManyWaiting:
            Refusal(.tooMany, "Too many questions are waiting already; try again later.", cause: "prompt.queue-full")
        }
    }
}
