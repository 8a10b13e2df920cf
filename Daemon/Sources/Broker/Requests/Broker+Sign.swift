import Auditing
import Authenticators
import Foundation
import Opening
import OstiaryMessages
import OwnerKeys
import Owners
import PromptProtocol
import Prompting
import Refusals
import SecretMemory
import Sessions
import StoreKeys
import Vault

/// The owner's sign, which the trusted place shows and nobody else sees. It is typed there and nowhere else.
extension Broker {
    func setSign(_ exchange: Exchange, _ asking: Asking) throws {
        guard prompter.hasTrustedPlace else { throw Questioning.withoutTrustedPlace }
        let event = exchange.event("sign-set")
        // The question for the passcode shows the present sign: the person sees that the place is the true one.
        if exchange.account.ring.isPasscodeSet {
            _ = try provePasscode("set your sign", isAtTrustedPlace: true, asking, exchange, for: event)
        }
        let sign = try newSign(asking)
        try exchange.verifyCaller()
        try exchange.account.changing.withLock {
            try asking.cancellation.check()
            try exchange.trail.change(event)
            try OwnerSignStorage(vault: vault, owner: exchange.account.id, keys: store.keys).save(sign)
        }
        exchange.trail.note(event)
    }

    private func newSign(_ asking: Asking) throws -> OwnerSign {
        let questioning = Questioning(prompter: prompter, asking: asking, isAtTrustedPlace: true)
        var notice: DisplayText?
        var last = Refusal(.invalidParameter, "No sign was entered.", cause: "sign.none")
        for _ in 1...ProofCollector.triesPerEvaluation {
            let typed = try questioning.secret(
                PromptQuestion(
                    .newSign, operation: DisplayText("set your sign"), reason: asking.question.reason,
                    hint: DisplayText("Words that only you know, as “amber otter 47”. Not your passcode."),
                    notice: notice, cancelTitle: asking.question.cancelTitle))
            do throws(OwnerSignViolation) { return try OwnerSign(typed: typed) } catch {
                notice = DisplayText(error.sentence)
                last = Refusal(.invalidParameter, error.sentence, cause: "sign.\(error)")
            }
        }
        throw last
    }
}
