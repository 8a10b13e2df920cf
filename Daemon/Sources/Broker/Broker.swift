import AccessControl
import AssociationFiles
import AuditLog
import Auditing
import Authenticators
import Callers
import Enclave
import ExactNames
import Foundation
import HelperProcesses
import Logging
import Opening
import OstiaryMessages
import OwnerKeys
package import Owners
import Passcodes
import Prompting
import ProtectedObjects
package import Refusals
import SecretMemory
import SessionLocks
package import Sessions
import StoreKeys
import Synchronization
import Threading
import Vault

/// The trusted side: owns the keys, decides, and answers requests. Which request goes where is ``answer(_:)``;
/// what each may bring is in `RequestTable.swift`; whether it is allowed is `plan` in the module AccessControl.
package final class Broker: RequestHandler {
    let opened: OpenedStore
    var log: Logger { opened.log }
    var configuration: BrokerConfiguration { opened.configuration }
    var store: SharedStore { opened.shared }
    var enclave: any Enclave { store.enclave }
    var vault: Vault { store.vault }
    var attestationKeys: AttestationKeyFile { opened.attestationKeys }
    var clock: any BootClock { opened.clock }
    var prompter: any Prompter { opened.prompter }
    /// Nil where no chip counts.
    var rollback: StoreRollback? { opened.rollback }
    /// The accounts of the users who are served just now.
    package var accounts: [OwnerAccount] { opened.accounts }
    let services: SessionServices
    var sessions: SessionRegistry { services.registry }
    let credentials: ProgramQuota
    let authenticators: CredentialAuthenticators
    let associations: AssociationLookups
    /// Follows the sessions of all owners; nil where one owner is served, and before somebody asks for it.
    let sharedLogind = Mutex<SharedLogind?>(nil)

    init(_ opened: OpenedStore, _ authenticators: CredentialAuthenticators, limits: SessionLimits) {
        self.opened = opened
        credentials = ProgramQuota.credentials(limits.credentials)
        let configuration = opened.configuration
        self.authenticators = authenticators
        associations = AssociationLookups(
            Associations(
                configuration.helpers.association, folder: configuration.associationsDirectory,
                trustedUserID: configuration.associationsUserID, server: configuration.associationServer,
                log: opened.log), limits.associations)
        services = SessionServices(
            owners: opened.owners, facts: configuration.facts, limits: limits, clock: opened.clock,
            contextLifetime: configuration.contextLifetime, isEnclaveImmediate: opened.shared.enclave.isImmediate,
            log: opened.log, callerLines: opened.shared.log.callerLines)
        vault.setItemListener(services.itemWatches)
        opened.owners.whenOpened { [weak self] account in self?.follow(account) }
    }

    /// Follows the changes of an account that was just opened. They end proofs and grants that have become worthless, and answer watches.
    private func follow(_ account: OwnerAccount) {
        followLeases(of: account)
        account.ring.whenLockChanges { [weak watches = services.itemWatches] in watches?.lockHasChanged() }
        account.sensor?.whenSensorChanges { [weak environment = services.environment, weak account] endsReuse in
            guard let environment, let account else { return }
            if endsReuse { account.recentBiometry.forget() }
            environment.mayHaveChanged(of: account, askingSensor: true)
        }
        account.biometry?.onChange { [sessions, weak account] change in
            // A finger's proof counts no longer than the enrolled set that it was compared with.
            if change == .enrolledSet, let account { sessions.endGrantsOfFormerSet(of: account) }
        }
        // A delay that a reboot interrupted counts from the opening, not from when somebody first looks at it. An unreadable
        // counter refuses the passcode; requests that need no passcode go on.
        _ = account.knownAttempts()
    }

    /// Whether the store can be read. Waits as each reading does.
    package var canReadStore: Bool { (try? vault.read { try $0.verifyStoreRecord() }) != nil }

    /// Ends all grants, wipes every key and anchors the log. Nothing is answered afterwards.
    ///
    /// - Parameter isIdle: false when something besides sessions may still use the store.
    package func close(isIdle: Bool = true) {
        services.environment.stop()
        sharedLogind.withLock { $0 }?.stop()
        opened.owners.closeAll()
        sessions.endAllGrants()
        services.grantEnds.finish()
        // A session that was given up may be reading the store, which must not be closed under it; the process's end does that.
        opened.close(isIdle: isIdle && sessions.isEmpty)
    }

    // MARK: answering

    /// Carries out one admitted request. Every error ends as a refusal, but for ``PersonNeeded`` and ``OwnThreadNeeded``, where nothing
    /// was done yet, and ``LeftWaiting``.
    package func answer(_ exchange: Exchange) throws(NotAnswered) -> Reply {
        do {
            return try carryOut(exchange)
        } catch is PersonNeeded {
            throw .personNeeded
        } catch is OwnThreadNeeded {
            throw .ownThreadNeeded
        } catch is LeftWaiting {
            throw .leftWaiting
        } catch {
            recordOpening(exchange)
            let refusal = refusal(for: error, ofUser: exchange.account.user.id)
            if RefusalMapping.isDecision(refusal) {
                exchange.trail.refuse(
                    exchange.event(
                        object: objectName(of: exchange.request.row.subject, exchange),
                        operation: (error as? RefusedSSHSigning)?.operation ?? "", lease: refusal.leaseID),
                    because: refusal)
            }
            throw .refused(refusal)
        }
    }

    /// Records that a request that failed afterwards opened the store with the passcode. The program was granted nothing, and may not
    /// even be the one that the person was told of. A store whose opening cannot be recorded is locked again.
    private func recordOpening(_ exchange: Exchange) {
        guard let cancellation = exchange.cancellation, cancellation.hasUnrecordedOpening else { return }
        let opening = AuditTrail.Event(
            name: "unlock", program: exchange.caller.program,
            object: objectName(of: exchange.request.row.subject, exchange), operation: exchange.request.eventName)
        do {
            try exchange.trail.noteOpening(
                opening, factors: [Factor.passcode.name],
                strength: exchange.account.evaluator.authenticators[.passcode].strength(of: .passcode).rawValue)
            cancellation.noteOpeningRecorded()
        } catch { lock(exchange.account, exchange.event("lock")) }
    }

    package func refusal(for error: any Error, ofUser userID: UInt32) -> Refusal {
        let refusal = RefusalMapping.refusal(for: error)
        if refusal.code == .internal || refusal.code == .storeUnreadable {
            // The detail is for the person who runs the daemon; it names no secret and no value of a caller.
            services.callerLines.write(.error, "a request failed", of: userID, ["cause": "\(error)"])
        }
        return refusal
    }

    private func requireOpen(_ row: RequestRow, to exchange: Exchange) throws(Refusal) {
        let caller = exchange.caller
        if row.isForAdministrators { try requireAdministrator(exchange.account) }
        if !row.isOpenToChangedPrograms,
            let refusal = caller.identity.standing.refusal(of: caller.program.application.text)
        {
            throw refusal
        }
        if row.showsStore, !store.log.audit.state.fits { throw Self.doubtfulStore }
    }

    /// A log that was put back may belong to an older copy of the whole store, and then its lists are old.
    private static let doubtfulStore = Refusal(
        .logUnwritable,
        "The audit log does not fit the store, so nobody can tell whether this is the newest copy of the store, and its "
            + "lists are not shown. `ostiary doctor` says more.", cause: "log.doubtful-store")

    private func carryOut(_ exchange: Exchange) throws -> Reply {
        try requireOpen(exchange.request.row, to: exchange)
        switch exchange.request.body {
        case .hello, .cancel: throw Refusal(.outOfOrder, "The connection answers this itself.")
        case .status: return Reply(.status(try status(for: exchange)))
        case .environment: return try environment(exchange)
        case .diagnose:
            let processID = exchange.caller.program.processID
            return Reply(.diagnosis(diagnosis(for: exchange.account, askedBy: processID, as: exchange.requester)))
        case .repair(let body): return try repair(body, exchange)

        case .openContext(let body):
            let id = try exchange.contexts.open(keepingFactors: body.keepsFactors)
            return Reply(.context(.with { $0.contextID = id }))
        case .closeContext(let body):
            try exchange.contexts.close(body.contextID)
            return .done
        case .deauthorize(let body): return try deauthorize(body, exchange)
        case .setCredential(let body): return try setCredential(body, exchange)
        case .credentialState(let body): return try credentialState(body, exchange)
        case .evaluatePolicy(let body): return try evaluatePolicy(body, exchange)
        case .authorize(let body): return try authorize(body, exchange)
        case .evaluateAccessControl(let body):
            return try evaluateAccessControl(body, exchange)
        case .listGrants(let body): return try listGrants(body, exchange)
        case .revokeGrants(let body): return try revokeGrants(body, exchange)
        case .awaitGrantEnd(let body): return try awaitGrantEnd(body, exchange)
        case .heldGrants: return try heldGrants(exchange)

        case .createRight(let body): return try createRight(body, exchange)
        case .findRight(let body): return try findRight(body, exchange)
        case .listRights(let body): return try listRights(body, exchange)
        case .removeRight(let body): return try removeRight(body, exchange)
        case .removeAllRights: return try removeAllRights(exchange)

        case .sign(let body):
            try KeyOperations.requireSize(of: exchange.request.tail, body)
            return try use(body.contextID, body.rightID, .sign, exchange) { right in
                try KeyOperations.sign(body, input: exchange.request.tail, with: right)
            }
        case .decrypt(let body):
            return try use(body.contextID, body.rightID, .decrypt, exchange) { right in
                try KeyOperations.decrypt(body, ciphertext: exchange.request.tail, with: right)
            }
        case .exchange(let body):
            return try use(body.contextID, body.rightID, .keyExchange, exchange) { right in
                try KeyOperations.exchange(body, with: right)
            }
        case .decapsulate(let body):
            return try use(body.contextID, body.keyID, .keyExchange, exchange) { key in
                try key.key.sharedSecret(decapsulating: Data(exposing: exchange.request.tail))
            }
        case .readSecret(let body):
            return try use(body.contextID, body.rightID, .read, exchange) { right in
                try right.secret(of: storedObject(right.id, exchange))
            }

        case .confirmedSign(let body): return try signConfirmed(body, exchange)
        case .confirmedAttest(let body): return try attestConfirmed(body, exchange)
        case .sshSign(let body): return try signSSH(body, exchange)
        case .sshAssert(let body): return try assertSSH(body, exchange)

        case .createKey(let body): return try createKey(body, exchange)
        case .findKey(let body): return try findKey(body, exchange)
        case .listKeys(let body): return try listKeys(body, exchange)
        case .pruneKeys(let body): return try pruneKeys(body, exchange)
        case .removeKey(let body): return try removeKey(body, exchange)

        case .registerApplication(let body): return try registerApplication(body, exchange)
        case .listApplications(let body): return try listApplications(body, exchange)
        case .removeApplication(let body): return try removeApplication(body, exchange)

        case .registerCredential(let body): return try registerCredential(body, exchange)
        case .assertCredential(let body): return try assertCredential(body, exchange)
        case .authenticatorCommand: return try answerAuthenticatorCommand(exchange)

        case .listSecurityKeys: return try listSecurityKeys(exchange)
        case .enrollSecurityKey(let body): return try enrollSecurityKey(body, exchange)
        case .removeSecurityKey(let body): return try removeSecurityKey(body, exchange)
        case .securityKeyPIN(let body): return try setSecurityKeyPIN(body, exchange)
        case .listPasskeys(let body): return try listPasskeys(body, exchange)
        case .removePasskey(let body): return try removePasskey(body, exchange)

        case .enrollAttestation(let body): return try enrollAttestation(body, exchange)
        case .activateAttestation: return try activateAttestation(exchange)
        case .attest(let body): return try attest(body, exchange)

        case .passcode(let body): return try changePasscode(body, exchange)
        case .lock: return lock(exchange)
        case .readLog(let body):
            return Reply(.logPage(try logPage(body, for: opened.logAudience(of: exchange.account))))
        case .verifyLog(let body): return try verifyLog(body, exchange)

        case .addItem(let body): return try addItem(body, exchange)
        case .findItems(let body): return try findItems(body, exchange)
        case .updateItems(let body): return try updateItems(body, exchange)
        case .deleteItems(let body): return try deleteItems(body, exchange)
        case .watchItems(let body): return try watchItems(body, exchange)

        case .adminUsers(let body): return try adminUsers(body)
        case .adminLog(let body): return try adminLog(body)
        case .forgetUser(let body): return try forgetUser(body, exchange)

        case .importStore(let body): return try importStore(body, exchange)

        case .grantLease(let body): return try grantLease(body, exchange)
        case .listLeases(let body): return try listLeases(body, exchange)
        case .revokeLeases(let body): return try revokeLeases(body, exchange)
        }
    }

    // MARK: shared by the handlers

    /// The name that a refused request was about, as far as the request says it.
    private func objectName(of subject: RequestSubject, _ exchange: Exchange) -> String {
        switch subject {
        case .nothing: ""
        case .name(let name): name
        case .object(let id): name(ofObject: id, exchange)
        case .application(let id): NameDefect(id) == nil ? id : ""
        case .relyingParty(let domain): RelyingPartyIdentifier(domain)?.domain ?? ""
        }
    }

    private func name(ofObject bytes: Data, _ exchange: Exchange) -> String {
        guard let id = VaultID(bytes: bytes),
            let object = try? vault.read({ try $0.object(id, owner: exchange.account.id) })
        else {
            return ""  // The refusal is recorded without a name: the row is absent or unreadable.
        }
        return object.attributes.identifier.text
    }
}
