import AccessControl
import CLocalAuthentication
import Cancellations
import Foundation
import OstiaryClient
import OstiaryMessages
import SecretMemory
import Security
import Synchronization

/// The inside of an ``LAContext``: its settings, the evaluations under way, and the session that holds the proofs.
final class PolicyEvaluator: Sendable {
    typealias Reply = @Sendable (Bool, (any Error)?) -> Void

    /// The settings that a program makes on a context before it evaluates.
    struct Settings: Sendable {
        var fallbackTitle: String?
        var cancelTitle: String?
        var reason = ""
        var interactionNotAllowed = false
        var reuseDuration: TimeInterval = 0

        func interaction(reason: String) -> Interaction {
            Interaction(
                reason: reason, isAllowed: !interactionNotAllowed, cancelTitle: cancelTitle ?? "",
                fallbackTitle: fallbackTitle ?? "", hidesFallback: fallbackTitle == "",
                reuseSeconds: min(reuseDuration, LATouchIDAuthenticationMaximumAllowableReuseDuration))
        }
    }

    private struct Evaluation {
        let reply: Reply
        let cancellation = Cancellation()
    }

    private struct Contents {
        var settings = Settings()
        var isInvalidated = false
        var running: [Int: Evaluation] = [:]
        var lastEvaluation = 0
        var hasSmartCardPIN = false
        var domainState: Data?
    }

    private let service: any AuthorizationService
    private let session: any AuthorizationSession
    private let contents = Mutex(Contents())

    init(service: any AuthorizationService) {
        self.service = service
        session = service.makeSession(keepsFactors: true)
    }

    /// Reads or changes one of the settings.
    subscript<Value: Sendable>(setting: WritableKeyPath<Settings, Value>) -> Value {
        get { contents.withLock { $0.settings[keyPath: setting] } }
        set { contents.withLock { $0.settings[keyPath: setting] = newValue } }
    }

    // MARK: evaluating

    /// Throws why `policy` cannot be evaluated now, and learns on the way what sensor there is. Blocks; never prompts.
    func preflight(policy: Int) throws {
        guard !isInvalidated else { throw Self.invalidContext }
        let environment = BiometrySensor.look(through: service)
        try service.preflight(policy: policy)
        noteBiometry(environment?.biometry, for: policy)
    }

    /// The digests of now. Blocks.
    var domainState: LADomainState { LADomainState(BiometrySensor.look(through: service)) }

    /// The digest of biometry when a policy that accepts it was last found possible or satisfied.
    var evaluatedDomainState: Data? { contents.withLock { $0.domainState } }

    /// Remembers the sensor and the digest of a policy that accepts biometry. Others may not have looked for a sensor.
    private func noteBiometry(_ biometry: WireBiometry?, for policy: Int) {
        guard Self.biometricPolicies.contains(policy) else { return }
        BiometrySensor.note(biometry)
        let digest = LADomainStateBiometry(biometry).stateHash
        contents.withLock { contents in
            if !contents.isInvalidated { contents.domainState = digest }
        }
    }

    private static let biometricPolicies = [
        LAPolicy.deviceOwnerAuthenticationWithBiometrics, .deviceOwnerAuthentication,
        .deviceOwnerAuthenticationWithBiometricsOrCompanion,
    ].map(\.rawValue)

    /// Evaluates a policy, on another thread. `reply` is called there.
    func evaluate(policy: Int, reason: String, reply: @escaping Reply) {
        evaluate(reason: reason, reply: reply) { [self] interaction, cancellation in
            let grant = try session.evaluate(policy: policy, interaction: interaction, cancellation: cancellation)
            noteBiometry(grant.biometry, for: policy)
        }
    }

    /// Proves the factors that an access control needs for an operation, on another thread. `reply` is called there.
    func evaluate(
        _ accessControl: AccessControl, for operation: AccessControl.Operation, reason: String, reply: @escaping Reply
    ) {
        evaluate(reason: reason, reply: reply) { [session] interaction, cancellation in
            try session.evaluate(accessControl, for: operation, interaction: interaction, cancellation: cancellation)
        }
    }

    /// Replies that there is nothing to evaluate.
    func refuse(_ error: any Error, reply: @escaping Reply) {
        BlockingCalls.start { reply(false, ErrorTranslation.authenticationError(for: error)) }
    }

    /// Carries out an evaluation; `ask` makes the request.
    private func evaluate(
        reason: String, reply: @escaping Reply, _ ask: @escaping @Sendable (Interaction, Cancellation) throws -> Void
    ) {
        switch begin(reason, reply) {
        case .failure(let refusal): BlockingCalls.start { reply(false, refusal) }
        case .success(let (number, interaction, cancellation)):
            CallerCancellation.current?.onCancel { [weak self] in self?.cancel(number) }
            BlockingCalls.startPrompting { [self] in
                do {
                    try ask(interaction, cancellation)
                    finish(number, nil)
                } catch { finish(number, ErrorTranslation.authenticationError(for: error)) }
            }
        }
    }

    private func begin(_ reason: String, _ reply: @escaping Reply) -> Result<(Int, Interaction, Cancellation), LAError>
    {
        contents.withLock { contents in
            guard !contents.isInvalidated else { return .failure(Self.invalidContext) }
            guard !reason.isEmpty else { return .failure(ErrorTranslation.emptyReason) }
            let evaluation = Evaluation(reply: reply)
            contents.lastEvaluation += 1
            contents.running[contents.lastEvaluation] = evaluation
            return .success(
                (contents.lastEvaluation, contents.settings.interaction(reason: reason), evaluation.cancellation))
        }
    }

    /// Replies, unless that was done when the evaluation was given up: a grant that comes after that does not count.
    private func finish(_ number: Int, _ error: LAError?) {
        let evaluation = contents.withLock { $0.running.removeValue(forKey: number) }
        evaluation?.reply(error == nil, error)
    }

    private func cancel(_ number: Int) {
        guard let evaluation = contents.withLock({ $0.running.removeValue(forKey: number) }) else { return }
        evaluation.cancellation.cancel()
        BlockingCalls.start { evaluation.reply(false, ErrorTranslation.cancelled) }
    }

    // MARK: the end

    /// Ends every evaluation with `appCancel`, wipes the proofs and resets the settings. Does not wait.
    func invalidate() {
        let running = contents.withLock { contents in
            let running = contents.running.values
            let last = contents.lastEvaluation
            contents = Contents(isInvalidated: true, lastEvaluation: last)
            return Array(running)
        }
        for evaluation in running { evaluation.cancellation.cancel() }
        session.invalidate()
        guard !running.isEmpty else { return }
        BlockingCalls.start { for evaluation in running { evaluation.reply(false, ErrorTranslation.cancelled) } }
    }

    // MARK: for the keychain

    /// The session and the settings of now, for an item or key that is used under this context.
    func authentication() throws -> ContextAuthentication {
        let settings = try contents.withLock { contents in
            guard !contents.isInvalidated else {
                throw OstiaryError(
                    .init(.unknownContext), "The context was invalidated; make a new one.", cause: "context.invalidated"
                )
            }
            return contents.settings
        }
        return ContextAuthentication(
            context: session.daemonContext, interaction: settings.interaction(reason: settings.reason))
    }

    private var isInvalidated: Bool { contents.withLock { $0.isInvalidated } }

    // MARK: credentials

    /// Gives the session a credential, or takes it away; false for an empty one and when the daemon refuses. Blocks.
    func setCredential(_ credential: Data?, type: Int) -> Bool {
        guard !isInvalidated, credential?.isEmpty != true else { return false }
        if type == LACredentialType.smartCardPIN.rawValue { return noteSmartCardPIN(credential != nil) }
        do {
            switch credential {
            case .some(let bytes): try session.setCredential(SecretBytes(sending: bytes), type: type)
            case .none: try session.setCredential(nil, type: type)
            }
            return true
        } catch { return false }  // Apple's call has no error; a refused credential is not set.
    }

    /// No rule asks for a smart card, so nothing would use its PIN. The context remembers that one was set; the PIN itself is
    /// kept nowhere.
    private func noteSmartCardPIN(_ isSet: Bool) -> Bool {
        contents.withLock { contents in
            guard !contents.isInvalidated else { return false }
            contents.hasSmartCardPIN = isSet
            return true
        }
    }

    /// Whether the session holds a credential. Blocks.
    func isCredentialSet(type: Int) -> Bool {
        guard !isInvalidated else { return false }
        if type == LACredentialType.smartCardPIN.rawValue { return contents.withLock { $0.hasSmartCardPIN } }
        do { return try session.isCredentialSet(type: type) } catch { return false }  // As above.
    }

    // MARK: refusals

    private static var invalidContext: LAError {
        ErrorTranslation.refusal(
            .invalidContext, cause: "context.invalidated", "The context was invalidated; make a new one.")
    }
}
