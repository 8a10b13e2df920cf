import AccessControl
import Auditing
import Authenticators
import ExactNames
import Foundation
import OstiaryMessages
import OwnerKeys
import Owners
import ProtectedObjects
import Refusals
import SecretMemory
import Sessions
import Vault

/// The proofs that one request's items ask for. Without a context they end with the request. One proof serves the items of
/// the request that its question named and whose rules it satisfies.
final class ItemProofs {
    /// What the request does with items, as the prompt shows it.
    enum Purpose: String {
        case add, read, change, delete
    }

    /// All items of the request; a question names those of them that its answer opens.
    struct Candidates {
        /// The name that the request gives each of them.
        var knownName: String?
        /// Lends one after the other. They are read only when a question is put.
        let forEach: (_ body: (ItemOpener) throws -> Void) throws -> Void
    }

    /// What was proved, and for which items.
    private struct Proved {
        let evaluation: Evaluation
        /// Nil when nobody was asked: a context that holds factors serves whichever item they satisfy.
        let ids: Set<VaultID>?

        func covers(_ opener: ItemOpener) -> Bool { ids?.contains(opener.record.id) ?? (opener.limited.limits == nil) }
    }

    private let broker: Broker
    private let use: WireItemUse
    private let exchange: Exchange
    private let purpose: Purpose
    let strengths: ItemStrengths
    var candidates = Candidates { _ in }
    /// Whether the request reads the data of items.
    var returnsData = false
    private var proved: [Proved] = []
    /// The look for a lease of the item that was looked at last.
    private var leased: LeasedUse?
    /// Items that were opened under a lease.
    private var leasedIDs: Set<VaultID> = []
    /// Leases that the person agreed to with the answer for one item, with the offers of the question.
    private var agreed: [VaultID: (evaluation: Evaluation, offers: LeaseOffers)] = [:]
    private var drafts: [VaultID: LeaseDraft] = [:]
    /// Read before anybody is asked.
    private let leaseEra: UInt64
    /// The context that was proved in, and its era then.
    private var provedIn: (context: EvaluationContext, era: EvaluationContext.Era)?

    init(of broker: Broker, for use: WireItemUse, to purpose: Purpose, _ exchange: Exchange) {
        self.broker = broker
        self.use = use
        self.purpose = purpose
        self.exchange = exchange
        leaseEra = exchange.account.leases.era
        strengths = ItemStrengths(of: exchange.account)
    }

    // MARK: leaving out

    /// Whether to leave the item out because it would ask: its class is closed, or the context's factors do not satisfy its
    /// rule. So is one whose data is for other programs. An item that stands for a key is not left out: before a program destroys a
    /// key, it must know that the item is there.
    func skips(_ opener: ItemOpener) throws -> Bool {
        guard use.skipsProtected else { return false }
        if returnsData, !exchange.isForProgram(opener.record) { return true }
        if opener.record.keyID == nil, try opener.closedClass != nil { return true }
        return try opener.isProtected && !isHeld(opener) && !hasLease(opener)
    }

    /// Whether the context's proofs and password satisfy the item's rule.
    private func isHeld(_ opener: ItemOpener) throws -> Bool {
        guard let context = try context(), let requirement = opener.accessControl[.read] else { return false }
        let kept = exchange.account.held(in: context, for: opener.limited)
        guard !opener.accessControl.isAtTrustedPlace else {
            return requirement.alternatives.contains(where: kept.ofTrustedPlace.factors.satisfies)
        }
        var held = kept.factors
        if context.applicationPassword(for: opener.limited) != nil { held.insert(.applicationPassword) }
        return requirement.alternatives.contains(where: held.satisfies)
    }

    /// The lock between the program and the item.
    func lock(of opener: ItemOpener) throws -> WireItemLock {
        guard try opener.isOpen else { return .closed }
        guard opener.isProtected else { return .open }
        return try isHeld(opener) || hasLease(opener) ? .proved : .ruled
    }

    /// Whether `refusal` leaves an item out instead of ending the search: the context's password belongs to another
    /// item, or the context's proof has just ended.
    func leavesOut(_ refusal: Refusal) -> Bool {
        guard use.skipsProtected else { return false }
        return [.authenticationFailed, .notInteractive, .lockedOut].contains(refusal.code)
    }

    // MARK: closed classes

    /// Opens the store if the item's class is closed: asks for the passcode and records that. Throws `locked` when nobody may
    /// be asked.
    func open(_ opener: ItemOpener) throws { try open([opener]) }

    /// The same for items that change together.
    ///
    /// - Parameter classes: those that the items are to have.
    func open(_ openers: [ItemOpener], movingTo classes: [AvailabilityClass] = []) throws {
        let present = try openers.lazy.compactMap { try $0.closedClass }.first
        guard let closed = present ?? exchange.account.ring.closedClass(among: classes) else { return }
        try unlock(closed) {
            let items = try items { try $0.closedClass != nil || Self.serve([.passcode], $0) }
            return items.isEmpty ? try self.items { _ in true } : items
        }
    }

    /// The same for an item that is being made.
    func open(_ classes: [AvailabilityClass], forNew attributes: ItemAttributes, of itemClass: ItemClass) throws {
        guard let closed = exchange.account.ring.closedClass(among: classes) else { return }
        try unlock(closed) { ItemsInQuestion(new: attributes, of: itemClass) }
    }

    private func unlock(_ closed: AvailabilityClass, _ items: () throws -> ItemsInQuestion) throws {
        // Not on a thread of its own: programs without a terminal may try this again and again.
        let mayAsk = use.withholdsQuestion || use.question.map { !$0.interactionNotAllowed } ?? false
        guard mayAsk, !use.skipsProtected else { throw Refusal.locked }
        let (asking, items) = (try asking(), try items())
        let demand = Demand(requirements: [.unrestricted], availability: closed, object: items.name, operation: "")
        // What a context holds is older than the lock, and opens nothing after it.
        do { try evaluate(demand, about: items, held: .none, asking, recordedAs: "unlock") } catch let refusal
            as Refusal
            where refusal == Refusal.notInteractive
        { throw Refusal.locked }
    }

    /// The items of the request that are `wanted`.
    private func items(_ wanted: (ItemOpener) throws -> Bool) throws -> ItemsInQuestion {
        var items = ItemsInQuestion()
        try candidates.forEach { if try wanted($0) { try items.add($0, knownName: candidates.knownName) } }
        return items
    }

    /// Whether proving one of `sets` proves the item's rule. An application password proves nothing of another item.
    private static func serve(_ sets: [FactorSet], _ opener: ItemOpener) -> Bool {
        guard opener.isProtected, !opener.asksForApplicationPassword, let requirement = opener.accessControl[.read]
        else {
            return false
        }
        return requirement.alternatives.contains { wanted in sets.contains { $0.satisfies(wanted) } }
    }

    // MARK: leases

    private func hasLease(_ opener: ItemOpener) throws -> Bool {
        guard purpose == .read, !exchange.account.leases.isEmpty else { return false }
        return try lease(for: opener, opener.attributes()) != nil
    }

    /// The opened item of a lease that permits reading it without a question; nil when a question is needed, or none.
    func lease(for opener: ItemOpener, _ attributes: ItemAttributes) throws -> LeaseTable.Held? {
        leased = nil
        // Without a lease, and where none can be offered, there is nothing to look for.
        guard exchange.isForClient || !exchange.account.leases.isEmpty else { return nil }
        // A lease on an imported SSH key would be one for all hosts: its item has no destination.
        guard purpose == .read, opener.isProtected, !attributes.isImportedSSHKey, try !isHeld(opener) else {
            return nil
        }
        // The item's own word, and not the program's.
        let server = LeaseDestination(ExactName(attributes.text("srvr") ?? ""), mustBeNamed: false)
        var look = LeasedUse(.read, at: server, exchange)
        defer { leased = look }
        guard let held = look.find(opener.record.id), case .item(let item) = held.opened else { return nil }
        guard item.fits(opener.record) else {
            exchange.account.leases.lose(opener.record.id, because: .objectChanged)
            look.note(.objectChanged, of: held.id)
            return nil
        }
        leasedIDs.insert(opener.record.id)
        return held
    }

    /// Takes the item's secret for a lease that the person agreed to; nil for an answer that counts once. The item is then read by what is
    /// returned: the opener opens nothing more.
    func openedForLease(_ opener: ItemOpener, _ attributes: ItemAttributes, by proof: Evaluation) throws -> OpenedItem?
    {
        guard let (evaluation, offers) = agreed[opener.record.id], let leased else { return nil }
        let item = try OpenedItem(opener, by: proof)
        drafts[opener.record.id] = leased.draft(
            of: offers, evaluation, LeasedObject(item, of: opener, named: attributes.shownName), operations: [.read])
        return item
    }

    /// Keeps the leases that the person agreed to. Call it in one step with the record of the release.
    func keepLeases() throws {
        for draft in drafts.values { try broker.keep(draft, since: leaseEra, exchange) }
        drafts = [:]
    }

    /// The leases that the question for one item may offer. The program asks through a door: one that asks itself has a context, which can
    /// keep the proof.
    private func offers(for opener: ItemOpener, _ items: ItemsInQuestion, _ held: HeldFactors) -> LeaseOffers {
        guard exchange.isForClient, returnsData, !items.areSeveral, held.proofs.isEmpty, let leased else {
            return .none
        }
        return leased.offers(within: opener.limited.limits)
    }

    // MARK: rules

    /// The proof of the item's rule; nil when the rule asks for nothing. Asks the person and records the proof. Throws
    /// the refusal when the person does not prove it.
    func proof(for opener: ItemOpener, _ attributes: ItemAttributes) throws -> Evaluation? {
        guard opener.isProtected else { return nil }
        let covering = proved.filter { $0.covers(opener) }.map(\.evaluation)
        // An answer of the same request counts for each of its items. What a context held for another item need not count here.
        if let proof = covering.first(where: {
            Self.serve([$0.factors], opener) && (opener.limited.limits == nil || !$0.standsOnHeld)
                && (!opener.accessControl.isAtTrustedPlace || $0.place == .trusted)
        }) {
            try count(opener, standsOnKept: false)
            return proof
        }
        let asking = try asking(for: opener.limited)
        let before = try context().map { exchange.account.held(in: $0, for: opener.limited) } ?? .none
        let held = covering.reduce(before) { $0.adding(HeldFactors(proofs: $1.proofs)) }
        let items = try items(askedWith: opener, held, asking.question)
        let offers = asking.applicationPassword == nil ? offers(for: opener, items, held) : .none
        var demand = opener.demand("", object: attributes.shownName)
        demand.offer(offers)
        let ask = {
            try self.evaluate(demand, about: items, held: held, asking, recordedAs: "authorize")
        }
        // An item that is left out for want of a person is left out without one, too.
        let event = exchange.event(object: opener.record.logName)
        let proof = try use.skipsProtected ? ask() : leased?.asking(event, ask) ?? ask()
        if proof.term > 0 { agreed[opener.record.id] = (proof, offers) }
        let ownFactors = FactorSet((proof.proofs + covering.flatMap(\.proofs)).map { FactorSet($0.factor) })
        let takesKeptPassword = try asking.applicationPassword != nil && context()?.isApplicationPasswordSet == false
        try count(opener, standsOnKept: !ownFactors.satisfies(proof.factors) || takesKeptPassword)
        return proof
    }

    /// Begins to count the item's uses in its context. Without a context the proof ends with the request, and serves each item
    /// once.
    private func count(_ opener: ItemOpener, standsOnKept: Bool) throws {
        guard let context = try context() else { return }
        try context.count(opener.limited, standsOnKept: standsOnKept, since: provedIn?.era ?? context.era)
    }

    /// Counts a use of each item that was proved in a context; refuses where one has none left. Call it in one step with the
    /// record of the release.
    func countUses(of openers: some Sequence<ItemOpener>) throws {
        guard let context = try context() else { return }
        for opener in openers where opener.isProtected && !leasedIDs.contains(opener.record.id) {
            try context.use(opener.limited)
        }
    }

    /// The items of the request that the answer to the question for `opener` may open: itself and those whose rules it
    /// satisfies as well. A passcode opens closed classes besides.
    ///
    /// Where nobody may be asked the item is alone, and no others are looked for.
    private func items(
        askedWith opener: ItemOpener, _ held: HeldFactors, _ question: QuestionStyle
    ) throws -> ItemsInQuestion {
        let sets = opener.accessControl[.read]?.alternatives ?? []
        let isAlone =
            !question.isInteractionAllowed
            || sets.allSatisfy { $0 == .applicationPassword || held.factors.satisfies($0) }
        guard !isAlone else {
            var items = ItemsInQuestion()
            try items.add(opener, knownName: nil)
            return items
        }
        let opensStore = sets.contains { $0.contains(.passcode) }
        // An answer that is given elsewhere opens nothing that asks for the trusted place.
        let isAtPlace = opener.accessControl.isAtTrustedPlace
        return try items {
            try $0.record.id == opener.record.id
                || (isAtPlace || !$0.accessControl.isAtTrustedPlace) && Self.serve(sets, $0)
                || opensStore && $0.closedClass != nil
        }
    }

    /// Proves the demand in addition to what is held. The context then holds the new proofs.
    @discardableResult
    private func evaluate(
        _ demand: Demand, about items: ItemsInQuestion, held: HeldFactors, _ asking: Asking, recordedAs name: String
    ) throws -> Evaluation {
        var demand = demand
        demand.objects = items.objects
        demand.operation = "\(purpose.rawValue) \(items.areSeveral ? "keychain items" : "a keychain item")"
        demand.logName = items.logName
        let event = exchange.event(name, object: items.logName)
        let evaluation: Evaluation
        if let context = try context() {
            evaluation = try context.evaluating(asking.cancellation) { era in
                let evaluation = try exchange.account.evaluator.evaluate(
                    demand, held: held, keepingFor: context.keepingTime, asking: asking)
                try broker.grant(evaluation, asking, exchange, as: event) { try context.keep(evaluation, since: era) }
                if provedIn == nil { provedIn = (context, era) }
                return evaluation
            }
        } else {
            evaluation = try exchange.account.evaluator.evaluate(demand, held: held, asking: asking)
            try broker.grant(evaluation, asking, exchange, as: event) {}
        }
        proved.append(Proved(evaluation: evaluation, ids: evaluation.proofs.isEmpty ? nil : items.ids))
        return evaluation
    }

    /// Throws when the request was cancelled, or the proof has ended since: by a lock, or in its context by the program. Call it in
    /// one step with the record of the release. Items that ask for nothing are cancelled, too.
    func requireStanding() throws(Refusal) {
        try exchange.checkStanding()
        if let provedIn { try provedIn.context.requireEra(provedIn.era) }
    }

    /// How the person is asked; refuses with `notInteractive` later on, when there is nothing to ask with.
    ///
    /// - Parameter subject: the item that is to be opened; nil for a new one.
    func asking(for subject: LimitedSubject? = nil) throws -> Asking {
        guard !use.withholdsQuestion || exchange.cancellation == nil else { throw Refusal.questionNeeded }
        var asking = try exchange.asking(use.question.map(QuestionStyle.init) ?? .askingNobody)
        // The password that the program gave the context beforehand.
        asking.applicationPassword = try context()?.applicationPassword(for: subject)
        return asking
    }

    private func context() throws -> EvaluationContext? {
        use.contextID == 0 ? nil : try exchange.contexts.context(use.contextID)
    }
}
