import Auditing
import AuthenticatorRequests
import Authenticators
import Foundation
import KeySlots
import OstiaryMessages
import OwnerKeys
import Owners
import Passkeys
import PromptProtocol
import Prompting
import Refusals
import Sessions

/// Security keys as factors: enrolling and removing them with the owner's word, and their PINs.
extension Broker {
    func listSecurityKeys(_ exchange: Exchange) throws -> Reply {
        let keys = try exchange.account.securityKeys?.record().keys ?? []
        try exchange.verifyCaller()
        return Reply(.securityKeys(.with { $0.keys = keys.map(WireSecurityKey.init) }))
    }

    // MARK: enrolling

    /// Bytes of a name, which must fit into questions beside others.
    private static let nameByteCount = 1...64

    func enrollSecurityKey(_ body: WireEnrollSecurityKeyRequest, _ exchange: Exchange) throws -> Reply {
        let asking = try exchange.asking(body.question)
        let authenticator = try securityKeys(of: exchange)
        let record = try authenticator.record()
        let name = try Self.name(body.name, notIn: record)
        try SecurityKeyLife.requireRoom(in: record)
        let event = exchange.event(object: body.name)
        try askOwner("enrol a security key, which then proves that it is you", body.name, asking, exchange, for: event)
        let opened =
            record.keys.isEmpty
            ? []
            : try usingSecurityKey("use an enrolled security key, to enrol another", name, asking) { prompt in
                try authenticator.halves(with: prompt, until: prompt.stop)
            }
        let time = UInt64(Date().timeIntervalSince1970 * 1000)
        let enrolment = try usingSecurityKey("enrol the new security key; touch it twice", name, asking) { prompt in
            try authenticator.prepareEnrolment(
                named: body.name, at: time, openedBy: opened, refusing: [PlatformAuthenticator.modelIdentifier],
                with: prompt, until: prompt.stop)
        }
        try commit(event, exchange, asking) { try authenticator.enroll(enrolment) }
        let enrolled = try authenticator.record().keys.filter { $0.identifier == enrolment.identifier }
        return Reply(.securityKeys(.with { $0.keys = enrolled.map(WireSecurityKey.init) }))
    }

    private static func name(_ name: String, notIn record: SecurityKeyRecord) throws(Refusal) -> DisplayText {
        guard nameByteCount.contains(name.utf8.count), let shown = DisplayText(wholeFact: name) else {
            throw Refusal(
                .invalidParameter, "A security key's name has 1 to 64 bytes that a question can show.",
                cause: "security-key.name")
        }
        guard !record.keys.contains(where: { $0.name == name }) else {
            throw Refusal(
                .duplicate, "Another security key has this name. Choose another name.", cause: "security-key.name-taken"
            )
        }
        return shown
    }

    // MARK: removing

    func removeSecurityKey(_ body: WireRemoveSecurityKeyRequest, _ exchange: Exchange) throws -> Reply {
        let asking = try exchange.asking(body.question)
        let authenticator = try securityKeys(of: exchange)
        let record = try authenticator.record()
        guard let key = record.keys.first(where: { $0.identifier == body.keyID }) else {
            throw SecurityKeyLife.notFound
        }
        let event = exchange.event(object: key.name)
        let consequence =
            record.keys.count > 1
            ? nil : DisplayText("It is the last one. Objects that only a security key opens can never be opened again.")
        try askOwner("remove a security key", key.name, asking, exchange, for: event, consequence: consequence)
        try commit(event, exchange, asking) { try authenticator.life.remove(body.keyID) }
        return Reply(.done(.with { $0.count = 1 }))
    }

    // MARK: PINs

    func setSecurityKeyPIN(_ body: WireSecurityKeyPINRequest, _ exchange: Exchange) throws -> Reply {
        let asking = try exchange.asking(body.question)
        let authenticator = try securityKeys(of: exchange)
        let event = exchange.event()
        try usingSecurityKey("set the PIN of a security key", nil, asking) { prompt in
            try authenticator.setPIN(with: prompt, until: prompt.stop)
        }
        try exchange.verifyCaller()
        exchange.trail.note(event)
        return Reply(.done(.with { $0.count = 1 }))
    }

    // MARK: common steps

    private func securityKeys(of exchange: Exchange) throws(Refusal) -> SecurityKeyAuthenticator {
        guard let authenticator = exchange.account.securityKeys else {
            throw Refusal(
                .companionNotAvailable, "This daemon speaks to no security keys.", cause: "security-key.unsupported")
        }
        return authenticator
    }

    /// Shows the person's step with a security key while `body` waits for it.
    private func usingSecurityKey<Result>(
        _ operation: String, _ name: DisplayText?, _ asking: Asking, _ body: (CredentialPrompt) throws -> Result
    ) throws -> Result {
        let prompt = CredentialPrompt(
            Questioning(prompter: prompter, asking: asking), about: name.map { PromptObjects($0) },
            operation: DisplayText(operation))
        defer { prompt.dismiss() }
        do {
            try prompt.begin()
            let result = try body(prompt)
            prompt.dismiss(because: .proved)
            return result
        } catch let refusal as CredentialRefusal {
            throw prompt.refusal ?? Refusal(ofFactor: refusal)
        }
    }

    /// Stores a change, recorded before and after. Earlier proofs with a security key prove nothing afterwards.
    private func commit(
        _ event: AuditTrail.Event, _ exchange: Exchange, _ asking: Asking, _ change: () throws -> Void
    ) throws {
        try exchange.verifyCaller()
        try exchange.account.changing.withLock {
            try asking.cancellation.check()
            try exchange.trail.change(event)
            try change()
            sessions.endKeptFactors(of: exchange.account)
            services.environment.mayHaveChanged(of: exchange.account, askingSensor: false)
        }
        exchange.trail.note(event)
    }
}

extension WireSecurityKey {
    fileprivate init(_ key: SecurityKeyRecord.Key) {
        self = .with {
            $0.keyID = key.identifier
            $0.name = key.name
            $0.enrolledAt = Double(key.enrolledAt) / 1000
            $0.verifiesUser = key.isVerified
            $0.model = Data(key.model)
        }
    }
}
