import AccessControl
import Auditing
import Authenticators
import Callers
import Enclave
import ExactNames
import Foundation
import KeySlots
import Logging
import Opening
import OstiaryMessages
import OwnerKeys
import Owners
import Passcodes
import PromptProtocol
import Refusals
import SecretMemory
import Sessions
import Vault
import ProtectedObjects

/// The passcode's life, and the lock.
extension Broker {
    func changePasscode(_ body: WirePasscodeRequest, _ exchange: Exchange) throws -> Reply {
        let asking = try exchange.asking(body.question)
        switch body.action {
        case .set: try setPasscode(exchange, asking)
        case .change: try changePasscode(exchange, asking)
        case .remove: try removePasscode(exchange, asking)
        case .followLogin: try followLogin(exchange, asking)
        case .ignoreLogin: try ignoreLogin(exchange)
        case .sign: try setSign(exchange, asking)
        case .unspecified, .UNRECOGNIZED: throw Refusal(.malformed, "The request names no action.")
        }
        return .done
    }

    private func setPasscode(_ exchange: Exchange, _ asking: Asking) throws {
        guard !exchange.account.ring.isPasscodeSet else { throw Refusal.passcodeAlreadySet }
        let era = exchange.account.ring.era
        let chosen = try newSecret(
            .newPasscode, repeated: .repeatPasscode, object: "", operation: "set the passcode", asking: asking,
            isUnproved: true)
        let change = try exchange.account.life.prepareSetting(as: asking.requester)
        try OwnerPasswordQuestion(to: "set the passcode", prompter, asking).permitting { chipOwner in
            try commit("passcode-set", exchange, asking) { turn in
                try exchange.account.life.set(chosen, change, since: era, in: turn, as: chipOwner)
            }
        } beforeAsking: {
            change.hideProgress()
        }
    }

    private func changePasscode(_ exchange: Exchange, _ asking: Asking) throws {
        let era = exchange.account.ring.era
        let proved = try provePasscode("change the passcode", asking, exchange, for: exchange.event("passcode-change"))
        let chosen = try newSecret(
            .newPasscode, repeated: .repeatPasscode, object: "", operation: "change the passcode", asking: asking)
        let change = try exchange.account.life.prepareChange(of: proved, as: asking.requester)
        try commit("passcode-change", exchange, asking) { turn in
            try exchange.account.life.change(proved, to: chosen, change, since: era, in: turn)
        }
    }

    private func removePasscode(_ exchange: Exchange, _ asking: Asking) throws {
        let era = exchange.account.ring.era
        let proved = try provePasscode("remove the passcode", asking, exchange, for: exchange.event("passcode-remove"))
        let bound = try exchange.account.life.boundToPasscode(as: asking.requester)
        let items = try exchange.account.life.itemsBoundToPasscode(
            destroying: Set(bound.map(\.id)), as: asking.requester)
        let warning = Self.warning(bound, itemCount: items.count)
        let question = PromptQuestion(
            .confirmation(warning: DisplayText(warning)), operation: DisplayText("remove the passcode"),
            reason: asking.question.reason, cancelTitle: asking.question.cancelTitle)
        try Questioning(prompter: prompter, asking: asking).confirmation(question)
        let removal = try exchange.account.life.prepareRemoval(of: proved, as: asking.requester)
        try commit("passcode-remove", exchange, asking) { _ in
            let destroyed = try exchange.account.life.remove(
                proved, destroying: Set(bound.map(\.id) + items), removal, since: era)
            noteDestruction(of: destroyed.objects, by: "passcode-remove", exchange)
            noteDestruction(of: destroyed.items, by: "passcode-remove", exchange)
            return nil
        }
    }

    // MARK: the login

    /// Makes the login password the passcode. Nobody here can tell whether it is: the next login finds out, at the cost of one try.
    private func followLogin(_ exchange: Exchange, _ asking: Asking) throws {
        try requireLogins()
        let era = exchange.account.ring.era
        let proved = try provePasscode(
            "make your login password your passcode", asking, exchange, for: exchange.event("passcode-follow-login"))
        let chosen = try newSecret(
            .newPasscode, repeated: .repeatPasscode, object: "",
            operation: "make your login password your passcode", asking: asking)
        let change = try exchange.account.life.prepareChange(of: proved, as: asking.requester)
        try exchange.account.login.inTurn {
            try commit("passcode-follow-login", exchange, asking) { turn in
                try exchange.account.life.change(proved, to: chosen, change, since: era, in: turn)
            }
            try exchange.account.login.set(.following)
        }
    }

    /// It only takes away, so nobody is asked.
    private func ignoreLogin(_ exchange: Exchange) throws {
        try requireLogins()
        try exchange.verifyCaller()
        let event = exchange.event("passcode-ignore-login")
        try exchange.trail.change(event)
        try exchange.account.login.inTurn { try exchange.account.login.set(.never) }
        exchange.trail.note(event)
    }

    /// The PAM module talks to the daemon of the machine alone.
    private func requireLogins() throws(Refusal) {
        guard configuration.serves.sole == nil else {
            throw Refusal(
                .operationNotPermitted, "Logins open the store only where one daemon serves the whole machine.",
                cause: "login.user-mode")
        }
    }

    private static func warning(_ objects: [ObjectRecord], itemCount: Int) -> String {
        guard !objects.isEmpty || itemCount > 0 else { return "The passcode will no longer protect anything." }
        let rights = objects.filter { $0.kind == .right }.map(\.attributes.identifier.text)
        let counts = [
            counted(rights.count, "right"), counted(objects.count { $0.kind == .enclaveKey }, "enclave key"),
            counted(objects.count { $0.kind == .passkey }, "passkey"),
            counted(itemCount, "keychain item"),
        ]
        let what = counts.compactMap(\.self).joined(separator: ", ")
        return "This destroys for good, with their keys and secrets: \(what)." + named(rights)
    }

    /// For example "2 rights"; nil for none.
    static func counted(_ count: Int, _ what: String) -> String? {
        count == 0 ? nil : count == 1 ? "1 \(what)" : "\(count) \(what)s"
    }

    /// Names are what programs chose: they come after the counts, quoted, a few and not much of each, so that neither
    /// they nor their number can push anything out of the warning.
    private static func named(_ names: [String]) -> String {
        guard !names.isEmpty else { return "" }
        let shown = names.prefix(3).map { "“\(DisplayText(fact: $0, maximumScalarCount: 30))”" }
        let more = names.count > shown.count ? " and \(names.count - shown.count) more" : ""
        return " \(names.count == 1 ? "The right:" : "The rights:") \(shown.joined(separator: ", "))\(more)."
    }

    private func commit(
        _ name: String, _ exchange: Exchange, _ asking: Asking,
        _ change: (borrowing StretchTurn) throws -> PrivateHalf?
    ) throws {
        try exchange.verifyCaller()
        try services.changePasscode(exchange.event(name), of: exchange.account, as: asking.requester, change)
    }

    /// Proves the present passcode and nothing else. That is recorded whatever becomes of `event`: the store is open from
    /// then on.
    func provePasscode(
        _ operation: String, object: String = "", objects: PromptObjects? = nil, consequence: DisplayText? = nil,
        isShownInFull: Bool = false, isAtTrustedPlace: Bool = false, _ asking: Asking, _ exchange: Exchange,
        for event: AuditTrail.Event
    ) throws -> ProvedPasscode {
        var demand = Demand(
            requirements: [try Requirement(anyOf: [.passcode])], availability: nil, object: object,
            operation: operation, consequence: consequence, isShownInFull: isShownInFull,
            isAtTrustedPlace: isAtTrustedPlace)
        demand.objects = objects
        let evaluation = try exchange.account.evaluator.evaluate(demand, asking: asking)
        guard let proved = evaluation.detail(ProvedPasscode.self) else { throw Refusal.passcodeNeeded }
        let proof = AuditTrail.Event(
            name: "authorize", program: event.program, object: event.object, operation: event.name)
        try grant(evaluation, asking, exchange, as: proof) {}
        return proved
    }

    // MARK: new secrets

    /// Asks for a new passcode or password twice, saying what is wrong with one that is not accepted.
    ///
    /// - Parameter isUnproved: see ``PromptQuestion/isUnproved``.
    func newSecret(
        _ kind: PromptKind, repeated: PromptKind, object: String, operation: String, asking: Asking,
        isUnproved: Bool = false
    ) throws -> SecretBytes {
        let policy = PasscodePolicy(exposure: enclave.guessing == .offline ? .offline : .limitedByHardware)
        let questioning = Questioning(prompter: prompter, asking: asking)
        var notice = ""
        var last = Refusal(.passcodeTooWeak, "No acceptable passcode was entered.", cause: "passcode.too-weak")
        for _ in 1...ProofCollector.triesPerEvaluation {
            let first = try questioning.secret(
                question(kind, object, operation, notice, asking, isUnproved, hint: policy.summary))
            if let violation = policy.violation(of: first) {
                notice = violation.sentence
                last = Refusal(.passcodeTooWeak, violation.sentence, cause: "passcode.too-weak")
                continue
            }
            let second = try questioning.secret(question(repeated, object, operation, "", asking, isUnproved))
            if first.isEqual(to: second) { return first }
            notice = "The two entries differ. Type both again."
            last = Refusal(
                .passcodeMismatch, "The two entries differ, so nothing was changed. Try again.",
                cause: "passcode.mismatch")
        }
        throw last
    }

    private func question(
        _ kind: PromptKind, _ object: String, _ operation: String, _ notice: String, _ asking: Asking,
        _ isUnproved: Bool, hint: String? = nil
    ) -> PromptQuestion {
        PromptQuestion(
            kind, objects: object.isEmpty ? nil : PromptObjects(DisplayText(fact: object)),
            operation: DisplayText(operation),
            reason: asking.question.reason, hint: hint.map { DisplayText($0) },
            notice: notice.isEmpty ? nil : DisplayText(notice),
            cancelTitle: asking.question.cancelTitle,
            isUnproved: isUnproved)
    }

    // MARK: lock

    func lock(_ exchange: Exchange) -> Reply {
        lock(exchange.account, exchange.event("lock"))
        return .done
    }

    /// Ends all grants and all questions, and wipes what needs an unlocked store. Works even when the log cannot be written.
    func lock(_ account: OwnerAccount, _ event: AuditTrail.Event) {
        let isSessionEnd = event.program == .sessionEnd
        let close = { [sessions] in
            account.ring.lock()
            account.recentBiometry.forget()
            // Nobody of the user is there any more, so leases end that outlive a lock.
            if isSessionEnd { account.leases.endAll(because: .sessionEnded) }
            sessions.endAllGrants(of: account)
        }
        close()
        // A change of the passcode that is past its questions takes its new keys locked. It is not waited for: a chip may take long.
        account.trail.end(event, folds: true, close)
    }
}

extension PasscodePolicy {
    /// What a new passcode must be, for the prompt.
    var summary: String {
        let rule = "At least \(minimumCharacterCount) characters"
        return exposure == .offline ? "\(rule), not digits alone." : "\(rule)."
    }
}
