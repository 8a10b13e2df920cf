import AccessControl
public import CLocalAuthentication
public import Foundation
import OstiaryClient

/// A right to an action or object of the app, granted to a person who meets a requirement (Apple's `LARight`).
///
/// ```swift
/// let login = LARight(requirement: .biometry(fallback: .devicePasscode))
/// try await login.authorize(localizedReason: "open your profile")
/// ```
///
/// The grant belongs to the instance, lives in the daemon, and ends with ``deauthorize()``, with the instance, with the
/// process, or when the owner locks the store. Keep a strong reference while you need the grant. A right that was not
/// saved releases no key: its answer is only a statement of the daemon, and somebody who changes this program can forge
/// it. To prevent that, save the right and use its key or secret.
///
/// Calls of different threads do not disturb each other. Completions are called on threads of their own.
open class LARight: NSObject {
    /// Where a right stands in its life cycle (Apple's `LARight.State`).
    public typealias State = LARightState

    let authorization: RightAuthorization
    /// The access control of a saved copy of this right.
    let accessControl: AccessControl

    /// A number for the app's own use, 0 at first. It is not stored with a saved right.
    open var tag = 0

    /// A right with the requirement ``LAAuthenticationRequirement/default``.
    public override init() {
        (authorization, accessControl) = Self.unsaved(.default, nil, OstiaryService())
        super.init()
        authorization.state.attach(to: self)
    }

    /// A right that is granted to a person who meets `requirement`.
    public init(requirement: LAAuthenticationRequirement) {
        (authorization, accessControl) = Self.unsaved(requirement, nil, OstiaryService())
        super.init()
        authorization.state.attach(to: self)
    }

    /// A right that is granted to a person who meets `requirement`, within limits. An extension.
    public init(requirement: LAAuthenticationRequirement, grantLimits: LAGrantLimits) {
        (authorization, accessControl) = Self.unsaved(requirement, grantLimits, OstiaryService())
        super.init()
        authorization.state.attach(to: self)
    }

    /// A right whose saved copy asks the person for each signature, and shows what is signed. An extension.
    ///
    /// Such a copy cannot be authorized, and its key does nothing but sign:
    /// ``LAPrivateKey/sign(_:algorithm:localizedReason:)``. In a TPM the chip itself signs only what was shown.
    ///
    /// - Parameter requirement: must ask for something, else saving fails.
    public init(confirmingEachSignatureWith requirement: LAAuthenticationRequirement) {
        (authorization, accessControl) = Self.unsavedConfirming(requirement, OstiaryService())
        super.init()
        authorization.state.attach(to: self)
    }

    /// The same, but the person may agree to further signatures of a program (a lease): for a time or a number of them, at a question or
    /// beforehand with `ostiary lease grant`. An extension.
    ///
    /// - Parameters:
    ///   - requirement: must ask for something, else saving fails.
    ///   - leaseLimits: the greatest limits of a lease. The trusted place is none of them; limits that name nothing else permit no
    ///     lease.
    public init(confirmingEachSignatureWith requirement: LAAuthenticationRequirement, leaseLimits: LAGrantLimits) {
        (authorization, accessControl) = Self.unsavedConfirming(requirement, OstiaryService(), leases: leaseLimits)
        super.init()
        authorization.state.attach(to: self)
    }

    /// The same, with a daemon of the caller's choice.
    package init(
        confirmingEachSignatureWith requirement: LAAuthenticationRequirement, leaseLimits: LAGrantLimits? = nil,
        service: any AuthorizationService
    ) {
        (authorization, accessControl) = Self.unsavedConfirming(requirement, service, leases: leaseLimits)
        super.init()
        authorization.state.attach(to: self)
    }

    /// A right that asks a daemon of the caller's choice.
    package init(
        requirement: LAAuthenticationRequirement, grantLimits: LAGrantLimits? = nil, service: any AuthorizationService
    ) {
        (authorization, accessControl) = Self.unsaved(requirement, grantLimits, service)
        super.init()
        authorization.state.attach(to: self)
    }

    init(_ authorization: RightAuthorization, accessControl: AccessControl) {
        self.authorization = authorization
        self.accessControl = accessControl
        super.init()
        authorization.state.attach(to: self)
    }

    deinit { authorization.end() }

    private static func unsaved(
        _ requirement: LAAuthenticationRequirement, _ grantLimits: LAGrantLimits?, _ service: any AuthorizationService
    ) -> (RightAuthorization, AccessControl) {
        let (requirement, limits) = (requirement.requirement, grantLimits?.limits)
        return (
            RightAuthorization(.requirement(requirement, limits: limits), service: service),
            AccessControl(availability: .whenUnlocked, using: requirement, limits: limits)
        )
    }

    private static func unsavedConfirming(
        _ requirement: LAAuthenticationRequirement, _ service: any AuthorizationService, leases: LAGrantLimits? = nil
    ) -> (RightAuthorization, AccessControl) {
        (
            unsaved(requirement, nil, service).0,
            AccessControl(
                availability: .whenUnlocked, confirmingEachSignatureWith: requirement.requirement,
                leases: leases?.numbers)
        )
    }

    /// Whether the saved copy of this right asks the person for each signature. An extension.
    ///
    /// It is fixed when the right is made. Nobody can change it for a saved right.
    public var confirmsEachSignature: Bool { accessControl.confirmsEachSignature }

    /// The greatest limits of a lease that stands in for confirmations; nil for a right that permits none, and for one that does not
    /// confirm each signature. An extension.
    ///
    /// They are fixed when the right is made. Nobody can change those of a saved right.
    public var leaseLimits: LAGrantLimits? { accessControl.leaseLimits.map(LAGrantLimits.init) }

    /// How long a grant of this right lives, and how many uses it has; nil for no limits. An extension.
    ///
    /// The limits are fixed when the right is made and are saved with it. Nobody can change those of a saved right.
    public var grantLimits: LAGrantLimits? { accessControl.limits.map(LAGrantLimits.init) }

    /// Where the right stands. Changes can be observed: `observe(\.state)`, ``stateUpdates``,
    /// ``didBecomeAuthorizedNotification`` and ``didBecomeUnauthorizedNotification``.
    open var state: State { authorization.state.value }

    // MARK: completion handlers

    /// Asks the person for the factors that the requirement needs (Apple's `authorizeWithLocalizedReason:completion:`).
    ///
    /// Prompts, unless the right is authorized already and the daemon still holds the grant. While an authorization is
    /// under way, a second call waits for its end and gets its result.
    ///
    /// - Parameters:
    ///   - localizedReason: why the app asks; shown in the prompt. When empty, the call fails with
    ///     ``LAError/authenticationFailed`` and nothing changes.
    ///   - completion: gets nil, or why the right was not granted: an ``LAError``, or an `NSError` of
    ///     `NSOSStatusErrorDomain` when daemon or store cannot serve (`errSecItemNotFound` for a saved right that was
    ///     removed). The right lives until this was called, even if the program mentions it nowhere else. If the right
    ///     ends afterwards, its grant ends too.
    open func authorize(localizedReason: String, completion: @escaping @Sendable ((any Error)?) -> Void) {
        authorize(localizedReason: localizedReason, offeringTerminal: true, completion: completion)
    }

    /// - Parameter offersTerminal: whether the question may be put on the terminal of this process.
    package func authorize(
        localizedReason: String, offeringTerminal offersTerminal: Bool,
        completion: @escaping @Sendable ((any Error)?) -> Void
    ) {
        let right = KeptObject(self)
        authorization.authorize(reason: localizedReason, offersTerminal: offersTerminal) { error in
            withExtendedLifetime(right) { completion(error) }
        }
    }

    /// Says whether the right could be granted on this machine now (Apple's `checkCanAuthorizeWithCompletion:`). Never
    /// prompts, and leaves ``state`` alone.
    ///
    /// - Parameter completion: gets nil, or why not.
    open func checkCanAuthorize(completion: @escaping @Sendable ((any Error)?) -> Void) {
        let authorization = authorization
        BlockingCalls.start({ try authorization.preflight() }, completion: completion)
    }

    /// Takes the grant back (Apple's `deauthorizeWithCompletion:`). ``state`` becomes ``LARightState/notAuthorized`` at
    /// once, from any state. An authorization under way ends with ``LAError/appCancel``.
    ///
    /// - Parameter completion: called when the daemon has wiped the grant.
    open func deauthorize(completion: @escaping @Sendable () -> Void) {
        authorization.deauthorize(completion: completion)
    }

    // MARK: async

    // As with Apple's class, these call the completion forms, so that a subclass which overrides those changes both, and
    // they run where their caller runs, so that an actor can await a right that it holds.

    /// Asks the person for the factors that the requirement needs, like ``authorize(localizedReason:completion:)``.
    /// Cancelling the task ends its wait with ``LAError/appCancel``, and the prompt when nobody else waits for it.
    nonisolated(nonsending) open func authorize(localizedReason: String) async throws {
        try await CallerCancellation.forwarding { (continuation: CheckedContinuation<Void, any Error>) in
            authorize(localizedReason: localizedReason) { continuation.resume($0) }
        }
    }

    nonisolated(nonsending) package func authorize(
        localizedReason: String, offeringTerminal offersTerminal: Bool
    ) async throws {
        try await CallerCancellation.forwarding { (continuation: CheckedContinuation<Void, any Error>) in
            authorize(localizedReason: localizedReason, offeringTerminal: offersTerminal) { continuation.resume($0) }
        }
    }

    /// Throws why the right cannot be granted on this machine now. Never prompts.
    nonisolated(nonsending) open func checkCanAuthorize() async throws {
        try await CallerCancellation.forwarding { (continuation: CheckedContinuation<Void, any Error>) in
            checkCanAuthorize { continuation.resume($0) }
        }
    }

    /// Takes the grant back and returns when the daemon has wiped it.
    nonisolated(nonsending) open func deauthorize() async {
        await withCheckedContinuation { continuation in deauthorize { continuation.resume() } }
    }
}
