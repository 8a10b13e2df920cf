import AccessControl
import AuthenticatorRequests
import Cancellations
import KeySlots
import OstiaryMessages
import OwnerKeys
import Prompting
import PromptProtocol
import Refusals
import SecretMemory
import SecurityKeys
import Synchronization

/// Waits for one of the owner's security keys in one evaluation.
final class SecurityKeyAttempt: SensingAttempt {
    let sensor = PromptSensor(.securityKey, DisplayText("Insert your security key and touch it."))
    private let authenticator: SecurityKeyAuthenticator
    private let record: SecurityKeyRecord
    private let state = Mutex(State())

    private struct State {
        var missCount = 0
        /// Where the key is that the person has touched and that needs its PIN.
        var port: SecurityKeyPort?
    }

    init(_ authenticator: SecurityKeyAuthenticator, _ record: SecurityKeyRecord) {
        (self.authenticator, self.record) = (authenticator, record)
    }

    // MARK: beside other sensors and a field

    func prove(
        until stop: Cancellation, reporting report: @escaping @Sendable (SensorReport) -> Void,
        _ proved: (Proof) throws -> Void
    ) throws {
        if let proof = try proof(until: stop, report) { try proved(proof) }
    }

    /// Nil when it was stopped.
    private func proof(
        until stop: Cancellation, _ report: @escaping @Sendable (SensorReport) -> Void
    ) throws -> Proof? {
        while true {
            do {
                let touch = try authenticator.keys.factorTouch(
                    of: authenticator.credentials(of: record), salts: authenticator.salts(for: record),
                    nonce: SecurityKeyAuthenticator.randomBytes(32), with: SensorLine(report: report), until: stop)
                guard !stop.isCancelled else { return nil }
                switch touch {
                case .output(let output): return try proof(of: output)
                case .needsPIN(let port):
                    state.withLock { $0.port = port }
                    throw SensorNeedsAnswer()
                }
            } catch CredentialRefusal.cancelled where stop.isCancelled { return nil } catch CredentialRefusal
                .noCredential
            {
                report(SensorReport(text: Self.unknownKey, isMiss: true))
                try noteMiss()
            } catch let refusal as CredentialRefusal { throw Refusal(ofFactor: refusal) }
        }
    }

    /// Keys that are not enrolled here, in one evaluation.
    private static let missLimit = 3
    private static let unknownKey = DisplayText("This security key is not enrolled here. Use an enrolled one.")

    private func noteMiss() throws {
        let count = state.withLock { state in
            state.missCount += 1
            return state.missCount
        }
        guard count < Self.missLimit else { throw Refusal(ofFactor: .noCredential) }
    }

    /// - Throws: ``CredentialRefusal/noCredential`` for a key that is enrolled no more.
    private func proof(of output: FactorOutput) throws -> Proof {
        // The owner may have removed the key since the question was put; its old wraps would still open.
        guard try authenticator.record().keys.contains(where: { $0.credential == output.identifier }) else {
            throw CredentialRefusal.noCredential
        }
        let used = try authenticator.opened(by: output, of: record)
        var proof = Proof(
            factor: .securityKey, strength: used.key.isVerified ? authenticator.strength : .touchOnly,
            half: used.halves.last, sensor: .securityKey)
        proof.formerHalves = used.halves.dropLast()
        return proof
    }

    // MARK: alone, with a PIN

    func proof(
        _ questioning: Questioning, after question: PromptQuestion, onMiss: @escaping @Sendable () -> Void
    ) throws -> Proof {
        let prompt = CredentialPrompt(questioning, about: question.objects, operation: question.operation)
        prompt.beginWithPIN()
        defer { prompt.dismiss() }
        do {
            let output = try authenticator.keys.factorOutput(
                of: authenticator.credentials(of: record), salts: authenticator.salts(for: record),
                nonce: SecurityKeyAuthenticator.randomBytes(32), on: state.withLock { $0.port },
                with: PINQuestion(prompt: prompt, onMiss: onMiss), until: prompt.stop)
            prompt.dismiss(because: .proved)
            return try proof(of: output)
        } catch let refusal as CredentialRefusal {
            // An end by the person or the program is final. A refusal of the key leaves the other factors.
            if let ended = prompt.refusal { throw ended }
            throw SensorFailure(Refusal(ofFactor: refusal))
        }
    }
}

/// The line of the question that belongs to the key. A PIN has no place in it.
private struct SensorLine: CredentialQuestion {
    let report: @Sendable (SensorReport) -> Void

    func show(_ step: CredentialStep) {
        let text = step == .insert ? DisplayText("Insert your security key and touch it.") : step.text
        report(SensorReport(text: text))
    }

    func pin(for device: String, triesLeft: Int?, isNew: Bool, wasWrong: Bool) throws -> SecretBytes {
        throw CredentialRefusal.unsupported(what: "PIN")
    }

    func choose(among accounts: [CredentialUser]) throws -> Int { throw CredentialRefusal.malformedAnswer }
}

/// Asks for the PIN, and tells of wrong ones.
private struct PINQuestion: CredentialQuestion {
    let prompt: CredentialPrompt
    let onMiss: @Sendable () -> Void

    func show(_ step: CredentialStep) { prompt.show(step) }

    func pin(for device: String, triesLeft: Int?, isNew: Bool, wasWrong: Bool) throws -> SecretBytes {
        if wasWrong { onMiss() }
        return try prompt.pin(for: device, triesLeft: triesLeft, isNew: isNew, wasWrong: wasWrong)
    }

    func insists(onLastPINTryOf device: String) throws -> Bool { try prompt.insists(onLastPINTryOf: device) }

    func choose(among accounts: [CredentialUser]) throws -> Int { throw CredentialRefusal.malformedAnswer }
}
