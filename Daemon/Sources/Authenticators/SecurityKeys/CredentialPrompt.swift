package import AuthenticatorRequests
import Callers
package import Cancellations
import Dispatch
import Foundation
import OstiaryMessages
package import Prompting
package import PromptProtocol
package import Refusals
package import SecretMemory
import Synchronization
import Threading
import UnixSocket

/// The person's view of one creation or assertion, and its end when the person says no.
///
/// While an authenticator works, one question about the security key is visible, on a thread of its own. A PIN and a choice are
/// asked in questions of their own; the first one goes away for them.
package final class CredentialPrompt: CredentialQuestion {
    private struct State {
        /// The visible question about the key.
        var live: LiveQuestion?
        var isPut = false
        var isDismissed = false
        var text = DisplayText("")
        /// Whether the authenticator works, which the end of the question ends.
        var isBegun = false
        /// Why the person's answer, or the lack of one, ends it.
        var refusal: Refusal?
        /// The person agreed beforehand, in a dialog that cannot show the progress.
        var isAgreedBeforehand = false
    }

    private let questioning: Questioning
    private let objects: PromptObjects?
    private let operation: DisplayText
    private let signedData: PromptSignedData?
    package let stop = Cancellation()
    private let state = Mutex(State())
    private let thread = DispatchGroup()

    /// - Parameters:
    ///   - objects: the subject of the question: a relying party, or the objects that a security key opens.
    ///   - operation: the operation on it.
    ///   - signedData: the data that is signed; nil where it is not shown.
    package init(
        _ questioning: Questioning, about objects: PromptObjects?, operation: DisplayText,
        signedData: PromptSignedData? = nil
    ) {
        (self.questioning, self.objects, self.operation) = (questioning, objects, operation)
        self.signedData = signedData
        questioning.asking.cancellation.whenCancelled { [stop] in stop.cancel() }
    }

    /// Why it ended, where the program, the person or the prompt ended it.
    package var refusal: Refusal? {
        do throws(Refusal) { try questioning.asking.cancellation.check() } catch { return error }
        return state.withLock { $0.refusal }
    }

    // MARK: the question about the key

    /// Shows the question about the security key and returns when the person can see it. No key is spoken to before.
    ///
    /// - Throws: why it cannot be shown.
    package func begin() throws(Refusal) {
        let seen = DispatchSemaphore(value: 0)
        put(CredentialStep.working.text) { seen.signal() }
        questioning.asking.cancellation.signalling(seen) { seen.wait() }
        try questioning.asking.cancellation.check()
        let refusal = state.withLock { state in
            state.isBegun = true
            return state.refusal
        }
        guard let refusal else { return }
        guard refusal.cause == Refusal.notInteractive.cause else { throw refusal }
        try agreeBeforehand()
    }

    /// Begins without a question about the key: the person has touched it already, and the first question is for its PIN.
    package func beginWithPIN() { state.withLock { $0.isBegun = true } }

    /// Asks in a dialog that can show a question and nothing else. The person agrees, and touches the key afterwards.
    private func agreeBeforehand() throws(Refusal) {
        let process = questioning.asking.caller.credentials
        if let refusal = questioning.prompter.sensorRefusal(ofProcess: process.processID, of: process.userID) {
            throw questioning.refusal(of: .unavailable(.sensorRefused(refusal)))
        }
        let warning = DisplayText("After that, insert your security key if needed, and touch it when it blinks.")
        try questioning.confirmation(question(.confirmation(warning: warning), isUnproved: true))
        state.withLock { ($0.refusal, $0.isAgreedBeforehand) = (nil, true) }
    }

    package func show(_ step: CredentialStep) {
        let text = step.text
        let (live, isPut, isAgreed) = state.withLock { state in
            state.text = text
            return (state.live, state.isPut, state.isAgreedBeforehand)
        }
        if let live { return live.update(PromptUpdate(sensor: 0, text: text)) }
        guard !isPut, !isAgreed, step != .working else { return }
        put(text) {}
    }

    /// - Parameter settled: called once, when the question is visible or has ended.
    private func put(_ text: DisplayText, _ settled: @escaping @Sendable () -> Void) {
        let isFree = state.withLock { state in
            guard !state.isPut, state.refusal == nil else { return false }
            (state.isPut, state.isDismissed, state.text) = (true, false, text)
            return true
        }
        guard isFree else { return settled() }
        let question = question(.sensor, sensors: [PromptSensor(.securityKey, text)])
        thread.enter()
        do throws(ThreadShortage) {
            try Threads.start("ostiary-credential") { [self] in
                defer { thread.leave() }
                do throws(Refusal) {
                    let outcome = try questioning.ask(question) { [self] live in
                        noteShown(live, text)
                        settled()
                    }
                    end(refusing: questioning.refusal(of: outcome))
                } catch { end(refusing: error) }
                settled()
            }
        } catch {
            thread.leave()
            end(refusing: .threadShortage)
            settled()
        }
    }

    private func noteShown(_ live: LiveQuestion, _ text: DisplayText) {
        let (present, isDismissed) = state.withLock { state in
            state.live = live
            return (state.text, state.isDismissed)
        }
        if isDismissed { return live.cancellation.cancel(because: .superseded) }
        if present != text { live.update(PromptUpdate(sensor: 0, text: present)) }
    }

    /// The question about the key has ended. If nobody took it away, that ends the authenticator's work.
    private func end(refusing refusal: Refusal) {
        let isOwnEnd = state.withLock { state in
            (state.live, state.isPut) = (nil, false)
            if !state.isDismissed, state.refusal == nil { state.refusal = refusal }
            return state.isDismissed || !state.isBegun
        }
        if !isOwnEnd { stop.cancel() }
    }

    /// Takes the question about the key away and waits until it is gone.
    ///
    /// - Parameter interruption: `proved` where the person did as the question asked, which counts as an answer.
    package func dismiss(because interruption: PromptInterruption = .superseded) {
        let live = state.withLock { state in
            state.isDismissed = true
            return state.live
        }
        live?.cancellation.cancel(because: interruption)
        thread.wait()
    }

    // MARK: typed answers

    package func pin(for device: String, triesLeft: Int?, isNew: Bool, wasWrong: Bool) throws -> SecretBytes {
        dismiss()
        var notice = wasWrong ? (isNew ? Self.refusedPIN : DisplayText("Wrong PIN.")) : nil
        for _ in 1...Self.repetitionCount {
            let entered = try secret(
                question(isNew ? .newKeyPIN : .keyPIN, device: device, notice: notice, triesLeft: triesLeft))
            guard isNew else { return entered }
            let repeated = try secret(question(.repeatKeyPIN, device: device))
            if entered.isEqual(to: repeated) { return entered }
            notice = DisplayText("The two entries differ. Type both again.")
        }
        throw CredentialRefusal.cancelled
    }

    private static let refusedPIN = DisplayText(
        "The security key does not take this PIN. Choose another, for example a longer one.")

    package func insists(onLastPINTryOf device: String) throws -> Bool {
        dismiss()
        let warning = DisplayText(
            "One try of the PIN is left for the security key “\(Self.shown(device))”. After a wrong one only a reset helps, "
                + "which erases the key.")
        do throws(Refusal) {
            try questioning.confirmation(question(.confirmation(warning: warning)))
            return true
        } catch {
            guard error.code != .userCancel else { return false }
            state.withLock { if $0.refusal == nil { $0.refusal = error } }
            throw CredentialRefusal.cancelled
        }
    }

    /// More accounts than a question lists come in several questions, one after the other. The last leads to the first again.
    package func choose(among accounts: [CredentialUser]) throws -> Int {
        guard accounts.count > 1 else { return 0 }
        let names = accounts.map(\.shownName)
        guard names.count > Self.optionCount else { return try choose(names) }
        var start = 0
        while true {
            let page = Array(names[start...].prefix(Self.optionCount - 1))
            // Names of accounts stand in quotation marks, so none looks like this.
            let others = DisplayText("Other accounts (\(names.count - page.count))")
            let index = try choose(page + [others])
            if index < page.count { return start + index }
            start += page.count
            if start == names.count { start = 0 }
        }
    }

    /// Lets the person choose one of several things.
    ///
    /// - Returns: an index.
    package func choose(_ options: [DisplayText]) throws -> Int {
        dismiss()
        var notice: DisplayText?
        for _ in 1...Self.repetitionCount {
            let typed = try secret(question(.choice(options), notice: notice))
            if let index = Self.index(typed, upTo: options.count) { return index }
            notice = DisplayText("Type a number from 1 to \(options.count).")
        }
        throw CredentialRefusal.cancelled
    }

    /// The options that a question lists: as many as a window, a terminal and the one line of a pinentry can show.
    private static let optionCount = 9
    /// Mistakes until it counts as a no.
    private static let repetitionCount = 3

    private static func index(_ typed: borrowing SecretBytes, upTo count: Int) -> Int? {
        guard typed.count == 1 else { return nil }
        let digit = unsafe typed.withUnsafeBytes { unsafe Int($0[0]) - Int(UInt8(ascii: "1")) }
        return (0..<count).contains(digit) ? digit : nil
    }

    private func secret(_ question: PromptQuestion) throws -> SecretBytes {
        do throws(Refusal) { return try questioning.secret(question) } catch {
            state.withLock { if $0.refusal == nil { $0.refusal = error } }
            throw CredentialRefusal.cancelled
        }
    }

    private func question(
        _ kind: PromptKind, sensors: [PromptSensor] = [], device: String? = nil, notice: DisplayText? = nil,
        triesLeft: Int? = nil, isUnproved: Bool = false
    ) -> PromptQuestion {
        let consequence = device.map { DisplayText("The PIN is for the security key “\(Self.shown($0))”.") }
        return PromptQuestion(
            kind, sensors: sensors, objects: objects, operation: operation, signedData: signedData,
            consequence: consequence, notice: notice, triesLeft: triesLeft, isShownInFull: true,
            isUnproved: isUnproved)
    }

    /// The name that a device gives itself, which can end no quotation.
    fileprivate static func shown(_ device: String) -> String {
        DisplayText(fact: device, maximumScalarCount: 60).string
    }
}

extension CredentialStep {
    /// The question's line about the key.
    var text: DisplayText {
        let words =
            switch self {
            case .insert: "Insert your security key."
            case .insertOrHold(isLying: false): "Insert your security key, or hold it at the reader."
            case .insertOrHold(isLying: true):
                "Insert your security key, or hold it at the reader. Lift it first if it lies there."
            case .waiting: "Another question uses your security key; this one comes after it."
            case .hold(let device): "Hold your security key at the reader “\(CredentialPrompt.shown(device))”."
            case .touch(nil): "Touch your security key."
            case .touch(let device?): "Touch the security key “\(CredentialPrompt.shown(device))”."
            case .verifyOnDevice(let device, let tries):
                "Touch the sensor of the security key “\(CredentialPrompt.shown(device))”."
                    + (tries.map { $0 == 1 ? " One try left." : " \($0) tries left." } ?? "")
            case .working: "Wait."
            }
        return DisplayText(words)
    }
}

extension CredentialUser {
    /// Its names, of which none can pass for two.
    package var shownName: DisplayText {
        let names = [name, displayName].compactMap(\.self).filter { !$0.isEmpty }
            .map { "“\(DisplayText(fact: $0, maximumScalarCount: 60).string)”" }
        return DisplayText(names.isEmpty ? "without a name" : names.joined(separator: ", called "))
    }
}
