import AccessControl
import CLocalAuthentication
import Cancellations
import Foundation
import OstiaryClient
import OstiaryMessages
import Synchronization

/// The authorization of one right: the attempt under way, the grant of a former attempt, and the state that shows both.
///
/// The grant itself lives in the daemon, in a session; this object keeps only the reference to it. Every attempt has a
/// session of its own. So an attempt that succeeds after it was cancelled cannot leave a grant behind.
final class RightAuthorization: Sendable {
    typealias Completion = @Sendable ((any Error)?) -> Void

    let state = ObservedState()
    private let subject: AuthorizationContext.Subject
    let service: any AuthorizationService
    private let life = Mutex(Life())

    private struct Life {
        var attempt: Attempt?
        /// Holds the grant while the right is authorized.
        var session: (any AuthorizationSession)?
        var lastWaiter = 0
    }

    /// An authorization under way. The second and each later caller waits for its end as well.
    private struct Attempt {
        let cancellation = Cancellation()
        var waiting: [Int: Completion] = [:]
    }

    init(_ subject: AuthorizationContext.Subject, service: any AuthorizationService) {
        self.subject = subject
        self.service = service
    }

    // MARK: authorizing

    /// Throws why the right cannot be granted on this machine now. Blocks; never prompts.
    func preflight() throws { try service.preflight(subject) }

    /// Authorizes, on another thread. `completion` is called there.
    func authorize(reason: String, offersTerminal: Bool, completion: @escaping Completion) {
        guard !reason.isEmpty else { return BlockingCalls.start { completion(ErrorTranslation.emptyReason) } }
        let (waiter, beginning) = life.withLock { life in join(completion, &life) }
        state.deliver()
        CallerCancellation.current?.onCancel { [weak self] in self?.leave(waiter) }
        guard let beginning else { return }
        var interaction = Interaction(reason: reason)
        interaction.offersTerminal = offersTerminal
        BlockingCalls.startPrompting { [interaction] in self.carryOut(interaction, cancellation: beginning) }
    }

    /// Joins the attempt under way or begins one, which the caller then carries out.
    private func join(_ completion: @escaping Completion, _ life: inout Life) -> (waiter: Int, beginning: Cancellation?)
    {
        life.lastWaiter += 1
        guard life.attempt == nil else {
            life.attempt?.waiting[life.lastWaiter] = completion
            return (life.lastWaiter, nil)
        }
        let attempt = Attempt(waiting: [life.lastWaiter: completion])
        life.attempt = attempt
        if life.session == nil { state.set(.authorizing) }
        return (life.lastWaiter, attempt.cancellation)
    }

    private func carryOut(_ interaction: Interaction, cancellation: Cancellation) {
        guard !confirmGrant(cancellation) else { return }
        let session = service.makeSession(keepsFactors: false)
        do {
            try session.authorize(subject, interaction: interaction, cancellation: cancellation)
            finish(cancellation, session: session, error: nil)
        } catch {
            finish(cancellation, session: nil, error: error)
            session.invalidate()
        }
    }

    /// Whether the right is authorized already and the daemon still stands by it; then the attempt is over. A grant
    /// that is no more is given up, and the attempt goes on.
    private func confirmGrant(_ cancellation: Cancellation) -> Bool {
        guard let session = life.withLock({ $0.session }) else { return false }
        do {
            // With interaction forbidden the daemon can only check the grants of the session.
            let quiet = Interaction(reason: "-", isAllowed: false)
            try session.authorize(subject, interaction: quiet, cancellation: cancellation)
            finish(cancellation, session: session, error: nil)
            return true
        } catch {
            giveUp(session)
            return false
        }
    }

    /// Ends an attempt with the grant of `session` or with an error; a result that comes after the attempt was given up
    /// ends nothing, and its grant is wiped.
    private func finish(_ cancellation: Cancellation, session: (any AuthorizationSession)?, error: (any Error)?) {
        let waiting = life.withLock { life -> [Int: Completion]? in
            guard let attempt = life.attempt, attempt.cancellation === cancellation else { return nil }
            life.attempt = nil
            life.session = session
            state.set(session == nil ? .notAuthorized : .authorized)
            return attempt.waiting
        }
        state.deliver()
        guard let waiting else {
            session?.invalidate()
            return
        }
        session?.watchGrant { [weak self, weak session] in if let self, let session { giveUp(session) } }
        let translated = error.map(ErrorTranslation.error)
        for completion in waiting.values { completion(translated) }
    }

    /// One caller does not wait any longer; the attempt goes on while others do.
    private func leave(_ waiter: Int) {
        let (completion, abandoned) = life.withLock { life -> (Completion?, Cancellation?) in
            guard let completion = life.attempt?.waiting.removeValue(forKey: waiter) else { return (nil, nil) }
            guard let attempt = life.attempt, attempt.waiting.isEmpty else { return (completion, nil) }
            life.attempt = nil
            if life.session == nil { state.set(.notAuthorized) }
            return (completion, attempt.cancellation)
        }
        abandoned?.cancel()
        state.deliver()
        if let completion { BlockingCalls.start { completion(ErrorTranslation.cancelled) } }
    }

    // MARK: deauthorizing

    /// Takes the grant back and ends the attempt under way. The state changes at once; `completion` is called on another
    /// thread, when the daemon has wiped the grant.
    func deauthorize(completion: @escaping @Sendable () -> Void) {
        let (attempt, session) = end { state.set(.notAuthorized) }
        state.deliver()
        BlockingCalls.start {
            attempt?.waiting.values.forEach { $0(ErrorTranslation.cancelled) }
            session?.deauthorize()
            session?.invalidate()
            completion()
        }
    }

    /// The right is gone. The daemon is told without waiting.
    func end() {
        let (attempt, session) = end {}
        session?.invalidate()
        state.finish()
        guard let attempt else { return }
        BlockingCalls.start { attempt.waiting.values.forEach { $0(ErrorTranslation.cancelled) } }
    }

    private func end(_ change: () -> Void) -> (Attempt?, (any AuthorizationSession)?) {
        let ended = life.withLock { life in
            change()
            return (life.attempt.take(), life.session.take())
        }
        ended.0?.cancellation.cancel()
        return ended
    }

    // MARK: using the grant

    /// Lets `operation` use the session that holds the grant. A refusal which says that the grant is no more ends the
    /// authorization here too.
    func use<Result: ~Copyable>(_ operation: (any AuthorizationSession) throws -> Result) throws -> Result {
        guard let session = life.withLock({ $0.session }) else {
            throw OstiaryError(.init(.notAuthorized), "The right is not authorized; authorize it first.")
        }
        do { return try operation(session) } catch let error as OstiaryError where error.endsGrant {
            giveUp(session)
            throw error
        }
    }

    /// Forgets a session whose grant is no more, unless another one has taken its place.
    private func giveUp(_ session: any AuthorizationSession) {
        life.withLock { life in
            guard life.session === session else { return }
            life.session = nil
            state.set(.notAuthorized)
            // An attempt that was waiting for the confirmation of this grant now asks the person.
            if life.attempt != nil { state.set(.authorizing) }
        }
        state.deliver()
        session.invalidate()
    }
}

extension OstiaryError {
    /// Whether this error means for its receiver that the grant ended.
    fileprivate var endsGrant: Bool {
        switch code {
        case .daemonUnavailable, .connectionLost: true
        default:
            switch WireFailureCode(rawValue: code.rawValue) {
            case .notAuthorized, .unknownContext, .callerChanged, .locked, .notFound: true
            default: false
            }
        }
    }
}
