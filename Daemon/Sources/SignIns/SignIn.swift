import AccessControl
import Auditing
import Authenticators
import Callers
import Logging
import OstiaryMessages
import OwnerKeys
import Owners
import Passcodes
import ProcessFacts
import PromptProtocol
import Prompting
import Refusals
import Sessions
import Settings
import UnixSocket
import Vault

/// Answers one request of a module.
struct SignIn: Sendable {
    let parts: SignInParts
    let socket: UnixSocket
    let peer: PeerCredentials
    /// Who runs the program, if it is root's; nil for one of the machine.
    let userBehind: UInt32?
    let dialog: SignInDialog
    let cancellation: RequestCancellation

    private var rights: SignInRights { SignInRights(userID: peer.userID, users: parts.users) }

    /// Whether a service of the machine asks, such as `login`. Any other program may ask where nobody looks.
    private var isOfMachine: Bool { rights.isAdministrator && userBehind == nil }

    func answer(to request: ModuleMessage, _ terminal: SharedDescriptor?) -> SignInAnswer {
        switch request {
        case .authenticate(let query): authenticate(query, terminal)
        case .open(let user, let service, let secret): .done(open(user, service, with: secret))
        case .change(let user, let old, let new): .done(change(user, from: old, to: new))
        case .reset(let user): .done(reset(user))
        case .typed, .cancelled: .unavailable(.fault)
        }
    }

    /// The answer to a request that was not begun.
    func failure(of request: ModuleMessage) -> SignInAnswer {
        if case .authenticate = request { .unavailable(.fault) } else { .done(.unavailable) }
    }

    // MARK: who is there

    private func authenticate(_ query: SignInQuery, _ terminal: SharedDescriptor?) -> SignInAnswer {
        do {
            guard let user = subject(named: query.user),
                let stay = try parts.services.owners.enterKnown(user)
            else { return .unavailable(.nobody) }
            return try withExtendedLifetime(stay) { try prove(query, terminal, stay.account) }
        } catch {
            report(error)
            return .unavailable(.fault)
        }
    }

    /// A program of root that a user runs asks about this user: by `su` nobody guesses at the passcode of somebody else, has them touch a
    /// sensor, or learns how many tries they have left.
    private func subject(named name: String) -> SystemUser? {
        SignInRights(userID: userBehind ?? peer.userID, users: parts.users).subject(named: name)
    }

    private func prove(
        _ query: SignInQuery, _ terminal: SharedDescriptor?, _ account: OwnerAccount
    ) throws -> SignInAnswer {
        let caller = try self.caller(of: account)
        let event = Self.event("authenticate", query.service, caller)
        defer { parts.services.environment.mayHaveChanged(of: account) }
        do {
            try evaluate(query, terminal, account, caller, as: event)
            return .ok
        } catch {
            recordOpening(account, as: event)
            guard let refusal = error as? Refusal else { throw error }
            account.trail.refuse(event, because: refusal)
            return refusal.code == .authenticationFailed ? .no : .unavailable(SignInObstacle(refusal))
        }
    }

    private func evaluate(
        _ query: SignInQuery, _ terminal: SharedDescriptor?, _ account: OwnerAccount, _ caller: CallerProcess,
        as event: AuditTrail.Event
    ) throws {
        // Fingers and keys stand on the passcode, and without one there is nothing to fall back to.
        guard account.ring.isPasscodeSet else { throw Refusal.passcodeNotSet }
        let demand = Demand(
            requirements: [try Requirement(anyOf: factors(for: query, account))], availability: nil, object: "",
            operation: "confirm that it is you")
        let asking = Asking(
            caller: caller, terminal: query.hasTerminal ? terminal : nil, question: .withoutReason,
            cancellation: cancellation)
        let prompter = prompter(for: query, account)
        let evaluation = try account.evaluator.asking(through: prompter).evaluate(demand, asking: asking)
        try account.trail.decide {
            try cancellation.check()
            do throws(CallerError) { try caller.verifyUnchanged() } catch {
                throw Refusal(.callerChanged, "The program is no longer the one that asked.", cause: "caller.\(error)")
            }
            try account.trail.grant(
                event, factors: evaluation.factorNames, strength: evaluation.label, isProved: true)
            cancellation.noteOpeningRecorded()
        }
    }

    /// No device of this machine is for a person who is at another one.
    private func factors(for query: SignInQuery, _ account: OwnerAccount) -> [FactorSet] {
        guard !query.isRemote else { return [.passcode] }
        return mayTypePasscode(account) ? [.biometry, .securityKey, .passcode] : [.biometry, .securityKey]
    }

    private func mayTypePasscode(_ account: OwnerAccount) -> Bool {
        account.knownAttempts().map { $0.failedCount < rights.tryLimit } ?? false
    }

    private func prompter(for query: SignInQuery, _ account: OwnerAccount) -> ConversationPrompter {
        let tries = HeldTry(parts.tries, for: account.user.id, limit: rights.tryLimit) { [weak account] in
            account?.knownAttempts()?.failedCount
        }
        let isAdministrator = rights.isAdministrator
        let subject = ConversationPrompter.Subject(
            userID: account.user.id, processID: peer.processID,
            process: try? parts.seat.facts.hold(peer.processID, socket.peerProcessDescriptor(), of: peer.userID),
            isAdministrator: isAdministrator, isOfMachine: isOfMachine)
        return ConversationPrompter(
            dialog, for: query, subject, prompter: account.evaluator.prompter, seat: parts.seat,
            mayWait: { [parts, isOfMachine, usual = account.evaluator.prompter] in
                isOfMachine || parts.prompts.lets($0.kind)
                    || parts.seat.isUnlocking(
                        usually: usual.sensorRefusal(ofProcess: subject.processID, of: subject.userID),
                        subject.process, isAdministrator: subject.isAdministrator)
            },
            mayType: { isAdministrator ? tries.isLeft() : tries.renew() },
            mayTry: { !isAdministrator || tries.renew() })
    }

    // MARK: logins

    private func open(_ name: String, _ service: SignInService, with secret: Credential) -> SignInResult {
        withOwner(named: name) { account, caller in
            guard account.ring.isPasscodeSet else { return .notBound }
            guard !account.ring.lockState.isUnlocked else { return .done }
            return try account.login.inTurn {
                switch try account.login.state() {
                case .never, .trying(failed: true): return .notBound
                case .trying(failed: false), .following: break
                }
                let event = Self.event("open", service, caller)
                guard try proved(secret, account, caller, as: event) != nil else { return .wrong }
                return recordOpening(account, as: event) ? .done : .unavailable
            }
        }
    }

    private func change(_ name: String, from old: Credential, to new: Credential) -> SignInResult {
        withOwner(named: name) { account, caller in
            try account.login.inTurn {
                guard account.ring.isPasscodeSet, try account.login.state() == .following else { return .notBound }
                // Until the passcode follows, the login password is another one.
                try account.login.set(.trying(failed: true))
                let result = try follow(from: old, to: new, account, caller)
                if result == .done { try account.login.set(.following) }
                return result
            }
        }
    }

    private func follow(
        from old: Credential, to new: Credential, _ account: OwnerAccount, _ caller: CallerProcess
    ) throws -> SignInResult {
        let event = AuditTrail.Event(name: "passcode-change", program: caller.program, operation: "login password")
        if let violation = parts.policy.violation(of: new.bytes) {
            account.trail.refuse(
                event, because: Refusal(.passcodeTooWeak, violation.sentence, cause: "passcode.too-weak"))
            return .unavailable
        }
        let era = account.ring.era
        let opening = AuditTrail.Event(name: "sign-in", program: caller.program, operation: "change")
        guard let proved = try proved(old, account, caller, as: opening) else { return .wrong }
        guard recordOpening(account, as: opening) else { return .unavailable }
        let requester = asking(caller).requester
        let change = try account.life.prepareChange(of: proved, as: requester)
        try parts.services.changePasscode(event, of: account, as: requester) { turn in
            try account.life.change(proved, to: new.bytes, change, since: era, in: turn)
        }
        return .done
    }

    private func reset(_ name: String) -> SignInResult {
        withOwner(named: name) { account, caller in
            try account.login.inTurn {
                guard try account.login.state() == .following else { return .notBound }
                try account.login.set(.trying(failed: true))
                account.trail.note(AuditTrail.Event(name: "sign-in", program: caller.program, operation: "reset"))
                return .done
            }
        }
    }

    /// Tries a login password as the passcode. After a wrong one no login tries again before the passcode was entered.
    ///
    /// - Returns: nil for a wrong one.
    private func proved(
        _ secret: Credential, _ account: OwnerAccount, _ caller: CallerProcess, as event: AuditTrail.Event
    ) throws -> ProvedPasscode? {
        let demand = Demand(
            requirements: [try Requirement(anyOf: [.passcode])], availability: nil, object: "",
            operation: event.operation)
        guard
            case .typing(let attempt) = try account.evaluator.authenticators[.passcode].begin(
                .passcode, for: demand, asking(caller), after: [])
        else { throw Refusal.passcodeNeeded }
        try attempt.requireNoDelay()
        defer { parts.services.environment.mayHaveChanged(of: account) }
        do {
            guard let proved = try attempt.prove(secret.bytes).detail as? ProvedPasscode else {
                throw Refusal.passcodeNeeded
            }
            return proved
        } catch is WrongSecret {
            try account.login.set(.trying(failed: true))
            account.trail.refuse(event, because: Refusal.authenticationFailed)
            return nil
        }
    }

    private func withOwner(
        named name: String, _ body: (OwnerAccount, CallerProcess) throws -> SignInResult
    ) -> SignInResult {
        do {
            guard let user = rights.owner(named: name) else { return .unavailable }
            guard let stay = try parts.services.owners.enterKnown(user) else { return .notBound }
            return try withExtendedLifetime(stay) { try body(stay.account, caller(of: stay.account)) }
        } catch {
            report(error)
            return .unavailable
        }
    }

    // MARK: shared

    private func caller(of account: OwnerAccount) throws -> CallerProcess {
        try CallerProcess(
            connectedTo: socket, owner: account.id.ownerID, applications: account.applications,
            facts: parts.services.facts)
    }

    private func asking(_ caller: CallerProcess) -> Asking {
        Asking(caller: caller, terminal: nil, question: .askingNobody, cancellation: cancellation)
    }

    private static func event(_ what: String, _ service: SignInService, _ caller: CallerProcess) -> AuditTrail.Event {
        AuditTrail.Event(name: "sign-in", program: caller.program, object: service.name, operation: what)
    }

    /// Records that the passcode has opened the store, if it has. A store whose opening cannot be recorded is locked again.
    ///
    /// - Returns: false when it was locked again.
    @discardableResult
    private func recordOpening(_ account: OwnerAccount, as event: AuditTrail.Event) -> Bool {
        guard cancellation.hasUnrecordedOpening else { return true }
        let strength = account.evaluator.authenticators[.passcode].strength(of: .passcode)
        do throws(Refusal) {
            try account.trail.noteOpening(event, factors: [Factor.passcode.name], strength: strength.rawValue)
            cancellation.noteOpeningRecorded()
            return true
        } catch {
            account.ring.lock()
            account.recentBiometry.forget()
            parts.services.registry.endAllGrants(of: account)
            report(error)
            return false
        }
    }

    /// The detail is for the person who runs the daemon; it names no secret and no value of a caller.
    private func report(_ error: any Error) {
        parts.services.callerLines.write(
            .error, "a sign-in failed", of: userBehind ?? peer.userID, ["cause": "\(error)"])
    }
}

extension PromptConfiguration {
    /// Whether a sensor may wait beside a question of a program's conversation. Nobody knows where that is shown: the program may have made a
    /// terminal at which nobody looks, and a face is not even shown on purpose.
    fileprivate func lets(_ sensor: PromptSensor.Kind) -> Bool {
        (sensor == .face ? facePolicy : fingerPolicy) == .any
    }
}

extension SignInObstacle {
    /// Why a sign-in was refused, as far as a module is told.
    init(_ refusal: Refusal) {
        switch refusal.code {
        case .userCancel, .userFallback, .systemCancel, .appCancel, .timedOut: self = .noAnswer
        case .lockedOut, .cooldown: self = .pause
        case .passcodeNotSet, .biometryLockout, .biometryNotAvailable, .biometryNotEnrolled, .companionNotAvailable,
            .notInteractive, .operationNotPermitted:
            self = .nothingToProve
        default: self = .fault
        }
    }
}
