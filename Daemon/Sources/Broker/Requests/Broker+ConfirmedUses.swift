import AccessControl
import Auditing
import Authenticators
import Callers
import Foundation
import OstiaryWire
import OwnerKeys
import ProtectedObjects
import Refusals
import SecretMemory
import Vault

/// Uses of rights that confirm each signature. Each asks the person, opens the right for this one use, and keeps nothing.
extension Broker {
    static let confirmsEachSignature = Refusal(
        .operationNotPermitted,
        "This right cannot be authorized: it only signs, and asks for each signature. Sign with it directly.",
        cause: "right.confirms-each-signature")

    private static let confirmsNothing = Refusal(
        .invalidParameter, "This right does not confirm each signature. Authorize it, and use it then.",
        cause: "right.confirms-nothing")

    func signConfirmed(
        _ body: WireConfirmedSignRequest, _ request: IncomingRequest, _ session: Session,
        _ cancellation: RequestCancellation?
    ) throws -> Reply {
        let signing = try ConfirmedSigning(body, input: request.tail)
        let asking = try asking(body.question, request, session, cancellation)
        return try useOnce(
            body.rightID, asking, session, recordedAs: request.eventName,
            demand: { $0.demand(forSigning: signing.shown) },
            { right in try signing.signature(of: request.tail, with: right) })
    }

    func attestConfirmed(
        _ body: WireConfirmedAttestRequest, _ request: IncomingRequest, _ session: Session,
        _ cancellation: RequestCancellation?
    ) throws -> Reply {
        let attestation = try attestation(answering: request)
        let asking = try asking(body.question, request, session, cancellation)
        return try useOnce(
            body.rightID, asking, session, recordedAs: request.eventName, demand: \.demandForAttestation, attestation)
    }

    private func useOnce(
        _ rightID: Data, _ asking: Asking, _ session: Session, recordedAs name: String,
        demand: (RightOpener) -> Demand, _ work: (OpenedRight) throws -> SecretBytes
    ) throws -> Reply {
        guard let id = VaultID(bytes: rightID) else { throw RightStore.notFound }
        let account = session.account
        let object = try account.rights.find(id: id, application: session.caller.application)
        let opener = try RightOpener(object, label: nil, in: vault, ring: account.ring, stretching: account.stretching)
        guard opener.accessControl.confirmsEachSignature else { throw Self.confirmsNothing }
        let evaluation = try account.evaluator.evaluate(demand(opener), asking: asking)
        let right = try account.keeper.exclusively { try opener.opened(by: evaluation, enclave: enclave) }
        let result = try work(right)
        try grant(evaluation, asking, session, as: event(name, session, object: right.identifier)) {
            try requireStillStored(id, session)
            account.keyUses.note(id)
        }
        return .payload(result)
    }
}
