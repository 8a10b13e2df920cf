package import AuthenticatorRequests
import Foundation
package import SecretMemory
import Synchronization

/// The person at a question, by a script.
package final class ScriptedQuestion: CredentialQuestion {
    package struct PINRequest: Equatable, Sendable {
        package var triesLeft: Int?
        package var isNew = false
        package var wasWrong = false

        package init(triesLeft: Int?, isNew: Bool = false, wasWrong: Bool = false) {
            (self.triesLeft, self.isNew, self.wasWrong) = (triesLeft, isNew, wasWrong)
        }
    }

    private struct State {
        var steps: [CredentialStep] = []
        var pinRequests: [PINRequest] = []
        var pins: [String]
        var accounts: [CredentialUser] = []
    }

    private let state: Mutex<State>
    private let account: Int?
    private let insists: Bool
    private let onStep: @Sendable (CredentialStep) -> Void
    private let onPIN: @Sendable () -> Void

    /// - Parameters:
    ///   - pins: the typed PINs, one after the other; then the person cancels.
    ///   - account: the chosen account; nil cancels.
    ///   - onStep: called with each step that is shown.
    ///   - onPIN: called when a PIN is asked for.
    package init(
        pins: [String] = [], account: Int? = nil, insists: Bool = false,
        onStep: @escaping @Sendable (CredentialStep) -> Void = { _ in }, onPIN: @escaping @Sendable () -> Void = {}
    ) {
        state = Mutex(State(pins: pins))
        self.account = account
        self.insists = insists
        self.onStep = onStep
        self.onPIN = onPIN
    }

    package var steps: [CredentialStep] { state.withLock { $0.steps } }
    package var pinRequests: [PINRequest] { state.withLock { $0.pinRequests } }
    package var accounts: [CredentialUser] { state.withLock { $0.accounts } }

    package func show(_ step: CredentialStep) {
        state.withLock { $0.steps.append(step) }
        onStep(step)
    }

    package func pin(for device: String, triesLeft: Int?, isNew: Bool, wasWrong: Bool) throws -> SecretBytes {
        onPIN()
        let pin = state.withLock { state in
            state.pinRequests.append(PINRequest(triesLeft: triesLeft, isNew: isNew, wasWrong: wasWrong))
            return state.pins.isEmpty ? nil : state.pins.removeFirst()
        }
        guard let pin else { throw CredentialRefusal.cancelled }
        return SecretBytes(Data(pin.utf8))
    }

    package func insists(onLastPINTryOf device: String) throws -> Bool { insists }

    package func choose(among accounts: [CredentialUser]) throws -> Int {
        state.withLock { $0.accounts = accounts }
        guard let account else { throw CredentialRefusal.cancelled }
        return account
    }
}
