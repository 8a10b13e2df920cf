import Authenticators
import Cancellations
import Glibc
import ProcessFacts
import Prompting
import PromptProtocol
import SecretMemory
import UnixSocket

/// Puts the questions of one sign-in: on the terminal that the module passed, where all factors are asked for at once, or else in the
/// conversation of the program that runs the module.
final class ConversationPrompter: Prompter {
    /// The user who is asked, and the process that asks.
    struct Subject: Sendable {
        let userID: UInt32
        let processID: Int32
        /// Nil when it has ended.
        let process: (any HeldProcess)?
        let isAdministrator: Bool
        /// Whether the process is a service of the machine, and no program that a user runs.
        let isOfMachine: Bool
    }

    private let dialog: SignInDialog
    private let query: SignInQuery
    private let subject: Subject
    /// Asks on the terminal.
    private let prompter: any Prompter
    private let seat: SignInSeat
    private let mayWait: @Sendable (PromptSensor) -> Bool
    private let mayType, mayTry: @Sendable () -> Bool

    /// - Parameters:
    ///   - mayWait: whether a sensor may wait beside the program's conversation.
    ///   - mayType: called before each question with a field. False refuses it.
    ///   - mayTry: called with each answer that was typed. False drops it unchecked.
    init(
        _ dialog: SignInDialog, for query: SignInQuery, _ subject: Subject, prompter: any Prompter, seat: SignInSeat,
        mayWait: @escaping @Sendable (PromptSensor) -> Bool, mayType: @escaping @Sendable () -> Bool,
        mayTry: @escaping @Sendable () -> Bool
    ) {
        (self.dialog, self.query, self.subject) = (dialog, query, subject)
        (self.prompter, self.seat) = (prompter, seat)
        (self.mayWait, self.mayType, self.mayTry) = (mayWait, mayType, mayTry)
    }

    func sensorRefusal(ofProcess processID: Int32, of userID: UInt32) -> SensorRefusal? {
        if query.isRemote { return .remote }
        return seat.refusal(
            usually: prompter.sensorRefusal(ofProcess: subject.processID, of: subject.userID),
            processID: subject.processID, subject.process, isAdministrator: subject.isAdministrator)
    }

    func ask(_ question: PromptQuestion, on caller: PromptCaller, live: LiveQuestion) -> PromptOutcome {
        if question.kind.isTyped, !mayType() { return .unavailable(.notInteractive) }
        let outcome = put(question, caller, live)
        switch consume outcome {
        case .entered(let secret):
            guard mayTry() else { return .unavailable(.notInteractive) }
            return .entered(secret)
        case let outcome: return outcome
        }
    }

    private func put(_ question: PromptQuestion, _ caller: PromptCaller, _ live: LiveQuestion) -> PromptOutcome {
        guard caller.terminal != nil, !query.isRemote else { return converse(question, live) }
        let outcome = prompter.ask(question, on: caller.asking(subject), live: live)
        guard Self.foundNoPlace(outcome), query.mayAsk else { return outcome }
        return converse(question, live)
    }

    /// Whether the question could not be put on the terminal. A pause is no reason to ask elsewhere.
    private static func foundNoPlace(_ outcome: borrowing PromptOutcome) -> Bool {
        switch outcome {
        case .unavailable(let reason): return isMissingPlace(reason)
        default: return false
        }
    }

    private static func isMissingPlace(_ reason: PromptUnavailability) -> Bool {
        switch reason {
        case .terminalRefused, .notInteractive, .displayRefused, .dialogFailed, .untrusted, .promptFailed, .unshowable,
            .sensorRefused, .placeRefused:
            true
        case .otherUser, .coolingDown, .tooManyWaiting: false
        }
    }

    // MARK: the conversation

    private func converse(_ question: PromptQuestion, _ live: LiveQuestion) -> PromptOutcome {
        var refusal = question.sensors.isEmpty ? nil : sensorRefusal(ofProcess: subject.processID, of: subject.userID)
        var sensors = refusal == nil ? Array(question.sensors.indices) : []
        if !sensors.isEmpty {
            sensors.removeAll { !mayWait(question.sensors[$0]) }
            if sensors.isEmpty { refusal = .terminalForbidden }
        }
        let field = query.mayAsk ? Self.words(for: question.kind) : nil
        // A sensor waits only while the person is told of it.
        guard field != nil || !(sensors.isEmpty || query.isSilent) else {
            return .unavailable(refusal.map(PromptUnavailability.sensorRefused) ?? .notInteractive)
        }
        if let notice = question.notice { dialog.complain(notice.string) }
        if let consequence = question.missConsequence { dialog.tell(consequence.string) }
        let lines = sensors.map { question.sensors[$0].text.string }
        guard let field else {
            for line in lines { dialog.tell(line) }
            return wait(for: nil, question, sensors, live)
        }
        let text = lines.isEmpty ? "\(field.first): " : "\(lines.joined(separator: " ")) \(field.other): "
        guard let answered = dialog.ask(text) else {
            // The person still has the question before this one.
            return .unavailable(.notInteractive)
        }
        return wait(for: answered, question, sensors, live)
    }

    /// The words of a field: as the only way, and beside sensors. Nil for what no conversation asks.
    private static func words(for kind: PromptKind) -> (first: String, other: String)? {
        switch kind {
        case .enterPasscode: return ("Passcode", "Or type your passcode")
        case .keyPIN: return ("PIN of the security key", "Or type the PIN of the security key")
        default: return nil
        }
    }

    /// - Parameter answered: readable when the person has typed; nil when they cannot.
    private func wait(
        for answered: PollableCancellation?, _ question: PromptQuestion, _ sensors: [Int], _ live: LiveQuestion
    ) -> PromptOutcome {
        live.showingUpdates(with: { [dialog] in dialog.update($0.text.string) }) {
            live.noteShown(sensors: sensors)
            let deadline = ContinuousClock.now.advanced(by: SignInLimits.question)
            while ContinuousClock.now < deadline {
                var polled = [live.cancellation.descriptor, answered?.descriptor ?? -1].map {
                    pollfd(fd: $0, events: Int16(POLLIN), revents: 0)
                }
                // The dialog lets go of it with the answer. Its descriptor must be open while this thread waits for it.
                let count = withExtendedLifetime(answered) { unsafe poll(&polled, nfds_t(polled.count), 1_000) }
                guard count > 0 else { continue }
                // An answer does not count if the question was taken away meanwhile.
                if let interruption = live.cancellation.interruption { return .interrupted(by: interruption) }
                if polled[1].revents != 0 { return outcome(of: dialog.takeReply(), to: question) }
            }
            return .timedOut
        }
    }

    private func outcome(of reply: SignInDialog.Reply?, to question: PromptQuestion) -> PromptOutcome {
        switch reply {
        case .typed(let credential):
            // More than any passcode has.
            guard let factor = question.kind.factor, credential.bytes.count <= PromptLimits.secretByteCount else {
                return .cancelled
            }
            return .entered(EnteredSecret(SecretBytes(copying: credential.bytes), for: factor))
        case .cancelled, nil: return .cancelled
        }
    }
}

extension PromptCaller {
    /// The same process, which asks another user than its own: root's programs ask the person.
    fileprivate func asking(_ subject: ConversationPrompter.Subject) -> PromptCaller {
        PromptCaller(
            processID: processID, process: process, userID: subject.userID, owner: owner, program: program,
            application: application, door: door, terminal: terminal, terminalType: terminalType,
            needsLoginForSensors: !subject.isOfMachine)
    }
}
