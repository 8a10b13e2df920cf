import AccessControl
import Auditing
import Authenticators
import Callers
import Foundation
import OstiaryMessages
import OwnerKeys
import Owners
import ProtectedObjects
import Refusals
import SecretMemory
import Sessions
import Vault

/// Uses of rights and keys that confirm each signature. Each asks the person, opens the right for this one use, and keeps nothing.
extension Broker {
    static let confirmsEachSignature = Refusal(
        .operationNotPermitted,
        "This right or key cannot be authorized: it only signs, and asks for each signature. Sign with it directly.",
        cause: "right.confirms-each-signature")

    private static let confirmsNothing = Refusal(
        .invalidParameter, "This right or key does not confirm each signature. Authorize it, and use it then.",
        cause: "right.confirms-nothing")

    func signConfirmed(_ body: WireConfirmedSignRequest, _ exchange: Exchange) throws -> Reply {
        let signing = try ConfirmedSigning(body, input: exchange.request.tail)
        let asking = try exchange.asking(body.question)
        return try useOnce(
            body.rightID, asking, exchange, recordedAs: exchange.request.eventName,
            demand: { $0.demand(forSigning: signing.shown) },
            { right in try signing.signature(of: exchange.request.tail, with: right) })
    }

    func attestConfirmed(_ body: WireConfirmedAttestRequest, _ exchange: Exchange) throws -> Reply {
        let attestation = try attestation(answering: exchange.request)
        let asking = try exchange.asking(body.question)
        return try useOnce(
            body.rightID, asking, exchange, recordedAs: exchange.request.eventName, demand: \.demandForAttestation,
            attestation)
    }

    private func useOnce(
        _ rightID: Data, _ asking: Asking, _ exchange: Exchange, recordedAs name: String,
        demand: (RightOpener) -> Demand, _ work: (OpenedRight) throws -> SecretBytes
    ) throws -> Reply {
        guard let id = VaultID(bytes: rightID) else { throw RightStore.notFound }
        let account = exchange.account
        let opener = try opener(ofRight: id, exchange)
        guard opener.accessControl.confirmsEachSignature else { throw Self.confirmsNothing }
        let evaluation = try account.evaluator.evaluate(demand(opener), asking: asking)
        let right = try account.keeper.exclusively { try opener.opened(by: evaluation, enclave: enclave) }
        let result = try work(right)
        try grant(evaluation, asking, exchange, as: exchange.event(name, object: right.identifier)) {
            try requireStillStored(id, exchange)
            account.keyUses.note(id)
        }
        return .payload(result)
    }
}
