import AccessControl
import Auditing
import Authenticators
import Foundation
import OstiaryWire
import ProtectedObjects
import Refusals
import SecretMemory
import Vault

/// The proofs that one request's items ask for. Without a context they end with the request; one proof serves all items of
/// the request that it satisfies.
final class ItemProofs {
    private let broker: Broker
    private let use: WireItemUse
    private let request: IncomingRequest
    private let session: Session
    private let cancellation: RequestCancellation?
    /// The operation that the prompt shows.
    private let operation: String
    private(set) var last: Evaluation?
    /// The context that was proved in, and its era then.
    private var proved: (context: EvaluationContext, era: UInt64)?

    init(
        of broker: Broker, for use: WireItemUse, operation: String, _ request: IncomingRequest, _ session: Session,
        _ cancellation: RequestCancellation?
    ) {
        self.broker = broker
        self.use = use
        self.operation = operation
        self.request = request
        self.session = session
        self.cancellation = cancellation
    }

    /// Whether to leave the item out because it would ask: the context's factors do not satisfy its rule.
    func skips(_ opener: ItemOpener) throws -> Bool {
        guard use.skipsProtected, opener.isProtected else { return false }
        guard let context = try context(), let requirement = opener.accessControl[.read] else { return true }
        var held = session.account.held(in: context).factors
        if context.applicationPassword != nil { held.insert(.applicationPassword) }
        return !requirement.alternatives.contains(where: held.satisfies)
    }

    /// Whether `refusal` leaves an item out instead of ending the search: the context's password belongs to another
    /// item, or the context's proof has just ended.
    func leavesOut(_ refusal: Refusal) -> Bool {
        guard use.skipsProtected else { return false }
        return [.authenticationFailed, .notInteractive, .lockedOut].contains(refusal.code)
    }

    /// The proof of the item's rule; nil when the rule asks for nothing. Asks the person and records the proof. Throws
    /// the refusal when the person does not prove it.
    func proof(for opener: ItemOpener, _ attributes: ItemAttributes) throws -> Evaluation? {
        guard opener.isProtected else { return nil }
        if let last, !opener.asksForApplicationPassword, let requirement = opener.accessControl[.read],
            requirement.alternatives.contains(where: last.factors.satisfies)
        {
            return last
        }
        let evaluation = try evaluate(
            opener.demand(operation, object: attributes.shownName),
            recordedAs: broker.event("authorize", session, object: opener.record.logName))
        last = evaluation
        return evaluation
    }

    /// Proves the demand in addition to the context's factors. The context then holds the new proofs.
    private func evaluate(_ demand: Demand, recordedAs event: AuditTrail.Event) throws -> Evaluation {
        let asking = try asking()
        guard let context = try context() else {
            let evaluation = try session.account.evaluator.evaluate(demand, asking: asking)
            try broker.grant(evaluation, asking, session, as: event) {}
            return evaluation
        }
        return try context.evaluating(asking.cancellation) { era in
            let evaluation = try session.account.evaluator.evaluate(
                demand, held: session.account.held(in: context), asking: asking)
            try broker.grant(evaluation, asking, session, as: event) { try context.keep(evaluation, since: era) }
            if proved == nil { proved = (context, era) }
            return evaluation
        }
    }

    /// Throws when the proof has ended since: by a lock, or in its context by the program. Call it in one step with the
    /// record of the release.
    func requireStanding() throws(Refusal) {
        guard last != nil else { return }
        try cancellation?.check()
        if let proved { try proved.context.requireEra(proved.era) }
    }

    /// The password that the program gave the context beforehand.
    func applicationPassword() throws -> Credential? {
        try context()?.applicationPassword
    }

    /// How the person is asked; refuses with `notInteractive` later on, when there is nothing to ask with.
    func asking() throws -> Asking {
        var asking = Asking(
            caller: session.caller, terminal: request.terminal,
            question: try use.question.map(QuestionStyle.init) ?? .askingNobody,
            cancellation: try broker.slow(cancellation))
        asking.applicationPassword = try applicationPassword()
        return asking
    }

    private func context() throws -> EvaluationContext? {
        use.contextID == 0 ? nil : try session.contexts.context(use.contextID)
    }
}
