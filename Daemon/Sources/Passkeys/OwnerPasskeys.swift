import Auditing
package import AuthenticatorRequests
package import Authenticators
package import CTAP
import Callers
package import Cancellations
import Crypto
import Enclave
import ExactNames
import Foundation
import OstiaryMessages
import OwnerKeys
package import Owners
import Passcodes
import ProtectedObjects
import Refusals
import SecretMemory
import Synchronization
import Vault

/// The passkeys of one owner as an authenticator uses them, for one request of a program: where they lie, and how the owner is
/// verified.
package final class OwnerPasskeys: CredentialStorage, UserInteraction {
    /// How requests come in; questions say it.
    package enum Door: Sendable {
        /// The program's domain was confirmed.
        case program
        /// The program chooses the relying party.
        case browser
        /// One signature for SSH.
        case ssh(PasskeySSHUse)
    }

    let store: PasskeyStore
    private let account: OwnerAccount
    private let asking: Asking
    private let door: Door
    private let first = Mutex<(any Error)?>(nil)
    private let latestProof = Mutex<PasskeyProof?>(nil)
    private let created = Mutex<Creation?>(nil)

    /// A new passkey that its program has not got yet.
    private struct Creation {
        let identifier: [UInt8]
        let relyingParty: RelyingPartyName
        let replaced: [[UInt8]]
    }

    /// - Parameter asking: names the program of the request.
    package init(of account: OwnerAccount, asking: Asking, through door: Door) {
        store = account.passkeys
        self.account = account
        self.asking = asking
        self.door = door
    }

    /// The daemon's time since the boot, suspended time included.
    var clock: @Sendable () -> Duration { { [clock = account.clock] in clock.now().time } }
    private var evaluator: Evaluator { account.evaluator }
    private var trail: AuditTrail { account.trail }

    /// The first error; a status of CTAP says little of it.
    package var error: (any Error)? { first.withLock { $0 } }
    /// The latest verification for a program; nil for a browser.
    var proof: PasskeyProof? { latestProof.withLock { $0 } }

    /// Notes an error and gives its status.
    private func status<Result>(
        _ status: CTAPStatus = .other, _ body: () throws -> Result
    ) throws(CTAPStatus) -> Result {
        do { return try body() } catch let known as CTAPStatus { throw known } catch {
            first.withLock { if $0 == nil { $0 = error } }
            throw CTAPStatus(error) ?? status
        }
    }

    // MARK: verification

    /// - Throws: `passcodeNotSet`; without a passcode nobody could be verified.
    func requirePasscode() throws(Refusal) {
        guard store.rights.ring.isPasscodeSet else { throw .passcodeNotSet }
    }

    package var isVerificationReady: Bool? { store.rights.ring.isPasscodeSet }

    /// 1, or 0 while a question could not verify the owner: neither a finger nor the passcode would count, for example after wrong
    /// ones. The number of tries is told nowhere; some of them cost a delay only.
    package var verificationTriesLeft: Int {
        do {
            try evaluator.preflight(demand("", ""), for: asking.caller.credentials)
            return 1
        } catch { return 0 }
    }

    private func demand(_ object: String, _ operation: String) -> Demand {
        Demand(
            requirements: [PasskeyStore.requirement], availability: PasskeyStore.availability, object: object,
            operation: operation, isShownInFull: true)
    }

    /// Presence alone is never asked: each question verifies.
    package func confirmPresence(
        for request: InteractionRequest, until cancellation: Cancellation
    ) throws(CTAPStatus) -> (any UserProof)? {
        try verify(for: request, until: cancellation)
    }

    package func verify(
        for request: InteractionRequest, until cancellation: Cancellation
    ) throws(CTAPStatus) -> (any UserProof)? {
        try status(.operationDenied) {
            try requirePasscode()
            var demand = demand(request.relyingParty?.identifier.text ?? object(request), shownOperation(request))
            if case .ssh(let use) = door { demand.signedData = use.shown }
            demand.account = (request.user ?? named(request.credentials))?.shownName
            demand.replacedAccounts = request.replaced.map(\.shownName)
            let proof = PasskeyProof(try evaluator.evaluate(demand, asking: asking))
            // A browser's proof lies in its token alone, which ends.
            if case .program = door { latestProof.withLock { $0 = proof } }
            return proof
        }
    }

    /// The account of the one credential that will be used; nil if there are several.
    private func named(_ credentials: [[UInt8]]) -> CredentialUser? {
        guard credentials.count == 1, let passkey = try? store.find(credentials[0]) else { return nil }
        return passkey.attributes.user
    }

    /// What a question without a relying party is about.
    private func object(_ request: InteractionRequest) -> String {
        request.purpose == .selection ? "this machine" : "all passkeys of this machine"
    }

    private func shownOperation(_ request: InteractionRequest) -> String {
        switch door {
        case .program: operation(request)
        case .browser where isForSSH(request): "sign once for SSH, and nobody knows what for"
        case .browser: "in a browser: \(operation(request))"
        case .ssh: "sign once for SSH with a passkey"
        }
    }

    /// Whether a program signs in to SSH over the device for browsers, as ssh does itself with the file of such a key. No website has this name.
    private func isForSSH(_ request: InteractionRequest) -> Bool {
        request.purpose == .getAssertion && request.relyingParty?.identifier.utf8.starts(with: "ssh:".utf8) == true
    }

    private func operation(_ request: InteractionRequest) -> String {
        switch request.purpose {
        case .makeCredential: request.replaced.isEmpty ? "make a passkey" : "replace a passkey"
        case .getAssertion: "sign in with a passkey"
        case .permissions: "make a passkey or sign in with one"
        case .management: "see, rename and remove passkeys"
        case .selection: "choose this machine as security key"
        case .reset: "remove all passkeys"
        }
    }

    // MARK: storage

    package func credentials() throws(CTAPStatus) -> [StoredCredential] {
        try status { try store.all().map(\.credential) }
    }

    package func identifiers() throws(CTAPStatus) -> Set<[UInt8]> { try status { try store.identifiers() } }

    package func remainingCount() throws(CTAPStatus) -> Int {
        try status { max(0, try store.capacity - store.all().count) }
    }

    /// The replaced ones stay until ``finishCreation(isReleased:)``.
    package func create(
        _ new: NewCredential, replacing replaced: [[UInt8]], under proof: (any UserProof)?,
        signing message: (StoredCredential, UInt32) -> [UInt8]
    ) throws(CTAPStatus) -> (StoredCredential, CountedSignature) {
        try status(.keyStoreFull) {
            let evaluation = try require(proof)
            try trail.change(event("passkey-create", new.relyingParty))
            let passkey = try makePasskey(new)
            do {
                let credential = passkey.credential
                let signature = try opened(passkey, by: evaluation).signature(of: message(credential, 1))
                created.withLock {
                    $0 = Creation(
                        identifier: credential.identifier, relyingParty: new.relyingParty, replaced: replaced)
                }
                return (credential, CountedSignature(counter: 1, bytes: signature))
            } catch {
                try store.remove(passkey.record.id)
                throw error
            }
        }
    }

    /// Whose new passkey its program has not got yet.
    package var unreleasedRelyingParty: RelyingPartyName? { created.withLock { $0?.relyingParty } }

    /// Removes the passkeys that the new one replaces. Without a release it removes the new one, if there is one.
    func finishCreation(isReleased: Bool) throws {
        guard let creation = created.withLock({ $0.take() }) else { return }
        for identifier in isReleased ? creation.replaced : [creation.identifier] {
            do { try removePasskey(identifier) } catch let refusal as Refusal where refusal == PasskeyStore.notFound {
                // Another registration of the same account came first.
            }
        }
    }

    private func makePasskey(_ new: NewCredential) throws -> Passkey {
        let draft = RightStore.Draft.passkey(
            of: new.relyingParty.identifier, PasskeyAttributes(new, signatureCount: 1).encoded,
            using: PasskeyStore.requirement, PasskeyStore.availability,
            secret: SecretBytes(random: PasskeySecret.byteCount))
        let record = try account.make(draft) { record in
            try asking.cancellation.check()
            try store.insert(record)
        }
        return try Passkey(record)
    }

    package func sign(
        with credential: StoredCredential, under proof: (any UserProof)?, _ message: (UInt32) -> [UInt8]
    ) throws(CTAPStatus) -> CountedSignature {
        try status {
            let evaluation = try require(proof)
            let passkey = try store.find(credential.identifier)
            let opened = try opened(passkey, by: evaluation)
            let counter = try store.countSignature(of: passkey.record.id).attributes.signatureCount
            let signature = try opened.signature(of: message(counter))
            if case .ssh(let use) = door { try use.verifyCaller() }
            try trail.decide {
                try asking.cancellation.check()
                try trail.grant(
                    signatureEvent(credential.relyingParty), factors: evaluation.factorNames,
                    strength: evaluation.label, isProved: !evaluation.proofs.isEmpty)
            }
            return CountedSignature(counter: counter, bytes: signature)
        }
    }

    package func outputs(
        of salts: PRFSalts, with credential: StoredCredential, isVerified: Bool, under proof: (any UserProof)?
    ) throws(CTAPStatus) -> PRFOutputs {
        try status {
            let passkey = try store.find(credential.identifier)
            let opened = try opened(passkey, by: require(proof))
            return try PasskeySecret.outputs(
                of: salts, isVerified: isVerified, by: opened.right.secret(of: passkey.record))
        }
    }

    package func update(_ user: CredentialUser, of identifier: [UInt8]) throws(CTAPStatus) {
        try status {
            let passkey = try store.find(identifier)
            let event = event("passkey-rename", passkey.attributes.relyingParty)
            try asking.cancellation.check()
            try trail.change(event)
            _ = try store.update(passkey.record.id) { $0.user = user }
            trail.note(event)
        }
    }

    package func remove(_ identifier: [UInt8]) throws(CTAPStatus) {
        try status {
            try asking.cancellation.check()
            try trail.change(event("passkey-remove", store.find(identifier).attributes.relyingParty))
            try removePasskey(identifier)
        }
    }

    /// The owner removes passkeys one by one, with a question for each.
    package func removeAll() throws(CTAPStatus) { throw .notAllowed }

    private func removePasskey(_ identifier: [UInt8]) throws {
        let passkey = try store.find(identifier)
        try account.changing.withLock { try store.remove(passkey.record.id) }
        trail.note(
            AuditTrail.Event(
                name: "passkey-remove", program: asking.caller.program,
                object: passkey.attributes.relyingParty.identifier.text))
    }

    // MARK: keys

    private func require(_ proof: (any UserProof)?) throws -> Evaluation {
        guard let proof = proof as? PasskeyProof else { throw CTAPStatus.operationDenied }
        try asking.cancellation.check()
        return proof.evaluation
    }

    private func opened(_ passkey: Passkey, by evaluation: Evaluation) throws -> OpenedPasskey {
        let rights = store.rights
        let opener = try RightOpener(
            passkey.record, label: nil, in: rights.vault, ring: rights.ring, stretching: account.stretching)
        return OpenedPasskey(
            right: try account.keeper.exclusively { try opener.opened(by: evaluation, enclave: rights.enclave) })
    }

    private func signatureEvent(_ relyingParty: RelyingPartyName) -> AuditTrail.Event {
        guard case .ssh(let use) = door else { return event("passkey-sign", relyingParty) }
        var event = event("ssh-sign", relyingParty)
        (event.operation, event.details) = (use.operation, use.details)
        return event
    }

    private func event(_ name: String, _ relyingParty: RelyingPartyName) -> AuditTrail.Event {
        AuditTrail.Event(name: name, program: asking.caller.program, object: relyingParty.identifier.text)
    }
}

/// A verification of the owner, which opens the slots of passkeys and nothing else. It may wait for another command, so it holds
/// neither the stretched passcode nor what opens keys in a chip that require the passcode.
final class PasskeyProof: UserProof {
    let evaluation: Evaluation

    init(_ evaluation: Evaluation) { self.evaluation = evaluation.forSlotsAlone }

    var factors: ProvedFactors { ProvedFactors(names: evaluation.factorNames, label: evaluation.label) }
}

private struct OpenedPasskey {
    let right: OpenedRight

    /// ASN.1 DER, of the message's SHA-256.
    func signature(of message: [UInt8]) throws -> [UInt8] {
        let raw = try right.key.signature(forDigest: Data(SHA256.hash(data: message)))
        return [UInt8](try P256.Signing.ECDSASignature(rawRepresentation: raw).derRepresentation)
    }
}

extension CTAPStatus {
    /// What a client is told of a refusal; nil where the place says more than the error.
    fileprivate init?(_ error: any Error) {
        guard let refusal = error as? Refusal else { return nil }
        switch refusal.code {
        case .appCancel: self = .keepaliveCancel
        case .timedOut: self = .userActionTimeout
        case .authenticationFailed: self = .verificationInvalid
        case .lockedOut: self = .verificationBlocked
        case .userCancel, .userFallback, .systemCancel, .notInteractive: self = .operationDenied
        default: return nil
        }
    }
}
