import AccessControl
import Foundation
import KeySlots
import OstiaryMessages
import Prompting
import SecretMemory
import Vault

/// Turns a demand into proofs: asks `plan` what is missing, collects it from the person, and asks again until `plan` is
/// satisfied or says that it cannot be.
struct Evaluator {
    /// Wrong passcodes in one evaluation before it fails; the delays count across evaluations.
    static let triesPerEvaluation = 3

    let keeper: any PasscodeKeeper
    let counters: AttemptCounters
    let life: PasscodeLife
    let ring: KeyRing
    let prompter: any Prompter
    let trail: AuditTrail
    let isHardware: Bool

    /// Says whether a demand could be satisfied now; never prompts.
    func preflight(_ demand: Demand, held: HeldFactors = .none) throws {
        _ = try next(demand, held: held.factors)
    }

    /// Proves a demand, asking the person for what is missing on top of what is held.
    func evaluate(_ demand: Demand, held: HeldFactors = .none, asking: Asking) throws -> Evaluation {
        var proved = FactorSet()
        var proof: ProvedPasscode?
        while let factor = try next(demand, held: held.factors.union(proved)) {
            switch factor {
            case .passcode:
                proof = try provePasscode(demand, asking: asking)
            case .applicationPassword:
                try proveApplicationPassword(demand, passcode: (proof?.key ?? held.passcode)?.half, asking: asking)
            case .biometry, .biometryCurrentSet, .securityKey:
                // `plan` offers only what availability() calls available.
                throw Refusal(.internal, "No authenticator serves \(factor.name).")
            }
            try asking.cancellation.check()
            proved.insert(FactorSet(factor))
        }
        let factors = proved.union(deciding(demand, held: held.factors.union(proved)))
        return Evaluation(
            factors: factors, proved: proved, strength: strength(of: factors),
            passcode: factors.contains(.passcode) ? proof?.key ?? held.passcode : nil, proof: proof)
    }

    /// The label of the weakest of `factors`.
    func strength(of factors: FactorSet) -> String { factors.strength(inHardware: isHardware)?.rawValue ?? "" }

    /// Of what is held, what satisfies the demand.
    private func deciding(_ demand: Demand, held: FactorSet) -> FactorSet {
        let unlock = demand.availability.map(ring.unlockState(of:)) ?? .open
        return FactorSet(
            demand.requirements.map { requirement in
                if case .satisfied(let by) = plan(requirement, held: held, available: [:], unlock: unlock) { by } else { [] }
            })
    }

    // MARK: planning

    /// The factor to ask for next; nil when every requirement is satisfied.
    private func next(_ demand: Demand, held: FactorSet) throws -> Factor? {
        let unlock = demand.availability.map(ring.unlockState(of:)) ?? .open
        let missing = demand.requirements.filter { requirement in
            // What nothing is missing for does not depend on what could be proved, nor on rows that say so.
            if case .satisfied = plan(requirement, held: held, available: [:], unlock: unlock) { false } else { true }
        }
        guard !missing.isEmpty else { return nil }
        let available = try availability(for: demand)
        var needed = FactorSet()
        for requirement in missing {
            switch plan(requirement, held: held, available: available, unlock: unlock) {
            case .satisfied: continue
            case .needs(let alternatives): needed.formUnion(alternatives[0])
            // Nobody is asked for one thing while another one is out of reach.
            case .impossible(let impossibility): throw try refusal(impossibility)
            }
        }
        // The passcode comes before an application password: the password's slot layer lies inside the others.
        let factor = needed.factors.min()
        if factor == .passcode { try keeper.requireRecords() }
        return factor
    }

    func availability(for demand: Demand) throws -> FactorAvailability {
        var available = Self.availabilityWithoutPasscode
        available[.passcode] = try passcodeAvailability(delay: keeper.attempts().remaining)
        if demand.applicationPassword != nil { available[.applicationPassword] = .available }
        return available
    }

    /// What is so whatever the passcode's counter says.
    static let availabilityWithoutPasscode: FactorAvailability = [
        .biometry: .unavailable(.biometryNotAvailable),
        .biometryCurrentSet: .unavailable(.biometryNotAvailable),
        .securityKey: .unavailable(.securityKeyNotEnrolled),
        .applicationPassword: .unavailable(.applicationPasswordUnsupported),
    ]

    /// - Parameter delay: what is left of the delay after wrong passcodes; looked at only where there is a passcode.
    func passcodeAvailability(delay: @autoclosure () throws -> Duration) rethrows -> FactorAvailability.State {
        guard ring.isPasscodeSet else { return .unavailable(.passcodeNotSet) }
        return try delay() > .zero ? .unavailable(.passcodeLockedOut) : .available
    }

    private func refusal(_ impossibility: Impossibility) throws -> Refusal {
        switch impossibility {
        case .operationNotPermitted:
            return Refusal(
                .operationNotPermitted, "The access control permits nobody to do this.",
                cause: "right.operation-not-permitted")
        case .locked: return Refusals.locked
        case .withoutClassKey: return Refusals.passcodeNotSet
        case .unavailable(let factor, let reason): return try Self.refusal(factor, reason, keeper)
        }
    }

    private static func refusal(
        _ factor: Factor, _ reason: Unavailability, _ keeper: any PasscodeKeeper
    ) throws -> Refusal {
        switch reason {
        case .passcodeNotSet: Refusals.passcodeNotSet
        case .passcodeLockedOut: Refusals.lockedOut(try keeper.attempts().remaining)
        case .biometryLockout:
            Refusal(.biometryLockout, "Biometry is locked out; enter the passcode once.", cause: "biometry.lockout")
        case .biometryNotEnrolled:
            Refusal(.biometryNotEnrolled, "No finger is enrolled.", cause: "biometry.not-enrolled")
        case .biometryNotAvailable, .biometryRestsUntilPasscode, .biometrySetChanged:
            Refusal(
                .biometryNotAvailable, "Biometry is not available: no sensor is supported yet.",
                cause: "biometry.no-sensor")
        case .securityKeyNotEnrolled, .securityKeyNotPresent, .securityKeyUnsupported:
            Refusal(.companionNotAvailable, "No security key is enrolled.", cause: "security-key.not-enrolled")
        case .applicationPasswordUnsupported, .notOffered:
            Refusal(
                .operationNotPermitted, "The factor \(factor.name) cannot be proved here.", cause: "factor.unsupported")
        }
    }

    // MARK: collecting

    private func provePasscode(_ demand: Demand, asking: Asking) throws -> ProvedPasscode {
        // A lock that comes while the person types ends what is asked; what was typed must not unlock after it.
        let era = ring.era
        return try prove(
            .enterPasscode, demand, asking: asking, wrong: "Wrong passcode.", requireNoDelay: keeper.requireNoDelay
        ) { entered in
            let entered = SecretBytes(copying: entered)
            return try keeper.exclusively {
                let proved = try keeper.prove(entered)
                ring.add(try life.privateHalves(openedBy: proved), since: era)
                trail.coverSeeds(under: proved.half)
                return proved
            }
        }
    }

    private func proveApplicationPassword(_ demand: Demand, passcode: PrivateHalf?, asking: Asking) throws {
        guard let check = demand.applicationPassword else { throw Refusal(.internal, "There is no password to check.") }
        if let given = asking.applicationPassword {
            do { return try prove(given.bytes, by: check, passcode) } catch is WrongSecret { throw Self.failed }
        }
        try prove(
            .applicationPassword, demand, asking: asking, wrong: "Wrong password.",
            requireNoDelay: { try counters.requireNoDelay(at: check.subject) }
        ) { entered in try prove(entered, by: check, passcode) }
    }

    private func prove(
        _ entered: borrowing SecretBytes, by check: ApplicationPasswordCheck, _ passcode: PrivateHalf?
    ) throws {
        let password = SecretBytes(copying: entered)
        try counters.attempt(at: check.subject) { try check.opens(password, passcode) ? () : nil }
    }

    /// Asks until the answer fits, at most ``triesPerEvaluation`` times, and never while a delay runs.
    private func prove<Proof>(
        _ kind: PromptKind, _ demand: Demand, asking: Asking, wrong: String, requireNoDelay: () throws -> Void,
        _ check: (borrowing SecretBytes) throws -> Proof
    ) throws -> Proof {
        var notice: DisplayText?
        var triesLeft: Int?
        for _ in 1...Self.triesPerEvaluation {
            try requireNoDelay()
            let question = PromptQuestion(
                kind,
                object: demand.object.isEmpty
                    ? nil : DisplayText(fact: demand.object, calledByPrograms: demand.label),
                operation: DisplayText(fact: demand.operation), consequence: demand.consequence,
                reason: asking.question.reason, notice: notice, triesLeft: triesLeft,
                cancelTitle: asking.question.cancelTitle, fallbackTitle: Self.fallbackTitle(kind, asking.question),
                isShownInFull: demand.isShownInFull)
            let entered = try Questioning(prompter: prompter, asking: asking).secret(question)
            do { return try check(entered) } catch let error as WrongSecret {
                recordWrongTry(kind, demand, asking)
                notice = DisplayText(wrong)
                triesLeft = error.freeTriesLeft
            }
        }
        throw Self.failed
    }

    /// The passcode is the fallback of everything else, so nothing is offered instead of it.
    private static func fallbackTitle(_ kind: PromptKind, _ question: QuestionStyle) -> DisplayText? {
        kind.factor == .passcode ? nil : question.fallbackTitle
    }

    /// A wrong try is a decision of its own, whatever the evaluation comes to.
    private func recordWrongTry(_ kind: PromptKind, _ demand: Demand, _ asking: Asking) {
        let event = AuditTrail.Event(
            name: "attempt", program: asking.session.caller.program, object: demand.logName ?? demand.object,
            operation: kind.factor == .applicationPassword ? "application-password" : "passcode")
        trail.refuse(event, because: Self.failed)
    }

    private static let failed = Refusal(
        .authenticationFailed, "The passcode or password is wrong.", cause: "authentication.failed")
}
