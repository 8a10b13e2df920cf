public import Foundation
import OstiaryClient

/// Asks the person to register or to sign in with a security key or a passkey (Apple's `ASAuthorizationController`).
///
/// The program must be registered for the domain, and the domain must confirm it:
/// `ostiary app register PROGRAM --id ID --webcredentials DOMAIN`. Otherwise the request ends with
/// ``ASAuthorizationError/failed``. The controller lives until it has told its delegate how the requests ended; it holds the
/// delegate weakly.
open class ASAuthorizationController: NSObject, @unchecked Sendable {
    // SAFETY: (@unchecked) `lock` guards every change.

    /// The options of a request.
    public struct RequestOptions: OptionSet, Sendable {
        public let rawValue: UInt
        public init(rawValue: UInt) { self.rawValue = rawValue }

        /// Asks only if something that can answer is at hand; otherwise ends with ``ASAuthorizationError/canceled``. No security
        /// key is asked for then.
        public static let preferImmediatelyAvailableCredentials = Self(rawValue: 1 << 0)
    }

    /// The requests. Of several of one kind the first one is answered.
    public let authorizationRequests: [ASAuthorizationRequest]
    private let service: any CredentialService
    private let lock = NSLock()
    private weak var heldDelegate: (any ASAuthorizationControllerDelegate)?
    private weak var heldProvider: (any ASAuthorizationControllerPresentationContextProviding)?
    private var running: Task<Void, Never>?

    /// - Parameter authorizationRequests: registrations, or sign-ins; at least one.
    public convenience init(authorizationRequests: [ASAuthorizationRequest]) {
        self.init(authorizationRequests: authorizationRequests, service: DaemonCredentials())
    }

    package init(authorizationRequests: [ASAuthorizationRequest], service: any CredentialService) {
        self.authorizationRequests = authorizationRequests
        self.service = service
    }

    /// Told on the main actor how the requests ended.
    public var delegate: (any ASAuthorizationControllerDelegate)? {
        get { lock.withLock { heldDelegate } }
        set { lock.withLock { heldDelegate = newValue } }
    }

    /// Kept; nothing here needs a window.
    public var presentationContextProvider: (any ASAuthorizationControllerPresentationContextProviding)? {
        get { lock.withLock { heldProvider } }
        set { lock.withLock { heldProvider = newValue } }
    }

    /// Asks the person, and returns at once. The delegate learns the end.
    open func performRequests() { performRequests(options: []) }

    /// As ``performRequests()``. Requests of this controller that are still under way are cancelled first.
    open func performRequests(options: RequestOptions) {
        // The program may change its requests after the call; the copies stay.
        let requests = authorizationRequests.map { $0.copy() as! ASAuthorizationRequest }
        lock.withLock {
            let former = running
            former?.cancel()
            running = Task.detached { [self, service] in
                await former?.value
                let result = await Self.authorization(for: requests, options, through: service)
                await tell(result)
            }
        }
    }

    /// Offers credentials beside a text field, on iOS. There are no such fields here: the delegate is told
    /// ``ASAuthorizationError/notHandled``, and nobody is asked. Use ``performRequests()`` when the person wants to sign in.
    open func performAutoFillAssistedRequests() {
        Task.detached { [self] in
            await tell(
                .failure(
                    ErrorTranslation.refusal(
                        .notHandled, cause: "autofill.unavailable",
                        "Nothing here offers credentials beside a text field; use performRequests().")))
        }
    }

    /// Ends the running requests; the delegate is told ``ASAuthorizationError/canceled``.
    open func cancel() { lock.withLock { running }?.cancel() }

    @MainActor
    private func tell(_ result: Result<ASAuthorization, ASAuthorizationError>) {
        guard let delegate else { return }
        switch result {
        case .success(let authorization):
            delegate.authorizationController(controller: self, didCompleteWithAuthorization: authorization)
        case .failure(let error): delegate.authorizationController(controller: self, didCompleteWithError: error)
        }
    }

    /// Asks and waits. Cancelling the task ends the question.
    static func authorization(
        for requests: [ASAuthorizationRequest], _ options: RequestOptions, through service: any CredentialService
    ) async -> Result<ASAuthorization, ASAuthorizationError> {
        var relyingParty = ""
        do {
            let prepared = try PreparedRequest(
                requests, onlyIfAtHand: options.contains(.preferImmediatelyAvailableCredentials))
            relyingParty = prepared.relyingParty
            let authorization = try await OstiaryClient.shared.perform { cancellation in
                try prepared.authorization(through: service, cancellation)
            }
            // A result after a cancel does not count.
            return Task.isCancelled ? .failure(ErrorTranslation.cancelled) : .success(authorization)
        } catch {
            guard !Task.isCancelled else { return .failure(ErrorTranslation.cancelled) }
            return .failure(ErrorTranslation.error(for: error, relyingParty: relyingParty))
        }
    }
}
