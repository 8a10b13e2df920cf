import AccessControl
import AssociationFiles
import AuditLog
import Auditing
import Authenticators
import Callers
import DeviceEvents
import Enclave
import ExactNames
import Foundation
import Logging
import OstiaryWire
import OwnerKeys
import Passcodes
import Prompting
import ProtectedObjects
import Refusals
import SecretMemory
import SessionLocks
import StoreKeys
import Synchronization
import Threading
import Vault

/// The trusted side: owns the keys, decides, and answers requests. Which request goes where is ``answer(_:in:cancellation:)``;
/// what each may bring is in `RequestTable.swift`; whether it is allowed is `plan` in the module AccessControl.
public final class Broker: Sendable {
    let log: Logger
    let configuration: BrokerConfiguration
    let enclave: any Enclave
    let vault: Vault
    let attestationKeys: AttestationKeyFile
    let clock: any BootClock
    let prompter: any Prompter
    let seeds: LogSeeds
    let trail: AuditTrail
    /// The users whom this daemon serves: today the one whom it runs as.
    package let accounts: [OwnerAccount]
    let sessions = SessionRegistry()
    let slowRequests = SlowRequestQuota()
    let readings = SlowRequestQuota(ofProgram: SessionLimits.readingCountOfProgram, total: SessionLimits.readingTotal)
    let credentials = CredentialQuota()
    let authenticators: CredentialAuthenticators
    /// Nil where no chip counts.
    let rollback: StoreRollback?
    let associations: Associations
    let grantEnds = WorkThread(name: "ostiary-grant-ends")
    let watches = EnvironmentWatches()
    /// Looks at environments that somebody watches, one after another.
    let looks = WorkThread(name: "ostiary-environment")
    /// Nil where readers are not followed.
    let plugs = Mutex<PlugWatcher?>(nil)

    init(
        configuration: BrokerConfiguration, log: Logger, enclave: any Enclave, vault: Vault,
        attestationKeys: AttestationKeyFile, clock: any BootClock, prompter: any Prompter, seeds: LogSeeds,
        trail: AuditTrail, accounts: [OwnerAccount], authenticators: CredentialAuthenticators, rollback: StoreRollback?
    ) {
        self.configuration = configuration
        self.log = log
        self.enclave = enclave
        self.vault = vault
        self.attestationKeys = attestationKeys
        self.clock = clock
        self.prompter = prompter
        // Before there are other secrets that could use up the memory that may be locked.
        SecretMemoryStatus.keepAsideForPasscodes()
        self.seeds = seeds
        self.trail = trail
        self.accounts = accounts
        self.authenticators = authenticators
        self.rollback = rollback
        associations = Associations(
            program: configuration.associationProgram, folder: configuration.associationsDirectory,
            trustedUserID: configuration.associationsUserID, server: configuration.associationServer)
        for account in accounts {
            account.sensor?.whenSensorChanges { [weak self, weak account] endsReuse in
                guard let self, let account else { return }
                if endsReuse { account.recentBiometry.forget() }
                environmentMayHaveChanged(of: account, askingSensor: true)
            }
            // A daemon that was killed after a change and before it erased what the change replaced left that to this one.
            account.eraser.erase()
            // A delay that a reboot interrupted counts from the daemon's start, not from when somebody first looks at it.
            // An unreadable counter refuses the passcode; what needs none goes on.
            _ = knownAttempts(of: account)
            account.biometry?.onChange { [sessions, weak account] change in
                // What a finger proved before counts no longer than the set that it was compared with.
                if change == .enrolledSet, let account { sessions.endGrantsOfFormerSet(of: account) }
            }
        }
    }

    /// The account of the user with this number; nil for a user whom the daemon does not serve.
    func account(ofUser userID: UInt32) -> OwnerAccount? { accounts.first { $0.user.id == userID } }

    /// Ends all grants, wipes every key and anchors the log. Nothing is answered afterwards.
    public func close() {
        plugs.withLock { $0 }?.stop()
        for account in accounts {
            account.sessionLocks.withLock { $0 }?.stop()
            account.biometry?.stop()
        }
        for account in accounts { account.ring.wipe() }
        sessions.endAllGrants()
        grantEnds.finish()
        trail.close()
        Self.coverChanges(of: vault, log)
        // A session that was given up may be reading the store, which must not be closed under it; the process's end does that.
        guard sessions.isEmpty else { return }
        do { try vault.close() } catch { log.error("the store was not closed", metadata: ["cause": "\(error)"]) }
    }

    // MARK: answering

    /// Carries out one admitted request. Every error ends as a refusal, but for ``PersonNeeded`` and ``OwnThreadNeeded``: nothing was
    /// done yet.
    ///
    /// - Parameter cancellation: ends the request while it waits; nil on a thread that must not wait for anybody.
    func answer(
        _ request: IncomingRequest, in session: Session, cancellation: RequestCancellation?
    ) throws -> Reply {
        do {
            return try carryOut(request, in: session, cancellation: cancellation)
        } catch let needed as PersonNeeded {
            throw needed
        } catch let needed as OwnThreadNeeded {
            throw needed
        } catch {
            recordOpening(of: request, session, cancellation)
            let refusal = refusal(for: error)
            if RefusalMapping.isDecision(refusal) {
                trail.refuse(
                    event(request.eventName, session, object: objectName(of: request.row.subject, session)),
                    because: refusal)
            }
            throw refusal
        }
    }

    /// Records that a request that failed afterwards opened the store with the passcode. The program was granted nothing, and may not
    /// even be the one that the person was told of. A store whose opening cannot be recorded is locked again.
    private func recordOpening(
        of request: IncomingRequest, _ session: Session, _ cancellation: RequestCancellation?
    ) {
        guard let cancellation, cancellation.hasUnrecordedOpening else { return }
        let opening = AuditTrail.Event(
            name: "unlock", program: session.caller.program,
            object: objectName(of: request.row.subject, session), operation: request.eventName)
        do {
            try trail.noteOpening(
                opening, factors: [Factor.passcode.name],
                strength: session.account.evaluator.authenticators[.passcode].strength(of: .passcode).rawValue)
            cancellation.noteOpeningRecorded()
        } catch { lock(session.account, event("lock", session)) }
    }

    func refusal(for error: any Error) -> Refusal {
        let refusal = RefusalMapping.refusal(for: error)
        if refusal.code == .internal || refusal.code == .storeUnreadable {
            // The detail is for the person who runs the daemon; it names no secret and no value of a caller.
            log.error("a request failed", metadata: ["cause": "\(error)"])
        }
        return refusal
    }

    private func requireOpen(_ row: RequestRow, to caller: CallerProcess) throws(Refusal) {
        if !row.isOpenToChangedPrograms,
            let refusal = caller.identity.standing.refusal(of: caller.program.application.text)
        {
            throw refusal
        }
        if row.showsStore, !trail.audit.state.fits { throw Self.doubtfulStore }
    }

    /// A log that was put back may belong to an older copy of the whole store, and then its lists are old.
    private static let doubtfulStore = Refusal(
        .logUnwritable,
        "The audit log does not fit the store, so nobody can tell whether this is the newest copy of the store, and its "
            + "lists are not shown. `ostiary doctor` says more.", cause: "log.doubtful-store")

    private func carryOut(
        _ request: IncomingRequest, in session: Session, cancellation: RequestCancellation?
    ) throws -> Reply {
        try requireOpen(request.row, to: session.caller)
        switch request.body {
        case .hello, .cancel: throw Refusal(.outOfOrder, "The connection answers this itself.")
        case .status: return Reply(.status(try status(for: session)))
        case .environment: return try environment(session)
        case .diagnose:
            let processID = session.caller.program.processID
            return Reply(.diagnosis(diagnosis(for: session.account, askedBy: processID)))
        case .repair(let body): return try repair(body, request, session, cancellation)

        case .openContext(let body):
            let id = try session.contexts.open(keepingFactors: body.keepsFactors)
            return Reply(.context(.with { $0.contextID = id }))
        case .closeContext(let body):
            try session.contexts.close(body.contextID)
            return .done
        case .deauthorize(let body): return try deauthorize(body, session)
        case .setCredential(let body): return try setCredential(body, request, session)
        case .credentialState(let body): return try credentialState(body, session)
        case .evaluatePolicy(let body): return try evaluatePolicy(body, request, session, cancellation)
        case .authorize(let body): return try authorize(body, request, session, cancellation)
        case .evaluateAccessControl(let body):
            return try evaluateAccessControl(body, request, session, cancellation)
        case .listGrants(let body): return try listGrants(body, session)
        case .revokeGrants(let body): return try revokeGrants(body, session)
        case .awaitGrantEnd(let body): return try awaitGrantEnd(body, session, cancellation)
        case .heldGrants: return try heldGrants(session)

        case .createRight(let body): return try createRight(body, request, session, cancellation)
        case .findRight(let body): return try findRight(body, session)
        case .listRights(let body): return try listRights(body, session)
        case .removeRight(let body): return try removeRight(body, session)
        case .removeAllRights: return try removeAllRights(session)

        case .sign(let body):
            try KeyOperations.requireSize(of: request.tail, body)
            return try use(body.contextID, body.rightID, .sign, session) { right in
                try KeyOperations.sign(body, input: request.tail, with: right)
            }
        case .decrypt(let body):
            return try use(body.contextID, body.rightID, .decrypt, session) { right in
                try KeyOperations.decrypt(body, ciphertext: request.tail, with: right)
            }
        case .exchange(let body):
            return try use(body.contextID, body.rightID, .keyExchange, session) { right in
                try KeyOperations.exchange(body, with: right)
            }
        case .decapsulate(let body):
            return try use(body.contextID, body.keyID, .keyExchange, session) { key in
                try key.key.sharedSecret(decapsulating: Data(exposing: request.tail))
            }
        case .readSecret(let body):
            return try use(body.contextID, body.rightID, .read, session) { right in try right.secret() }

        case .confirmedSign(let body): return try signConfirmed(body, request, session, cancellation)
        case .confirmedAttest(let body): return try attestConfirmed(body, request, session, cancellation)

        case .createKey(let body): return try createKey(body, request, session, cancellation)
        case .findKey(let body): return try findKey(body, session)
        case .listKeys(let body): return try listKeys(body, session)
        case .pruneKeys(let body): return try pruneKeys(body, request, session, cancellation)
        case .removeKey(let body): return try removeKey(body, request, session, cancellation)

        case .registerApplication(let body): return try registerApplication(body, request, session, cancellation)
        case .listApplications(let body): return try listApplications(body, session)
        case .removeApplication(let body): return try removeApplication(body, request, session, cancellation)

        case .registerCredential(let body): return try registerCredential(body, request, session, cancellation)
        case .assertCredential(let body): return try assertCredential(body, request, session, cancellation)
        case .authenticatorCommand: return try answerAuthenticatorCommand(request, session, cancellation)

        case .listSecurityKeys: return try listSecurityKeys(session)
        case .enrollSecurityKey(let body): return try enrollSecurityKey(body, request, session, cancellation)
        case .removeSecurityKey(let body): return try removeSecurityKey(body, request, session, cancellation)
        case .securityKeyPIN(let body): return try setSecurityKeyPIN(body, request, session, cancellation)
        case .listPasskeys(let body): return try listPasskeys(body, session)
        case .removePasskey(let body): return try removePasskey(body, request, session, cancellation)

        case .enrollAttestation(let body): return try enrollAttestation(body, request, session, cancellation)
        case .activateAttestation: return try activateAttestation(request, session)
        case .attest(let body): return try attest(body, request, session)

        case .passcode(let body): return try changePasscode(body, request, session, cancellation)
        case .lock: return lock(session)
        case .readLog(let body): return Reply(.logPage(try logPage(body)))
        case .verifyLog(let body): return try verifyLog(body, request, session, cancellation)

        case .addItem(let body): return try addItem(body, request, session, cancellation)
        case .findItems(let body): return try findItems(body, request, session, cancellation)
        case .updateItems(let body): return try updateItems(body, request, session, cancellation)
        case .deleteItems(let body): return try deleteItems(body, request, session)
        }
    }

    // MARK: shared by the handlers

    func event(_ name: String, _ session: Session, object: String = "", operation: String = "") -> AuditTrail.Event {
        AuditTrail.Event(name: name, program: session.caller.program, object: object, operation: operation)
    }

    /// The name that a refused request was about, as far as the request says it.
    private func objectName(of subject: RequestSubject, _ session: Session) -> String {
        switch subject {
        case .nothing: ""
        case .name(let name): name
        case .object(let id): name(ofObject: id, session)
        case .application(let id): NameDefect(id) == nil ? id : ""
        case .relyingParty(let domain): RelyingPartyIdentifier(domain)?.domain ?? ""
        }
    }

    private func name(ofObject bytes: Data, _ session: Session) -> String {
        guard let id = VaultID(bytes: bytes),
            let object = try? vault.read({ try $0.object(id, owner: session.account.id) })
        else {
            return ""  // The refusal is recorded without a name: the row is absent or unreadable.
        }
        return object.attributes.identifier.text
    }

    /// The cancellation of a request that may wait; on a thread that may not, ``PersonNeeded``.
    func slow(_ cancellation: RequestCancellation?) throws(PersonNeeded) -> RequestCancellation {
        guard let cancellation else { throw PersonNeeded() }
        return cancellation
    }

    /// Throws on a thread that may not wait.
    func requireOwnThread(_ request: IncomingRequest) throws(OwnThreadNeeded) {
        guard request.mayReadMuch else { throw OwnThreadNeeded() }
    }
}

/// A request must wait for a person or a slow computation and runs on a thread that must not. Nothing of it was done.
struct PersonNeeded: Error {}

/// A request reads much, and runs on a thread that must not wait for turns. Nothing of it was done.
struct OwnThreadNeeded: Error {}
