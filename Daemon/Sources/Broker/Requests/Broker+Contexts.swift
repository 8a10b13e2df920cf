import AccessControl
import Auditing
import Authenticators
import Callers
import Enclave
import ExactNames
import Foundation
import KeySlots
import OstiaryMessages
import OwnerKeys
import Owners
import Passcodes
import ProtectedObjects
import Refusals
import SecretMemory
import Sessions
import UnixSocket
import Vault

/// Contexts: credentials, and the authorization of rights and requirements.
extension Broker {
    /// Raw value of `LACredentialType.applicationPassword`.
    private static let applicationPasswordType: Int32 = 0

    func deauthorize(_ body: WireDeauthorizeRequest, _ exchange: Exchange) throws -> Reply {
        let context = try exchange.contexts.context(body.contextID)
        exchange.trail.end(exchange.event("deauthorize"), folds: true) { context.endAllGrants(because: .caller) }
        return .done
    }

    func setCredential(_ body: WireSetCredentialRequest, _ exchange: Exchange) throws -> Reply {
        let context = try exchange.contexts.context(body.contextID)
        guard body.type == Self.applicationPasswordType else {
            throw Refusal(.invalidParameter, "Only application passwords can be set.", cause: "credential.type")
        }
        guard body.remove || !exchange.request.tail.isEmpty else { throw Refusal.emptyPassword }
        guard !body.remove else {
            context.setApplicationPassword(nil)
            return .done
        }
        // A password that is replaced gives its place to the new one.
        context.setApplicationPassword(nil)
        let place = try credentials.take(for: exchange.caller.program.ofOwner)
        context.setApplicationPassword(Credential(SecretBytes(copying: exchange.request.tail), at: place))
        return .done
    }

    func credentialState(_ body: WireCredentialStateRequest, _ exchange: Exchange) throws -> Reply {
        let context = try exchange.contexts.context(body.contextID)
        let isSet = body.type == Self.applicationPasswordType && context.isApplicationPasswordSet
        return Reply(.done(.with { $0.isSet = isSet }))
    }

    // MARK: rights and requirements

    func authorize(_ body: WireAuthorizeRequest, _ exchange: Exchange) throws -> Reply {
        switch body.subject {
        case .rightID(let bytes)?: try authorizeRight(bytes, body, exchange)
        case .requirement(let bytes)?: try authorizeRequirement(bytes, body, exchange)
        case .store?: try openStore(body, exchange)
        case nil: throw Refusal(.malformed, "The request names neither a right nor a requirement.")
        }
    }

    /// Asks for the passcode and nothing else: its proof opens the store. The context keeps nothing of it.
    private func openStore(_ body: WireAuthorizeRequest, _ exchange: Exchange) throws -> Reply {
        let isOpen = exchange.account.ring.unlockState(of: .whenUnlocked) == .open
        let demand = Demand(
            requirements: [try Requirement(anyOf: [.passcode])], availability: nil, object: "",
            operation: isOpen ? "let fingers be used again" : "open the store")
        if body.preflight { return try preflight(demand, body.contextID, exchange) }
        // The question would name what nothing waits for.
        guard !isOpen || exchange.account.biometryState()?.waitsForPasscode == true else {
            return Reply(.granted(.init()))
        }
        let asking = try exchange.asking(body.question)
        let evaluation = try exchange.account.evaluator.evaluate(demand, asking: asking)
        try grant(evaluation, asking, exchange, as: exchange.event()) {}
        return Reply(.granted(granted(evaluation.factorNames, evaluation.label)))
    }

    private func authorizeRight(_ bytes: Data, _ body: WireAuthorizeRequest, _ exchange: Exchange) throws -> Reply {
        guard let id = VaultID(bytes: bytes) else { throw RightStore.notFound }
        let opener = try opener(ofRight: id, exchange)
        guard !opener.accessControl.confirmsEachSignature else { throw Self.confirmsEachSignature }
        let limited = opener.limited
        if body.preflight { return try preflight(opener.demand, body.contextID, for: limited, exchange) }
        let context = try exchange.contexts.context(body.contextID)
        let asking = try exchange.asking(body.question)
        // A program that forbids a prompt asks whether the authorization that it holds still stands; one that allows it asks
        // the person again.
        if !asking.question.isInteractionAllowed, let held = context.heldRight(id, for: .anything) {
            return try grantAgain(
                held.factorNames, held.strength, as: exchange.event("authorize", object: held.identifier), exchange,
                whileStanding: { try Self.require(context.heldRight(id, for: .anything) === held) })
        }
        var leased = LeasedUse(anyOf: opener.operations, exchange)
        if let reply = try authorizeUnderLease(&leased, opener, in: context, asking, exchange) { return reply }
        let evaluation = try authorize(
            opener, opener.demand, in: context, asking, exchange, recordedAs: exchange.event("authorize"),
            unlessLeased: leased, operations: opener.operations, anywhere: true)
        return Reply(.granted(granted(evaluation.factorNames, evaluation.label)))
    }

    /// Proves what a right or key demands, opens it, and lets the context keep it, or a lease if the person agreed to one.
    ///
    /// - Parameters:
    ///   - leased: the look for a lease that would have made the question needless.
    ///   - operations: what a lease may be offered for.
    ///   - isAnywhere: whether the question names no destination, since the uses do.
    ///   - purpose: what the question names. For SSH the person is asked even if the context keeps other answers: these named something
    ///     else.
    func authorize(
        _ opener: RightOpener, _ demand: Demand, in context: EvaluationContext, _ asking: Asking, _ exchange: Exchange,
        recordedAs event: AuditTrail.Event, unlessLeased leased: LeasedUse, operations: Set<AccessControl.Operation>,
        anywhere isAnywhere: Bool = false, for purpose: GrantPurpose = .anything
    ) throws -> Evaluation {
        let (limited, takesKept) = (opener.limited, purpose == .anything)
        try context.requireRoom(for: limited)
        var asking = asking
        asking.applicationPassword =
            takesKept || context.isApplicationPasswordSet ? context.applicationPassword(for: limited) : nil
        let takesKeptPassword = asking.applicationPassword != nil && !context.isApplicationPasswordSet
        let kept = takesKept ? exchange.account.held(in: context, for: limited) : .none
        // A program that asks itself keeps its grant. A door's clients come and go, and each of them would ask again. A lease stands on
        // nothing that was proved before.
        // One for a key that is for SSH alone names a host or namespace, which this question does not.
        let isNamed = !isAnywhere || opener.sshConstraints == nil
        let isOffered =
            exchange.isForClient && isNamed && kept.proofs.isEmpty && asking.applicationPassword == nil
        let offers = isOffered ? leased.offers(within: limited.limits) : .none
        var demand = demand
        demand.offer(offers)
        let leaseEra = exchange.account.leases.era
        return try context.evaluating(asking.cancellation) { era in
            let evaluation = try leased.asking(event.about(opener.object.attributes.identifier.text)) {
                try exchange.account.evaluator.evaluate(
                    demand, held: kept, keepingFor: context.keepingTime, asking: asking)
            }
            let right = try open(opener, by: evaluation, in: context, of: exchange.account)
            let draft = leased.draft(
                of: offers, evaluation, LeasedObject(right, of: opener), operations: operations, anywhere: isAnywhere)
            try grant(evaluation, asking, exchange, as: event.about(right.identifier)) {
                try requireStillStored(right.id, exchange)
                if let draft {
                    try keep(draft, since: leaseEra, exchange)
                    try context.grantUnderLease(right.id, since: era)
                } else {
                    try context.grant(
                        right, for: purpose, standsOnKept: evaluation.standsOnHeld || takesKeptPassword, since: era)
                }
                try context.keep(evaluation, since: era)
                exchange.account.keyUses.note(right.id)
            }
            return evaluation
        }
    }

    /// Authorizes a right under a lease, if one permits any use of it. Nothing is counted before the uses. Each use is decided for itself.
    private func authorizeUnderLease(
        _ leased: inout LeasedUse, _ opener: RightOpener, in context: EvaluationContext, _ asking: Asking,
        _ exchange: Exchange
    ) throws -> Reply? {
        guard let held = leased.find(opener.object.id) else { return nil }
        let event = exchange.event(
            "authorize", object: opener.object.attributes.identifier.text, lease: held.id)
        let reply: Reply = try context.evaluating(asking.cancellation) { era in
            try grantAgain(held.factorNames, held.strength, as: event, exchange) {
                guard exchange.account.leases.isHeld(held.id, opener.object.id) else {
                    throw LeaseRefusal.revoked.refusal(of: held.id)
                }
                try context.grantUnderLease(opener.object.id, since: era)
            }
        }
        return reply
    }

    /// Opens a right. If its entry of the passcode does not count any more, the context keeps it no longer: the next call asks again.
    private func open(
        _ opener: RightOpener, by evaluation: Evaluation, in context: EvaluationContext, of account: OwnerAccount
    ) throws -> OpenedRight {
        do {
            return try account.keeper.exclusively { try opener.opened(by: evaluation, enclave: enclave) }
        } catch EnclaveError.passcodeTriedMeanwhile {
            context.endKeptFactors()
            throw EnclaveError.passcodeTriedMeanwhile
        }
    }

    /// A right that was removed while the person was asked: its removal has ended the grants that it found, or will.
    func requireStillStored(_ id: VaultID, _ exchange: Exchange) throws { _ = try storedObject(id, exchange) }

    /// An opened right or key as the store has it now.
    func storedObject(_ id: VaultID, _ exchange: Exchange) throws -> ObjectRecord {
        guard let object = try vault.read({ try $0.object(id, owner: exchange.account.id) }) else {
            throw RightStore.notFound
        }
        return object
    }

    private func authorizeRequirement(
        _ bytes: Data, _ body: WireAuthorizeRequest, _ exchange: Exchange
    ) throws -> Reply {
        let limits = try body.limits.map(GrantLimits.init)
        let demand = Demand(
            requirements: [try Requirement(canonicalBytes: Array(bytes))], availability: nil, object: "",
            operation: "authorize an action of the program",
            isAtTrustedPlace: limits?.isAtTrustedPlace ?? false)
        let limited = LimitedSubject(.requirement(bytes), limits)
        if body.preflight { return try preflight(demand, body.contextID, for: limited, exchange) }
        let context = try exchange.contexts.context(body.contextID)
        let asking = try exchange.asking(body.question)
        let event = exchange.event("authorize-requirement")
        // As for rights: a forbidden prompt asks whether the authorization still stands. The limits are those that it was given; one that
        // was given elsewhere stands for nothing at the trusted place.
        if !asking.question.isInteractionAllowed, let held = context.heldRequirement(bytes),
            held.isAtTrustedPlace || !demand.isAtTrustedPlace
        {
            return try grantAgain(
                held.factorNames, held.strength, as: event, exchange,
                whileStanding: { try context.use(held, of: bytes) })
        }
        try context.requireRoom(for: limited)
        let evaluation = try context.evaluating(asking.cancellation) { era in
            let evaluation = try exchange.account.evaluator.evaluate(
                demand, held: exchange.account.held(in: context, for: limited), keepingFor: context.keepingTime,
                asking: asking)
            try grant(evaluation, asking, exchange, as: event) {
                let grant = EvaluationContext.RequirementGrant(
                    factorNames: evaluation.factorNames, strength: evaluation.label, limits: limits,
                    since: clock.now().time)
                try context.grant(
                    requirement: bytes, grant, standsOnKept: evaluation.standsOnHeld, since: era)
                try context.keep(evaluation, since: era)
            }
            return evaluation
        }
        return Reply(.granted(granted(evaluation.factorNames, evaluation.label)))
    }

    // MARK: shared

    /// The opener of a right or key that the program may use.
    func opener(ofRight id: VaultID, _ exchange: Exchange) throws -> RightOpener {
        let account = exchange.account
        return try opener(of: account.rights.find(id: id, usableBy: exchange.accessGroups), account)
    }

    func opener(of object: ObjectRecord, _ account: OwnerAccount) throws -> RightOpener {
        let label = object.kind == .enclaveKey ? account.items.label(ofKey: object) : nil
        return try RightOpener(
            object, label: label, in: vault, ring: account.ring, stretching: account.stretching)
    }

    /// Records an authorization and then keeps it, in one step, unless it was ended while the person was asked: then it is
    /// neither recorded nor kept.
    func grant(
        _ evaluation: Evaluation, _ asking: Asking, _ exchange: Exchange, as event: AuditTrail.Event,
        keeping keep: () throws -> Void
    ) throws {
        try exchange.verifyCaller()
        try exchange.trail.decide {
            try asking.cancellation.check()
            try exchange.trail.grant(
                event, factors: evaluation.factorNames, strength: evaluation.label,
                isProved: !evaluation.proofs.isEmpty)
            asking.cancellation.noteOpeningRecorded()
            try keep()
            noteBiometry(evaluation, exchange.account)
        }
    }

    /// To be called when the evaluation is recorded, in the same step.
    func noteBiometry(_ evaluation: Evaluation, _ account: OwnerAccount) {
        account.recentBiometry.note(
            evaluation, at: clock.now().time, enrolledSet: account.sensor?.lastSensorState?.enrolledSet)
    }

    /// Answers that what was proved before stands, recorded like any other use of it; refused when it has been ended meanwhile.
    func grantAgain(
        _ factors: [String], _ strength: String, as event: AuditTrail.Event, _ exchange: Exchange,
        biometry: WireBiometry? = nil, whileStanding requireStanding: () throws -> Void
    ) throws -> Reply {
        try exchange.verifyCaller()
        try exchange.trail.decide {
            try requireStanding()
            try exchange.trail.use(event, factors: factors, strength: strength)
        }
        return Reply(.granted(granted(factors, strength, biometry: biometry)))
    }

    static func require(_ stands: Bool) throws(Refusal) {
        if !stands { throw RequestCancellation.refusal(.locked) }
    }

    /// Says whether a demand could be satisfied now, in a context or without one.
    private func preflight(
        _ demand: Demand, _ contextID: UInt64, for subject: LimitedSubject? = nil, _ exchange: Exchange
    ) throws -> Reply {
        try exchange.account.evaluator.preflight(
            demand, held: held(inContext: contextID, for: subject, exchange),
            for: exchange.caller.credentials)
        return .done
    }

    func held(
        inContext contextID: UInt64, for subject: LimitedSubject? = nil, _ exchange: Exchange
    ) throws -> HeldFactors {
        contextID == 0 ? .none : exchange.account.held(in: try exchange.contexts.context(contextID), for: subject)
    }

    func granted(_ factors: [String], _ strength: String, biometry: WireBiometry? = nil) -> WireGranted {
        .with {
            $0.factors = factors
            $0.strength = strength
            $0.biometry = biometry
        }
    }
}

extension GrantLimits {
    /// - Throws: ``GrantLimitsError``, which refuses the request.
    fileprivate init(_ limits: WireGrantLimits) throws {
        try self.init(
            idleSeconds: limits.idleSeconds, hardSeconds: limits.hardSeconds, uses: limits.uses,
            isAtTrustedPlace: limits.isAtTrustedPlace)
    }
}
