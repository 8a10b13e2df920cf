import AccessControl
import Auditing
import Authenticators
import Callers
import ExactNames
import OstiaryMessages
import Owners
import ProcessFacts
import ProtectedObjects
import Refusals
import SecretMemory
import Sessions
import Vault

/// One request's look for a lease that stands in for a question to the person.
struct LeasedUse {
    private let exchange: Exchange
    /// Of which the lease must permit one.
    private let operations: [AccessControl.Operation]
    private let destination: LeaseDestination
    private let isOffered: Bool
    /// The lease that came nearest, and why it does not permit the use.
    private var nearest: (refusal: LeaseRefusal, id: UInt64)?

    private var leases: LeaseTable { exchange.account.leases }

    /// - Parameter destination: a host key's fingerprint, a namespace behind `namespace:`, or a server. The daemon found it out itself.
    /// - Parameter isOffered: whether the question may offer a lease, if none stands.
    init(
        _ operation: AccessControl.Operation, at destination: LeaseDestination = .none,
        offered isOffered: Bool = true, _ exchange: Exchange
    ) {
        (self.exchange, self.operations, self.destination) = (exchange, [operation], destination)
        self.isOffered = isOffered
    }

    init(anyOf operations: Set<AccessControl.Operation>, _ exchange: Exchange) {
        (self.exchange, self.operations) = (exchange, operations.sorted())
        (destination, isOffered) = (LeaseDestination.none, true)
    }

    // MARK: a lease that stands

    /// A lease that permits the use. It is counted later, by ``LeaseTable/count(_:)``.
    mutating func find(_ object: VaultID) -> LeaseTable.Held? {
        guard !leases.isEmpty else { return nil }
        let session = leases.needSession(for: object) ? exchange.caller.session : nil
        for operation in operations {
            switch leases.find(query(object, operation, in: session)) {
            case .permitted(let held): return held
            case .refused(let refusal, let id): note(refusal, of: id)
            case .absent: break
            }
        }
        return nil
    }

    /// Notes why a lease does not serve the use.
    mutating func note(_ refusal: LeaseRefusal, of id: UInt64) {
        if nearest.map({ refusal.place > $0.refusal.place }) ?? true { nearest = (refusal, id) }
    }

    private func query(
        _ object: VaultID, _ operation: AccessControl.Operation, in session: ProcessSession?
    ) -> LeaseQuery {
        LeaseQuery(
            program: LeaseQuery.Program(exchange.caller), file: exchange.caller.executedFile, session: session,
            door: exchange.isForClient ? LeaseQuery.Program(exchange.session.caller) : nil, object: object,
            operation: operation, destination: destination)
    }

    // MARK: a question all the same

    /// Runs `ask`, which asks the person. If nobody can be asked, throws why the nearest lease does not permit the use. Otherwise that is
    /// only recorded, if the lease is the program's and names the object.
    ///
    /// - Parameter event: what the person is asked for.
    func asking<Result>(_ event: AuditTrail.Event, _ ask: () throws -> Result) throws -> Result {
        let result: Result
        do { result = try ask() } catch let refusal as Refusal where refusal.code == .notInteractive {
            throw self.refusal ?? refusal
        }
        if let nearest, nearest.refusal.concernsProgramAndObject {
            var event = event
            event.leaseID = nearest.id
            exchange.trail.refuse(event, because: nearest.refusal.refusal(of: nearest.id))
        }
        return result
    }

    /// Why no lease permits the use; nil where there is none.
    var refusal: Refusal? { nearest.map { $0.refusal.refusal(of: $0.id) } }

    // MARK: a lease of the first use

    /// The leases that the question for an object may offer: none to a program that the daemon cannot name, or whose session it cannot
    /// tell.
    func offers(within limits: GrantLimits?) -> LeaseOffers {
        guard isOffered, exchange.caller.program.application != CallerProgram.unknown, leases.hasRoom,
            let session = exchange.caller.session
        else { return .none }
        return LeaseOffers(within: limits, in: session)
    }

    /// The lease that the person agreed to with the answer; nil for an answer that counts once. It is for the file that the
    /// program executes and its session, for this door, this object and this destination.
    ///
    /// - Parameters:
    ///   - operations: those that the question named.
    ///   - anywhere: whether the question named no destination, since the uses do.
    func draft(
        of offers: LeaseOffers, _ evaluation: Evaluation, _ object: @autoclosure () throws -> LeasedObject,
        operations: Set<AccessControl.Operation>, anywhere: Bool = false
    ) rethrows -> LeaseDraft? {
        guard let offer = offers.chosen(evaluation.term) else { return nil }
        let object = try object()
        let scope = LeaseScope(
            program: exchange.caller.program.application,
            door: exchange.isForClient ? .named(exchange.session.caller.program.application) : .none,
            objects: [object.id], operations: operations, destinations: anywhere ? nil : [destination.name],
            session: offers.session)
        return LeaseDraft(
            scope, file: exchange.caller.executedFile, limits: offer.limits, purpose: "", endsOnLock: true,
            objects: [object], evaluation: evaluation, grantedTo: exchange.caller.program)
    }
}

extension LeaseQuery.Program {
    init(_ caller: CallerProcess) {
        self.init(path: caller.program.application, applicationID: caller.identity.applicationID)
    }
}

extension Demand {
    /// Has the question offer leases.
    mutating func offer(_ offers: LeaseOffers) { (terms, termPlace) = (offers.terms, offers.place) }
}

extension Broker {
    /// Records a lease and then keeps it. Call it in one step with the record of the proof.
    func keep(_ draft: LeaseDraft, since era: UInt64, _ exchange: Exchange) throws(Refusal) {
        var event = exchange.event("lease-grant", object: draft.logName, lease: draft.id)
        event.details = draft.scope.session.map { "only in \($0.terminal ?? "session \($0.id)")" } ?? ""
        try exchange.trail.grant(event, factors: draft.factorNames, strength: draft.strength, isProved: true)
        try exchange.account.leases.add(draft, since: era)
    }

    /// One use of a right or key under a lease: the operation, then the caller once more, then the lease's decision together with the
    /// record, then the answer.
    func use(
        _ right: OpenedRight, under held: LeaseTable.Held, _ exchange: Exchange, recordedAs event: AuditTrail.Event,
        _ work: (OpenedRight) throws -> SecretBytes
    ) throws -> Reply {
        let result = try work(right)
        try exchange.verifyCaller()
        try exchange.trail.decide {
            try exchange.checkStanding()
            try requireStillStored(right.id, exchange)
            try exchange.account.leases.count(held)
            var event = event.about(right.identifier)
            event.leaseID = held.id
            try exchange.trail.use(event, factors: held.factorNames, strength: held.strength)
            exchange.account.keyUses.note(right.id)
        }
        return .payload(result)
    }
}
