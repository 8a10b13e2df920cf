import AssociationFiles
import Auditing
import AuthenticatorRequests
import Authenticators
import Callers
import ExactNames
import Foundation
import Logging
import OstiaryMessages
import Owners
import Passcodes
import Passkeys
import PromptProtocol
import Prompting
import Refusals
import SecretMemory
import Sessions

/// Credentials of relying parties. A program gets them only for domains that it is registered for and that confirm it.
extension Broker {
    func registerCredential(_ body: WireRegisterCredentialRequest, _ exchange: Exchange) throws -> Reply {
        var options: [RequestedCreation] = []
        for message in body.creations { options.append(try RequestedCreation(message)) }
        let relyingParty = try relyingParty(of: options.map(\.relyingParty), options.map(\.attachment))
        let account = try Self.account(of: options.map(\.creation.user))
        let asking = try exchange.asking(.withoutReason)
        try requireAssociation(of: relyingParty, exchange, asking)
        options.removeAll { authenticator($0.attachment, exchange, asking) == nil }
        guard !options.isEmpty else { throw Refusal.noAuthenticator }
        let prompt = prompt(
            relyingParty, "register a credential for the account \(account.shownName.string)", asking)
        let (option, (made, maker)) = try carryOut(
            prompt, exchange, asking, among: options.map { ($0.attachment, $0) }
        ) { option, authenticator in
            let made = try authenticator.create(option.creation, with: prompt, until: prompt.stop)
            return (made, authenticator)
        }
        do {
            try made.check(for: relyingParty)
            try release("credential-register", relyingParty, made.attachment, exchange, asking)
        } catch {
            finishCreation(by: maker, isReleased: false)
            throw error
        }
        finishCreation(by: maker, isReleased: true)
        return Reply(
            .registeredCredential(
                .with {
                    $0.attachment = made.attachment.message
                    $0.credentialID = Data(made.credentialIdentifier)
                    $0.clientDataJSON = option.clientData.json
                    $0.attestationObject = Data(made.attestationObject)
                    $0.transports = made.transports
                    $0.supportsPRF = made.supportsPRF
                    $0.supportsLargeBlob = made.supportsLargeBlob
                }), tail: Self.tail(made.prf))
    }

    /// A failure leaves a passkey too many, and changes nothing for the program.
    func finishCreation(by authenticator: any CredentialAuthenticator, isReleased: Bool) {
        do { try authenticator.finishCreation(isReleased: isReleased) } catch {
            log.error("a passkey that nobody needs was not removed", metadata: ["cause": "\(error)"])
        }
    }

    func assertCredential(_ body: WireAssertCredentialRequest, _ exchange: Exchange) throws -> Reply {
        var options: [RequestedAssertion] = []
        for message in body.assertions { options.append(try RequestedAssertion(message)) }
        let relyingParty = try relyingParty(of: options.map(\.relyingParty), options.map(\.attachment))
        let asking = try exchange.asking(.withoutReason)
        try requireAssociation(of: relyingParty, exchange, asking)
        // The contents of a security key are unknown until the person was asked to insert and touch it.
        options.removeAll {
            authenticator($0.attachment, exchange, asking) == nil
                || body.onlyIfAtHand && $0.attachment == .crossPlatform
        }
        guard !options.isEmpty else { throw Refusal.noAuthenticator }
        let prompt = prompt(relyingParty, "sign in", asking)
        let (option, made) = try carryOut(prompt, exchange, asking, among: options.map { ($0.attachment, $0) }) {
            option, authenticator in
            try authenticator.assert(option.assertion, with: prompt, until: prompt.stop)
        }
        try made.check(against: option.assertion, for: relyingParty)
        try release("credential-assert", relyingParty, made.attachment, exchange, asking)
        return Reply(.assertedCredential(Self.message(made, option.clientData)), tail: Self.tail(made.prf))
    }

    private static func message(_ made: AssertedCredential, _ clientData: ClientData) -> WireAssertedCredential {
        .with {
            $0.attachment = made.attachment.message
            $0.credentialID = Data(made.credentialIdentifier)
            $0.clientDataJSON = clientData.json
            $0.authenticatorData = Data(made.authenticatorData)
            $0.signature = Data(made.signature)
            $0.userHandle = made.userHandle.map { Data($0) }
            $0.usedAppID = made.usedAppID
            switch made.largeBlob {
            case .read(let blob): $0.largeBlob = blob.map { Data($0) }
            case .written(let isWritten): $0.wroteLargeBlob = isWritten
            case nil: break
            }
        }
    }

    // MARK: whether it is allowed

    /// The one relying party that all options are about.
    private func relyingParty(
        of relyingParties: [RelyingPartyIdentifier], _ attachments: [AuthenticatorAttachment]
    ) throws(Refusal) -> RelyingPartyIdentifier {
        guard let first = relyingParties.first, relyingParties.allSatisfy({ $0 == first }),
            attachments.count <= CredentialLimits.optionCount,
            Set(attachments.map { $0 == .platform }).count == attachments.count
        else {
            throw Refusal(
                .invalidParameter, "The request names no relying party, several, or one kind of authenticator twice.",
                cause: "credential.options")
        }
        return first
    }

    /// The one account that all options are for, as the question shows it, whichever the person chooses. Requests for security keys
    /// name the account's owner too, which those for this machine need not do.
    private static func account(of users: [CredentialUser]) throws(Refusal) -> CredentialUser {
        guard var account = users.first,
            users.allSatisfy({ $0.identifier == account.identifier && $0.name == account.name })
        else {
            throw Refusal(
                .invalidParameter, "The request registers different accounts. Register them one by one.",
                cause: "credential.accounts")
        }
        if !users.allSatisfy({ $0.displayName == account.displayName }) { account.displayName = nil }
        return account
    }

    private func requireAssociation(
        of relyingParty: RelyingPartyIdentifier, _ exchange: Exchange, _ asking: Asking
    ) throws(Refusal) {
        let identity = exchange.caller.identity
        guard let applicationID = identity.applicationID,
            identity.webCredentials.contains(ExactName(relyingParty.domain))
        else {
            throw .programNotRegisteredForDomain
        }
        let verdict = try asking.cancellation.endingQuestion { prompt throws(Refusal) in
            try associations.verdict(
                on: relyingParty, for: applicationID, of: exchange.caller.program.ofOwner, at: clock.now().time,
                until: prompt)
        }
        try asking.cancellation.check()
        if let refusal = Refusal.association(verdict) { throw refusal }
    }

    /// The caller, the domain and the person's wish must still stand; then the record is written, and the answer may go.
    private func release(
        _ name: String, _ relyingParty: RelyingPartyIdentifier, _ attachment: AuthenticatorAttachment,
        _ exchange: Exchange, _ asking: Asking
    ) throws {
        try exchange.verifyCaller()
        guard exchange.caller.identity.webCredentials.contains(ExactName(relyingParty.domain)) else {
            throw Refusal.programNotRegisteredForDomain
        }
        let kind = attachment == .platform ? "this machine" : "security key"
        try exchange.trail.decide {
            try asking.cancellation.check()
            try exchange.trail.grant(
                exchange.event(name, object: relyingParty.domain, operation: kind), factors: [], strength: "",
                isProved: false)
        }
    }

    // MARK: carrying out

    private func prompt(
        _ relyingParty: RelyingPartyIdentifier, _ operation: String, _ asking: Asking
    ) -> CredentialPrompt {
        CredentialPrompt(
            Questioning(prompter: prompter, asking: asking),
            about: PromptObjects(DisplayText(fact: relyingParty.domain)),
            operation: DisplayText(operation))
    }

    /// Lets the person choose the kind of authenticator if there are two, and has it do the work.
    private func carryOut<Option, Made>(
        _ prompt: CredentialPrompt, _ exchange: Exchange, _ asking: Asking,
        among options: [(AuthenticatorAttachment, Option)],
        _ work: (Option, any CredentialAuthenticator) throws -> Made
    ) throws -> (Option, Made) {
        defer { prompt.dismiss() }
        do {
            let index = options.count == 1 ? 0 : try prompt.choose(options.map { Self.name(of: $0.0) })
            let (attachment, option) = options[index]
            guard let authenticator = authenticator(attachment, exchange, asking) else {
                throw Refusal.noAuthenticator
            }
            if attachment == .crossPlatform { try prompt.begin() }
            let made = try work(option, authenticator)
            prompt.dismiss(because: .proved)
            return (option, made)
        } catch let refusal as CredentialRefusal {
            throw prompt.refusal ?? Refusal.credential(refusal)
        }
    }

    /// This machine is an authenticator of the program's user, unless a test has put another in its place.
    private func authenticator(
        _ attachment: AuthenticatorAttachment, _ exchange: Exchange, _ asking: Asking
    ) -> (any CredentialAuthenticator)? {
        if let given = authenticators[attachment] { return given.presented(to: exchange.account.user.idToOthers) }
        return attachment == .platform ? exchange.account.platformAuthenticator(asking) : nil
    }

    private static func name(of attachment: AuthenticatorAttachment) -> DisplayText {
        switch attachment {
        case .platform: DisplayText("Passkey of this machine")
        case .crossPlatform: DisplayText("Security key")
        }
    }

    private static func tail(_ outputs: PRFOutputs?) -> SecretBytes {
        var bytes = Data((outputs?.first ?? []) + (outputs?.second ?? []))
        return SecretBytes(taking: &bytes)
    }
}
