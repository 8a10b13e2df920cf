import ExactNames
import FingerprintReader
import Foundation
package import Prompting
package import PromptProtocol
import SecretMemory
import SimulatorMessages
import Synchronization

/// The person whom the simulator's daemon asks: does what the script says, as long as the question is visible.
///
/// A question that the script does not answer ends at once, and the reason is written to standard error.
package final class SimulatedPerson: PlacingPrompter {
    private let script: PersonScript
    private let reader: SimulatedReader
    private let securityKey: SimulatedSecurityKey
    private let clock: ManualClock
    private let timeLimit: Duration
    private let readerChanged: @Sendable () -> Void

    /// - Parameters:
    ///   - timeLimit: how long a question stays.
    ///   - readerChanged: called after the person unplugged the reader.
    package init(
        _ script: PersonScript, reader: SimulatedReader, securityKey: SimulatedSecurityKey, clock: ManualClock,
        timeLimit: Duration,
        readerChanged: @escaping @Sendable () -> Void
    ) {
        self.script = script
        self.reader = reader
        self.securityKey = securityKey
        self.clock = clock
        self.timeLimit = timeLimit
        self.readerChanged = readerChanged
    }

    package func place(
        _ question: PromptQuestion, for caller: PromptCaller
    ) -> Result<PlacedQuestion, PromptUnavailability> {
        let program = caller.program.text
        return .success(
            PlacedQuestion(at: .dialog(of: caller.owner)) { [self] live in answer(question, of: program, live) })
    }

    // MARK: one question

    private func answer(_ question: PromptQuestion, of program: String, _ live: LiveQuestion) -> PromptOutcome {
        let asked = SimulatedQuestion(question, of: program)
        let entry = script.begin(asked)
        let hasGivenUp = Flag()
        let end = live.showingUpdates(with: { [script, reader] update in
            script.note(update.text.string, in: entry)
            // The daemon's wait holds the reader while it takes part. A message without the reader is its last.
            if !reader.isClaimed { hasGivenUp.raise() }
        }) {
            live.noteShown()
            return play(asked, entry, live, hasGivenUp)
        }
        script.end(entry, as: end.reported)
        if case .unscripted(let why) = end { complain(of: asked, why) }
        return end.outcome(of: question)
    }

    fileprivate enum PlayedEnd {
        case entered(String)
        case confirmed
        case cancelled
        case fallback
        case timedOut
        case interrupted(PromptInterruption)
        case unscripted(String)
    }

    private func play(
        _ question: SimulatedQuestion, _ entry: PersonScript.Entry, _ live: LiveQuestion, _ hasGivenUp: Flag
    ) -> PlayedEnd {
        var visible = Duration.zero
        var done: [PersonAction] = []
        while true {
            if let interruption = live.cancellation.interruption { return .interrupted(interruption) }
            guard let action = script.next(for: entry) else { return .unscripted(Self.words(after: done)) }
            switch action {
            case .enters(let text) where question.kind.isTyped: return .entered(text)
            case .confirms where question.kind == .confirmation: return .confirmed
            case .cancels: return .cancelled
            case .choosesFallback where question.fallbackTitle != nil: return .fallback
            case .waits(let duration):
                let left = timeLimit - visible
                let waited = min(duration ?? left, left)
                clock.advance(by: waited)
                visible += waited
                if visible >= timeLimit { return end(.timedOut, unlessTakenAway: live) }
            case .unplugsReader:
                if question.offersFinger { _ = waitForReader(live, hasGivenUp) }
                reader.connect(false)
                readerChanged()
                if question.offersFinger { _ = wait(live) { hasGivenUp.isRaised } }
            case .touches(let finger) where question.offersFinger:
                if let failure = touch(finger, live, hasGivenUp) { return .unscripted(failure) }
            case .touchesSecurityKey where question.offersSecurityKey:
                guard wait(live, until: { [securityKey] in securityKey.isWaiting }) else {
                    return .unscripted("The security key did not wait for a touch in time.")
                }
                if live.cancellation.interruption == nil { securityKey.touch() }
                _ = wait(live) { false }
            case .enters, .confirms, .choosesFallback, .touches, .touchesSecurityKey:
                return .unscripted("The script says that the person \(action), which does not fit the question.")
            }
            done.append(action)
        }
    }

    private static func words(after done: [PersonAction]) -> String {
        guard !done.isEmpty else { return "The script says nothing." }
        let actions = done.map(\.description).joined(separator: ", ")
        return "The script ends while the question is visible, after: \(actions)."
    }

    private func end(_ end: PlayedEnd, unlessTakenAway live: LiveQuestion) -> PlayedEnd {
        live.cancellation.interruption.map { .interrupted($0) } ?? end
    }

    // MARK: the reader

    /// Touches the reader when it waits, and returns when the touch has had its effect; else, why it has none.
    private func touch(_ finger: SimulatedFinger?, _ live: LiveQuestion, _ hasGivenUp: Flag) -> String? {
        guard waitForReader(live, hasGivenUp) else { return "The reader was not armed in time." }
        guard live.cancellation.interruption == nil else { return nil }
        let count = reader.arming.count
        guard reader.touch(finger.flatMap { Finger(rawValue: $0.rawValue) }) else {
            return "The script says that the person touches the reader, which waits for no finger any more."
        }
        let hasReacted = wait(live) { [reader] in reader.arming.count > count || hasGivenUp.isRaised }
        return hasReacted ? nil : "The daemon did not react to the touch in time."
    }

    /// Waits until the reader waits for a touch, or will not any more.
    private func waitForReader(_ live: LiveQuestion, _ hasGivenUp: Flag) -> Bool {
        wait(live) { [reader] in reader.arming.isArmed || hasGivenUp.isRaised }
    }

    /// How long a reaction may take that needs no person: a write to the disk on a busy machine.
    private static let patience: Duration = .seconds(60)

    /// Waits until something is so, or the question is taken away; false when neither came.
    private func wait(_ live: LiveQuestion, until condition: () -> Bool) -> Bool {
        let deadline = ContinuousClock.now.advanced(by: Self.patience)
        while ContinuousClock.now < deadline {
            if condition() || live.cancellation.wait(milliseconds: 1) != nil { return true }
        }
        return false
    }

    private func complain(of question: SimulatedQuestion, _ why: String) {
        let text = "ostiary-simulator: nobody answers the question for \(question). \(why)\n"
        // The report has it too.
        try? FileHandle.standardError.write(contentsOf: Data(text.utf8))
    }
}

extension SimulatedPerson.PlayedEnd {
    fileprivate var reported: SimulatedQuestion.End {
        switch self {
        case .entered: .entered
        case .confirmed: .confirmed
        case .cancelled: .cancelled
        case .fallback: .fallback
        case .timedOut: .timedOut
        case .interrupted(.proved): .recognized
        case .interrupted: .takenAway
        case .unscripted: .unscripted
        }
    }

    fileprivate func outcome(of question: PromptQuestion) -> PromptOutcome {
        switch self {
        case .entered(let text):
            guard let factor = question.kind.factor else { return .cancelled }
            return .entered(EnteredSecret(Self.secret(text), for: factor))
        case .confirmed: return .confirmed
        case .cancelled: return .cancelled
        case .fallback: return .fallback
        case .timedOut: return .timedOut
        case .interrupted(let interruption): return .interrupted(by: interruption)
        case .unscripted: return .unavailable(.notInteractive)
        }
    }

    /// A copy of a text that is no secret in a test.
    private static func secret(_ text: String) -> SecretBytes {
        var bytes = SecretBytes(zeroed: text.utf8.count)
        unsafe bytes.withUnsafeMutableBytes { unsafe $0.copyBytes(from: text.utf8) }
        return bytes
    }
}

extension SimulatedQuestion.Kind {
    fileprivate var isTyped: Bool { self != .confirmation && self != .touch }
}

/// Something that has happened.
private final class Flag: Sendable {
    private let state = Mutex(false)
    var isRaised: Bool { state.withLock { $0 } }
    func raise() { state.withLock { $0 = true } }
}
