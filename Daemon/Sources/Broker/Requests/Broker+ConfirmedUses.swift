import AccessControl
import Auditing
import Authenticators
import Callers
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

/// Uses of rights and keys that confirm each signature. Each asks the person, opens the right for this one use, and keeps nothing. A lease
/// stands in for the question where the object's access control permits one.
extension Broker {
    static let confirmsEachSignature = Refusal(
        .operationNotPermitted,
        "This right or key cannot be authorized: it only signs, and asks for each signature. Sign with it directly.",
        cause: "right.confirms-each-signature")

    static let confirmsNothing = Refusal(
        .invalidParameter, "This right or key does not confirm each signature. Authorize it, and use it then.",
        cause: "right.confirms-nothing")

    static let signsForSSHOnly = Refusal(
        .operationNotPermitted,
        "This right or key signs for SSH and has no other use. Make another one for other purposes.",
        cause: "ssh.only")

    func signConfirmed(_ body: WireConfirmedSignRequest, _ exchange: Exchange) throws -> Reply {
        let signing = try ConfirmedSigning(body, input: exchange.request.tail)
        let asking = try exchange.asking(body.question)
        let opener = try confirmingOpener(body.rightID, exchange)
        guard opener.sshConstraints == nil else { throw Self.signsForSSHOnly }
        return try useOnce(
            opener, opener.demand(forSigning: signing.shown), asking, exchange, recordedAs: exchange.event(),
            underLease: LeasedUse(.sign, exchange)
        ) { right in try signing.signature(of: exchange.request.tail, with: right) }
    }

    func attestConfirmed(_ body: WireConfirmedAttestRequest, _ exchange: Exchange) throws -> Reply {
        let attestation = try attestation(answering: exchange.request)
        let asking = try exchange.asking(body.question)
        let opener = try confirmingOpener(body.rightID, exchange)
        return try useOnce(
            opener, opener.demandForAttestation, asking, exchange, recordedAs: exchange.event(), attestation)
    }

    private func confirmingOpener(_ rightID: Data, _ exchange: Exchange) throws -> RightOpener {
        guard let id = VaultID(bytes: rightID) else { throw RightStore.notFound }
        let opener = try opener(ofRight: id, exchange)
        guard opener.accessControl.confirmsEachSignature else { throw Self.confirmsNothing }
        return opener
    }

    /// Asks the person, opens the right for this one use, and records it. A lease stands in for the question where the object permits one.
    ///
    /// - Parameter leased: how a lease is looked for; nil for a use that always asks.
    func useOnce(
        _ opener: RightOpener, _ demand: Demand, _ asking: Asking, _ exchange: Exchange,
        recordedAs event: AuditTrail.Event, underLease leased: LeasedUse? = nil,
        _ work: (OpenedRight) throws -> SecretBytes
    ) throws -> Reply {
        let account = exchange.account
        var leased = opener.accessControl.leaseLimits == nil ? nil : leased
        if let held = leased?.find(opener.object.id), case .key(let right) = held.opened {
            return try use(right, under: held, exchange, recordedAs: event, work)
        }
        let offers = leased?.offers(within: opener.accessControl.leaseLimits) ?? LeaseOffers.none
        var demand = demand
        demand.offer(offers)
        let era = account.leases.era
        let ask = { try account.evaluator.evaluate(demand, asking: asking) }
        let evaluation = try leased?.asking(event.about(opener.object.attributes.identifier.text), ask) ?? ask()
        let right = try account.keeper.exclusively { try opener.opened(by: evaluation, enclave: enclave) }
        let result = try work(right)
        let draft = leased?.draft(of: offers, evaluation, LeasedObject(right, of: opener), operations: [.sign])
        try grant(evaluation, asking, exchange, as: event.about(right.identifier)) {
            try requireStillStored(right.id, exchange)
            if let draft { try keep(draft, since: era, exchange) }
            account.keyUses.note(right.id)
        }
        return .payload(result)
    }
}
