import AccessControl
package import Foundation
package import OstiaryMessages
import ProtectedObjects

/// Where a connection stands.
package enum SessionState: Equatable, Sendable {
    /// Connected, identity taken, greeting sent; the caller has not echoed the nonce.
    case connected
    case greeted
}

/// Who answers a request. What asks a person, stretches a passcode or reads much has a thread of its own, so that the
/// connection's end and a cancel are seen meanwhile.
package enum RequestThread: Equatable, Sendable {
    case connection
    case own
    /// One of its own for requests that only read, but much; the connection's if none of those is free.
    case ownForReading
    /// The connection's where the enclave answers at once, else one of its own: a chip may take a second.
    case connectionUnlessEnclaveIsSlow
    /// The connection's, until it turns out that a person must be asked or much be read: then it begins again on a thread of its own
    /// (as ``own`` or as ``ownForReading``).
    case connectionUnlessAsking
    /// One of its own that waits for a change, beside those of slow requests: it takes the place of none of them.
    case waiting
    /// One of its own, which ends when the request has to wait. The thread that brings the awaited event answers it.
    case ownUntilWaiting
    /// The connection's, which does not wait either.
    case connectionUntilWaiting
}

/// What a request is about, as far as it says so itself; for the record of a refusal.
package enum RequestSubject: Equatable, Sendable {
    case nothing
    /// The name that a program gives a right.
    case name(String)
    /// The id of a right or key.
    case object(Data)
    case application(String)
    /// The domain of a relying party.
    case relyingParty(String)
}

/// What the daemon accepts of one request, and what the log calls it.
package struct RequestRow: Equatable, Sendable {
    /// What the audit log calls the request, granted or refused.
    package let eventName: String
    package let thread: RequestThread
    /// Bytes of raw tail that it may carry.
    package let tailByteCount: Int
    /// Whether a terminal may be attached.
    package let acceptsTerminal: Bool
    /// Whether a program's file may be attached.
    let acceptsFile: Bool
    package let subject: RequestSubject
    /// Whether a program may send it whose file is not the one that was registered: what names no object, and what ends
    /// something. Everything else would be done in the name of another program.
    package let isOpenToChangedPrograms: Bool
    /// Whether the program sends question and terminal only when they are asked for: most items need neither, and opening,
    /// passing and closing a terminal costs as much as finding one.
    package let withholdsQuestion: Bool
    /// Whether the answer tells what the store holds. It is refused while the audit log does not fit the store.
    package let showsStore: Bool
    /// Whether a door may send it for a client: requests that open, use and keep objects, but none that concerns the store.
    let isForClients: Bool
    /// Whether it only ends grants of its program. A door may send it for a client that has changed.
    let onlyEnds: Bool
    /// Whether only the administrator may send it, to a daemon of many users.
    package let isForAdministrators: Bool
    /// The only state of the connection in which it may be sent.
    package let state: SessionState

    init(
        _ eventName: String, _ thread: RequestThread, tail: Int = 0, terminal: Bool = false, file: Bool = false,
        of subject: RequestSubject = .nothing, forChanged: Bool = false, withholdsQuestion: Bool = false,
        showsStore: Bool = false, clients: Bool = false, onlyEnds: Bool = false,
        administrators: Bool = false, state: SessionState = .greeted
    ) {
        self.eventName = eventName
        self.thread = thread
        tailByteCount = tail
        acceptsTerminal = terminal
        acceptsFile = file
        self.subject = subject
        isOpenToChangedPrograms = forChanged
        self.withholdsQuestion = withholdsQuestion
        self.showsStore = showsStore
        isForClients = clients
        self.onlyEnds = onlyEnds
        isForAdministrators = administrators
        self.state = state
    }
}

/// Every request that a caller can send. Any program of the owner may send any of them; what it then gets is decided by the
/// rule of the object and by the grants of its own connection's contexts. Who answers it: `Broker.carryOut`.
extension WireRequest.OneOf_Body {
    package var row: RequestRow {
        switch self {
        // The connection and the daemon.
        case .hello: RequestRow("hello", .connection, file: true, forChanged: true, state: .connected)
        case .cancel: RequestRow("cancel", .connection, forChanged: true)
        case .status: RequestRow("status", .ownForReading, forChanged: true, clients: true)
        case .environment: RequestRow("environment", .ownUntilWaiting)
        case .diagnose: RequestRow("diagnose", .ownForReading, forChanged: true)
        case .repair: RequestRow("repair", .own, terminal: true, forChanged: true)
        case .readLog: RequestRow("readLog", .ownForReading, forChanged: true)
        case .verifyLog: RequestRow("verifyLog", .own, terminal: true, forChanged: true)

        // Passcode and lock.
        case .passcode(let body): RequestRow(body.event, .own, terminal: true, forChanged: true)
        case .lock: RequestRow("lock", .connection, forChanged: true)

        // Contexts, and what is proved in them.
        case .openContext: RequestRow("openContext", .connection, clients: true)
        case .closeContext:
            RequestRow("closeContext", .connection, forChanged: true, clients: true, onlyEnds: true)
        case .deauthorize: RequestRow("deauthorize", .connection, forChanged: true, clients: true, onlyEnds: true)
        case .setCredential: RequestRow("setCredential", .connection, tail: 1024, clients: true)
        case .credentialState: RequestRow("credentialState", .connection, clients: true)
        case .evaluatePolicy: RequestRow("evaluate-policy", .own, terminal: true, clients: true)
        case .evaluateAccessControl: RequestRow("evaluate-access-control", .own, terminal: true, clients: true)
        case .authorize(let body):
            RequestRow(body.event, .own, terminal: true, of: .object(body.rightID), clients: true)

        // Grants: those of all programs for the owner, and the end of a program's own.
        case .listGrants: RequestRow("listGrants", .ownForReading, forChanged: true)
        case .revokeGrants: RequestRow("grants-revoke", .own, forChanged: true)
        case .awaitGrantEnd: RequestRow("awaitGrantEnd", .waiting)
        case .heldGrants: RequestRow("heldGrants", .connection, clients: true)

        // Leases. A door asks for none: its clients get theirs with a question.
        case .grantLease: RequestRow("lease-grant", .own, terminal: true)
        case .listLeases: RequestRow("listLeases", .ownForReading, forChanged: true)
        case .revokeLeases: RequestRow("lease-revoke", .own, forChanged: true)

        // Rights.
        case .createRight(let body):
            RequestRow(
                "create", .own, tail: WireLimits.secretByteCount, terminal: true, of: .name(body.identifier),
                clients: true)
        case .findRight(let body):
            RequestRow("findRight", .connection, of: .name(body.identifier), showsStore: true, clients: true)
        case .listRights(let body):
            RequestRow("listRights", .ownForReading, showsStore: true, clients: !body.ofAllApplications)
        case .removeRight(let body): RequestRow("remove", .own, of: .name(body.identifier), clients: true)
        case .removeAllRights: RequestRow("remove-all", .own)

        // Uses of a right or key that is authorized in a context.
        case .sign(let body):
            RequestRow(
                "sign", .connectionUnlessEnclaveIsSlow, tail: WireLimits.tailByteCount, of: .object(body.rightID),
                clients: true)
        case .decrypt(let body):
            RequestRow(
                "decrypt", .connectionUnlessEnclaveIsSlow, tail: WireLimits.tailByteCount, of: .object(body.rightID),
                clients: true)
        case .exchange(let body):
            RequestRow("key-exchange", .connectionUnlessEnclaveIsSlow, of: .object(body.rightID), clients: true)
        case .decapsulate(let body):
            RequestRow(
                "key-exchange", .connectionUnlessEnclaveIsSlow, tail: 4096, of: .object(body.keyID), clients: true)
        case .readSecret(let body): RequestRow("read", .connection, of: .object(body.rightID), clients: true)

        // The same, where each use asks.
        case .confirmedSign(let body):
            RequestRow(
                "sign", .own, tail: WireLimits.tailByteCount, terminal: true, of: .object(body.rightID), clients: true)
        case .confirmedAttest(let body):
            RequestRow(
                "attest", .own, tail: AttestationLimits.challengeByteCounts.upperBound, terminal: true,
                of: .object(body.rightID), clients: true)
        // A key that confirms nothing is mostly authorized already, and then nobody is asked.
        case .sshSign(let body):
            RequestRow(
                "ssh-sign", body.contextID == 0 ? .own : .connectionUnlessAsking, tail: WireLimits.sshDataByteCount,
                terminal: true, of: .object(body.rightID), clients: true)
        case .sshAssert(let body):
            RequestRow(
                "ssh-sign", .own, tail: WireLimits.sshDataByteCount, terminal: true, of: .object(body.credentialID),
                clients: true)

        // Enclave keys that back no right.
        case .createKey: RequestRow("key-create", .own, terminal: true, clients: true)
        case .findKey: RequestRow("findKey", .connection, showsStore: true, clients: true)
        case .listKeys: RequestRow("listKeys", .ownForReading, showsStore: true)
        case .pruneKeys: RequestRow("keys-prune", .own, terminal: true, showsStore: true)
        case .removeKey(let body):
            RequestRow("key-remove", .own, terminal: true, of: .object(body.keyID), clients: !body.ofAnyGroup)

        // Programs that are known by a name.
        case .registerApplication(let body):
            RequestRow(
                body.event, .own, terminal: true, file: true, of: .application(body.applicationID), forChanged: true)
        case .listApplications: RequestRow("listApplications", .ownForReading, forChanged: true, showsStore: true)
        case .removeApplication(let body):
            RequestRow(
                "application-remove", .own, terminal: true, of: .application(body.applicationID), forChanged: true)

        // Credentials of relying parties.
        case .registerCredential(let body):
            RequestRow(
                "credential-register", .own, terminal: true,
                of: .relyingParty(body.creations.first?.relyingPartyID ?? ""))
        case .assertCredential(let body):
            RequestRow(
                "credential-assert", .own, terminal: true,
                of: .relyingParty(body.assertions.first?.relyingPartyID ?? ""))
        case .authenticatorCommand:
            RequestRow(
                "browser-command", .own, tail: WireLimits.authenticatorCommandByteCount, terminal: true,
                showsStore: true)

        // Security keys as factors.
        case .listSecurityKeys: RequestRow("listSecurityKeys", .own, showsStore: true)
        case .enrollSecurityKey(let body):
            RequestRow("security-key-enroll", .own, terminal: true, of: .name(body.name))
        case .removeSecurityKey: RequestRow("security-key-remove", .own, terminal: true)
        case .securityKeyPIN: RequestRow("security-key-pin", .own, terminal: true)

        // Passkeys of this machine. A door for SSH shows its client those that were made for it.
        case .listPasskeys: RequestRow("listPasskeys", .ownForReading, showsStore: true, clients: true)
        case .removePasskey: RequestRow("passkey-remove", .own, terminal: true)

        // Attestation of keys by their chip.
        case .enrollAttestation: RequestRow("attestation-enroll", .own, terminal: true)
        case .activateAttestation:
            RequestRow("attestation-activate", .own, tail: AttestationLimits.credentialByteCount)
        case .attest(let body):
            RequestRow(
                "attest", .own, tail: AttestationLimits.challengeByteCounts.upperBound, of: .object(body.rightID))

        // Keychain items. Most ask for nothing; reading one takes microseconds, changing one a disk flush.
        case .addItem(let body):
            RequestRow(
                "item-add", body.use.thread, tail: ItemRequestLimits.dataByteCount, terminal: true,
                withholdsQuestion: body.use.withholdsQuestion, clients: true)
        case .findItems(let body):
            RequestRow(
                "item-read", body.use.thread, terminal: true, withholdsQuestion: body.use.withholdsQuestion,
                showsStore: true, clients: true)
        case .updateItems(let body):
            RequestRow(
                "item-update", body.use.thread, tail: ItemRequestLimits.dataByteCount, terminal: true,
                withholdsQuestion: body.use.withholdsQuestion, clients: true)
        case .deleteItems: RequestRow("item-delete", .own, terminal: true, clients: true)
        case .watchItems: RequestRow("watchItems", .connectionUntilWaiting, showsStore: true)

        // The administrator's.
        case .adminUsers: RequestRow("admin-users", .ownForReading, showsStore: true, administrators: true)
        case .adminLog: RequestRow("admin-log", .ownForReading, administrators: true)
        case .forgetUser(let body): RequestRow("forget-user", .own, of: .name(body.name), administrators: true)

        // A part of the user's own former store.
        case .importStore:
            RequestRow("store-import", .own, tail: WireLimits.tailByteCount, terminal: true)
        }
    }
}

extension WireItemUse {
    /// One that needs its question begins where it may wait for the person, and not once more after a look without.
    fileprivate var thread: RequestThread { expectsQuestion && !withholdsQuestion ? .own : .connectionUnlessAsking }
}

extension WirePasscodeRequest {
    fileprivate var event: String {
        switch action {
        case .set: "passcode-set"
        case .change: "passcode-change"
        case .remove: "passcode-remove"
        case .followLogin: "passcode-follow-login"
        case .ignoreLogin: "passcode-ignore-login"
        case .sign: "sign-set"
        case .unspecified, .UNRECOGNIZED: "passcode"
        }
    }
}

extension WireAuthorizeRequest {
    fileprivate var event: String {
        switch subject {
        case .requirement: "authorize-requirement"
        case .store: "unlock"
        case .rightID, nil: "authorize"
        }
    }
}

extension WireRegisterApplicationRequest {
    fileprivate var event: String { adopts ? "application-adopt" : "application-register" }
}
