public import CLocalAuthentication
public import Foundation
public import Security

/// The longest time for which an earlier biometric proof can stand in for an evaluation, 300 seconds (Apple's
/// `LATouchIDAuthenticationMaximumAllowableReuseDuration`). Only proofs that Ostiary took count: unlocking the machine is none.
public let LATouchIDAuthenticationMaximumAllowableReuseDuration: TimeInterval = 300

/// A question to the owner of the machine, and the proofs from its answer (Apple's `LAContext`).
///
/// ```swift
/// let context = LAContext()
/// try await context.evaluatePolicy(.deviceOwnerAuthentication, localizedReason: "show your recovery codes")
/// ```
///
/// The answer is a statement of the daemon. It reaches the program as a boolean, and somebody who controls the program
/// can ignore it. If that matters, use a saved right (``LARightStore``), whose key nobody can compute without the
/// person.
///
/// The daemon keeps each proof for ten minutes (`prompt.context-seconds` in `ostiaryd.conf`), and at most as long as the context
/// lives. A lock, another passcode and a change of the enrolled fingers end it sooner. The context lives until its evaluations have
/// replied. While a proof still counts, evaluating the context again succeeds without a prompt. Calls of different threads do
/// not disturb each other; replies come on threads of their own.
open class LAContext: NSObject {
    private let evaluator: PolicyEvaluator

    /// A context that has proved nothing.
    public override init() {
        evaluator = PolicyEvaluator(service: OstiaryService())
        super.init()
    }

    /// A context that asks a daemon of the caller's choice.
    package init(service: any AuthorizationService) {
        evaluator = PolicyEvaluator(service: service)
        super.init()
    }

    deinit { evaluator.invalidate() }

    // MARK: settings

    /// The words of the fallback; nil for the usual ones, empty for no fallback.
    open var localizedFallbackTitle: String? {
        get { evaluator[\.fallbackTitle] }
        set { evaluator[\.fallbackTitle] = newValue }
    }

    /// The words that replace "Cancel"; nil or empty for the usual ones.
    open var localizedCancelTitle: String? {
        get { evaluator[\.cancelTitle] }
        set { evaluator[\.cancelTitle] = newValue }
    }

    /// The reason shown where an operation asks that has none of its own, such as one of the keychain. The reason given
    /// to an evaluation wins.
    open var localizedReason: String {
        get { evaluator[\.reason] }
        set { evaluator[\.reason] = newValue }
    }

    /// Whether an evaluation that needs a prompt fails with ``LAError/notInteractive`` instead. That a policy cannot be
    /// evaluated at all is still said with its own error.
    open var interactionNotAllowed: Bool {
        get { evaluator[\.interactionNotAllowed] }
        set { evaluator[\.interactionNotAllowed] = newValue }
    }

    /// For how many seconds after biometry was proved to Ostiary an evaluation of a policy that accepts it asks nobody. The
    /// default 0 means that the daemon always asks. A value above
    /// ``LATouchIDAuthenticationMaximumAllowableReuseDuration`` is stored unchanged and means that maximum.
    ///
    /// Any biometric proof counts that the daemon took for this user, for any program. It ends with a lock, another
    /// passcode, a lockout of biometry, a change of the enrolled fingers and the daemon, and counts only while biometry could be
    /// proved. It answers policies alone: keys and items ask all the same.
    open var touchIDAuthenticationAllowableReuseDuration: TimeInterval {
        get { evaluator[\.reuseDuration] }
        set { evaluator[\.reuseDuration] = newValue }
    }

    /// Deprecated by Apple since iOS 9; setting it has no effect.
    open var maxBiometryFailures: NSNumber?

    // MARK: sensors and enrolment

    /// The kind of sensor: ``LABiometryType/none`` until any context of this process was asked
    /// ``canEvaluatePolicy(_:error:)``; its answer does not matter.
    open var biometryType: LABiometryType { BiometrySensor.type }

    /// Digests of the enrolled fingers and devices, as they are now. Blocks while it asks the daemon; no earlier call is
    /// needed.
    open var domainState: LADomainState { evaluator.domainState }

    /// The older form of ``domainState``, deprecated by Apple since iOS 18: the digest of the enrolled fingers when a policy that
    /// accepts biometry was last found possible or satisfied in this context. Nil before that, after ``invalidate()``, and when
    /// nothing is enrolled.
    open var evaluatedPolicyDomainState: Data? { evaluator.evaluatedDomainState }

    // MARK: evaluating

    /// Says whether `policy` could be evaluated now (Apple's `canEvaluatePolicy:error:`). Never prompts; blocks for a
    /// question to the daemon. The answer holds for the moment only.
    ///
    /// - Parameter error: gets why not, in ``LAErrorDomain``; nil when the answer is true.
    @discardableResult
    open func canEvaluatePolicy(_ policy: LAPolicy, error: NSErrorPointer) -> Bool {
        let refusal = Self.refusal { try evaluator.preflight(policy: policy.rawValue) }
        if let error = unsafe error { unsafe error.pointee = refusal?._nsError }
        return refusal == nil
    }

    private static func refusal(of preflight: () throws -> Void) -> LAError? {
        do {
            try preflight()
            return nil
        } catch { return ErrorTranslation.authenticationError(for: error) }
    }

    /// Asks the person what `policy` demands (Apple's `evaluatePolicy:localizedReason:reply:`). Does not block.
    ///
    /// - Parameters:
    ///   - localizedReason: why the app asks; shown in the prompt. When empty, the reply is
    ///     ``LAError/authenticationFailed``.
    ///   - reply: called once, on another thread: true and nil, or false and an ``LAError``. Invalidating the context
    ///     ends the evaluation with ``LAError/appCancel``. Until the reply was given the context lives, also when the
    ///     program mentions it nowhere else.
    @preconcurrency
    open func evaluatePolicy(
        _ policy: LAPolicy, localizedReason: String, reply: @escaping @Sendable (Bool, (any Error)?) -> Void
    ) {
        evaluator.evaluate(policy: policy.rawValue, reason: localizedReason, reply: keepingContext(reply))
    }

    /// Asks the person what `policy` demands; true, or an ``LAError`` is thrown. Cancelling the task ends the
    /// evaluation with ``LAError/appCancel``.
    ///
    /// As with Apple's class this calls the form with a reply, so that a subclass which overrides that changes both, and
    /// it runs where its caller runs, so that an actor can await a context that it holds.
    @discardableResult
    nonisolated(nonsending) open func evaluatePolicy(_ policy: LAPolicy, localizedReason: String) async throws -> Bool {
        try await CallerCancellation.forwarding { (continuation: CheckedContinuation<Bool, any Error>) in
            evaluatePolicy(policy, localizedReason: localizedReason) { success, error in
                continuation.resume(with: error.map(Result.failure) ?? .success(success))
            }
        }
    }

    /// Proves the factors that `accessControl` needs for `operation` (Apple's
    /// `evaluateAccessControl:operation:localizedReason:reply:`), so that protected objects can be used under this
    /// context without a prompt. Does not block.
    ///
    /// A proof counts until the context is invalidated, and for ten minutes at most (`prompt.context-seconds` in
    /// `ostiaryd.conf`). It ends sooner when the store is locked or the passcode is changed.
    ///
    /// - Parameters:
    ///   - localizedReason: why the app asks; shown in the prompt. When empty, the reply is
    ///     ``LAError/authenticationFailed``.
    ///   - reply: called once, on another thread: true and nil, or false and an ``LAError``. Until then the context lives,
    ///     as with ``evaluatePolicy(_:localizedReason:reply:)``.
    @preconcurrency
    open func evaluateAccessControl(
        _ accessControl: SecAccessControl, operation: LAAccessControlOperation, localizedReason: String,
        reply: @escaping @Sendable (Bool, (any Error)?) -> Void
    ) {
        do {
            evaluator.evaluate(
                try accessControl.canonical(), for: try operation.ofAccessControl(), reason: localizedReason,
                reply: keepingContext(reply))
        } catch { evaluator.refuse(error, reply: reply) }
    }

    /// Proves what `accessControl` asks for `operation`; true, or an ``LAError`` is thrown. Cancelling the task ends the
    /// evaluation with ``LAError/appCancel``. Calls the form with a reply, as ``evaluatePolicy(_:localizedReason:)`` does.
    @discardableResult
    nonisolated(nonsending) open func evaluateAccessControl(
        _ accessControl: SecAccessControl, operation: LAAccessControlOperation, localizedReason: String
    ) async throws -> Bool {
        try await CallerCancellation.forwarding { (continuation: CheckedContinuation<Bool, any Error>) in
            evaluateAccessControl(accessControl, operation: operation, localizedReason: localizedReason) {
                success, error in
                continuation.resume(with: error.map(Result.failure) ?? .success(success))
            }
        }
    }

    /// The same reply, which keeps the context: many programs drop it as soon as they have asked.
    private func keepingContext(_ reply: @escaping PolicyEvaluator.Reply) -> PolicyEvaluator.Reply {
        let context = KeptObject(self)
        return { success, error in withExtendedLifetime(context) { reply(success, error) } }
    }

    /// Ends the context (Apple's `invalidate`): evaluations under way end with ``LAError/appCancel``, later ones with
    /// ``LAError/invalidContext``, the proofs are wiped, and the settings return to their defaults. Does not block.
    open func invalidate() { evaluator.invalidate() }

    // MARK: credentials

    /// Gives the context a credential, so that no prompt asks for it; nil takes it away. Blocks for a message to the
    /// daemon.
    ///
    /// The application password serves objects whose access control asks for one; it does not authenticate the owner.
    /// The PIN of a smart card serves nothing here and is not kept; the context only remembers that it was set.
    ///
    /// - Returns: false when the credential is empty, the context was invalidated, or the daemon refuses the credential.
    @discardableResult
    open func setCredential(_ credential: Data?, type: LACredentialType) -> Bool {
        evaluator.setCredential(credential, type: type.rawValue)
    }

    /// Whether the context holds a credential of `type`. Blocks for a message to the daemon.
    @discardableResult
    open func isCredentialSet(_ type: LACredentialType) -> Bool { evaluator.isCredentialSet(type: type.rawValue) }
}

/// Lets items and keys be used under a context (`kSecUseAuthenticationContext`).
extension LAContext: AuthenticationContextProtocol, AuthenticationContext {
    package func authentication() throws -> ContextAuthentication { try evaluator.authentication() }
}
