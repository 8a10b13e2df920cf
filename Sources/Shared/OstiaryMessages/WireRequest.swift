public import CanonicalEncoding

/// A program's request. The daemon's `RequestTable.swift` says what it accepts of each request, and when.
public struct WireRequest: FrameMessage, WireValue {
    /// Numbers never change their meaning and are never reused.
    ///
    /// Large messages are boxed (`indirect`). Otherwise every small message would take the space of the largest.
    public enum OneOf_Body: Equatable, Sendable {
        case hello(WireHello)
        case status(WireStatusRequest)
        case cancel(WireCancelRequest)
        indirect case environment(WireEnvironmentRequest)

        case openContext(WireOpenContextRequest)
        case closeContext(WireCloseContextRequest)
        case deauthorize(WireDeauthorizeRequest)
        case setCredential(WireSetCredentialRequest)
        case credentialState(WireCredentialStateRequest)
        indirect case evaluatePolicy(WireEvaluatePolicyRequest)
        indirect case authorize(WireAuthorizeRequest)
        case listGrants(WireListGrantsRequest)
        case revokeGrants(WireRevokeGrantsRequest)
        case awaitGrantEnd(WireAwaitGrantEndRequest)
        case heldGrants(WireHeldGrantsRequest)

        indirect case createRight(WireCreateRightRequest)
        case findRight(WireFindRightRequest)
        case listRights(WireListRightsRequest)
        case removeRight(WireRemoveRightRequest)
        case removeAllRights(WireRemoveAllRightsRequest)

        case sign(WireSignRequest)
        case decrypt(WireDecryptRequest)
        indirect case exchange(WireExchangeRequest)
        case readSecret(WireReadSecretRequest)

        indirect case passcode(WirePasscodeRequest)
        case lock(WireLockRequest)

        case readLog(WireReadLogRequest)
        indirect case verifyLog(WireVerifyLogRequest)
        case diagnose(WireDiagnoseRequest)
        indirect case repair(WireRepairRequest)

        indirect case addItem(WireAddItemRequest)
        indirect case findItems(WireFindItemsRequest)
        indirect case updateItems(WireUpdateItemsRequest)
        indirect case deleteItems(WireDeleteItemsRequest)
        case watchItems(WireWatchItemsRequest)

        indirect case createKey(WireCreateKeyRequest)
        case findKey(WireFindKeyRequest)
        indirect case removeKey(WireRemoveKeyRequest)
        case decapsulate(WireDecapsulateRequest)
        indirect case evaluateAccessControl(WireEvaluateAccessControlRequest)
        case listKeys(WireListKeysRequest)
        indirect case pruneKeys(WirePruneKeysRequest)

        indirect case registerApplication(WireRegisterApplicationRequest)
        case listApplications(WireListApplicationsRequest)
        indirect case removeApplication(WireRemoveApplicationRequest)

        indirect case registerCredential(WireRegisterCredentialRequest)
        indirect case assertCredential(WireAssertCredentialRequest)
        case authenticatorCommand(WireAuthenticatorCommandRequest)
        case listSecurityKeys(WireListSecurityKeysRequest)
        indirect case enrollSecurityKey(WireEnrollSecurityKeyRequest)
        indirect case removeSecurityKey(WireRemoveSecurityKeyRequest)
        indirect case securityKeyPIN(WireSecurityKeyPINRequest)
        case listPasskeys(WireListPasskeysRequest)
        indirect case removePasskey(WireRemovePasskeyRequest)

        indirect case enrollAttestation(WireEnrollAttestationRequest)
        case activateAttestation(WireActivateAttestationRequest)
        case attest(WireAttestRequest)

        indirect case confirmedSign(WireConfirmedSignRequest)
        indirect case confirmedAttest(WireConfirmedAttestRequest)
        indirect case sshSign(WireSSHSignRequest)
        indirect case sshAssert(WireSSHAssertRequest)

        case adminUsers(WireAdminUsersRequest)
        case adminLog(WireAdminLogRequest)
        indirect case forgetUser(WireForgetUserRequest)
        indirect case importStore(WireImportStoreRequest)

        indirect case grantLease(WireGrantLeaseRequest)
        case listLeases(WireListLeasesRequest)
        case revokeLeases(WireRevokeLeasesRequest)
    }

    /// Chosen by the program: not 0, and not the id of a request that still runs.
    public var id: UInt64 = 0
    /// A request without a body ends the connection.
    public var body: OneOf_Body?
    /// Since protocol 8: the client of a door that the request is made for; nil for the program that is connected.
    public var onBehalf: WireOnBehalf?

    public init() {}

    /// Stands before a client and the request that is made for it, where the request's own number stands otherwise. So a request of
    /// the program itself has the same bytes as before there were clients.
    private static let clientNumber: UInt8 = 120
    /// Older daemons would take a request for a client for one of the door's own.
    public static let clientVersion: UInt32 = 8

    func write(to writer: inout FieldWriter) {
        id.write(to: &writer)
        writer.write(flag: body != nil)
        guard let body else { return }
        if let onBehalf {
            guard writer.version >= Self.clientVersion else { return writer.fail(.malformed) }
            writer.write(choice: Self.clientNumber, onBehalf)
        }
        body.write(to: &writer)
    }

    static func read(from reader: inout FieldReader) -> WireRequest? {
        guard let id = UInt64.read(from: &reader), let isThere = Bool.read(from: &reader) else { return nil }
        var request = WireRequest()
        request.id = id
        guard isThere else { return request }
        guard var number = readNumber(from: &reader) else { return nil }
        if number == clientNumber, reader.version >= clientVersion {
            guard let client = WireOnBehalf.read(from: &reader), let next = readNumber(from: &reader) else {
                return nil
            }
            (request.onBehalf, number) = (client, next)
        }
        guard let body = OneOf_Body(number: number, from: &reader) else {
            reader.fail(.unknownChoice)
            return nil
        }
        request.body = body
        return request
    }

    private static func readNumber(from reader: inout FieldReader) -> UInt8? {
        reader.read { canonical throws(CanonicalEncodingError) in try canonical.read(UInt8.self) }
    }
}

extension WireRequest.OneOf_Body {
    /// The oldest version in which the request has its full meaning. A program sends it in no older one: there the daemon would not
    /// know it, or would overlook a field.
    public var oldestVersion: UInt32 {
        switch self {
        case .createRight(let create) where !create.sshConstraints.isEmpty: 9
        case .createKey(let create) where !create.sshConstraints.isEmpty: 9
        case .sshSign, .sshAssert: 9
        case .createRight(let create) where !create.accessGroup.isEmpty: 8
        case .findRight(let find) where !find.accessGroup.isEmpty: 8
        case .listRights(let list) where !list.accessGroup.isEmpty: 8
        case .removeRight(let remove) where !remove.accessGroup.isEmpty: 8
        case .registerApplication(let registration) where !registration.others.isEmpty: 9
        case .registerApplication(let registration) where registration.isDoor: 8
        case .addItem(let add) where add.itemClass == WireLimits.freeformClass: 10
        case .updateItems(let update) where update.replacesFreeAttributes || update.query.isFreeform: 10
        case .deleteItems(let delete) where delete.query.isFreeform || delete.also.contains(where: \.isFreeform): 10
        case .watchItems(let watch) where watch.queries.contains(where: \.isFreeform): 10
        case .watchItems: 8
        case .findItems(let find) where find.query.isFreeform: 10
        case .findItems(let find) where !find.also.isEmpty: 9
        case .findItems(let find) where find.listsLocked: 8
        case .adminUsers, .adminLog, .forgetUser, .importStore: 9
        case .grantLease, .listLeases, .revokeLeases: 9
        case .authorize(let authorization) where authorization.limits?.isAtTrustedPlace == true: 9
        default: ProtocolVersions.ofThisBuild.oldest
        }
    }
}

/// Cancels a running request of the same connection. Answered by ``WireDone``, even if there was none.
public struct WireCancelRequest: WireMessage, FieldList {
    public var requestID: UInt64 = 0

    public init() {}

    mutating func fields(_ coder: inout some FieldCoder) {
        coder.field(&requestID)
    }
}

// MARK: - Encoding

extension WireRequest.OneOf_Body: WireChoice {
    func write(to writer: inout FieldWriter) {
        switch self {
        case .hello(let message): writer.write(choice: 2, message)
        case .status(let message): writer.write(choice: 3, message)
        case .cancel(let message): writer.write(choice: 4, message)
        case .environment(let message): writer.write(choice: 5, message)
        case .openContext(let message): writer.write(choice: 10, message)
        case .closeContext(let message): writer.write(choice: 11, message)
        case .deauthorize(let message): writer.write(choice: 12, message)
        case .setCredential(let message): writer.write(choice: 13, message)
        case .credentialState(let message): writer.write(choice: 14, message)
        case .evaluatePolicy(let message): writer.write(choice: 15, message)
        case .authorize(let message): writer.write(choice: 16, message)
        case .listGrants(let message): writer.write(choice: 90, message)
        case .revokeGrants(let message): writer.write(choice: 91, message)
        case .awaitGrantEnd(let message): writer.write(choice: 92, message)
        case .heldGrants(let message): writer.write(choice: 93, message)
        case .createRight(let message): writer.write(choice: 20, message)
        case .findRight(let message): writer.write(choice: 21, message)
        case .listRights(let message): writer.write(choice: 22, message)
        case .removeRight(let message): writer.write(choice: 23, message)
        case .removeAllRights(let message): writer.write(choice: 24, message)
        case .sign(let message): writer.write(choice: 30, message)
        case .decrypt(let message): writer.write(choice: 31, message)
        case .exchange(let message): writer.write(choice: 32, message)
        case .readSecret(let message): writer.write(choice: 33, message)
        case .passcode(let message): writer.write(choice: 40, message)
        case .lock(let message): writer.write(choice: 41, message)
        case .readLog(let message): writer.write(choice: 50, message)
        case .verifyLog(let message): writer.write(choice: 51, message)
        case .diagnose(let message): writer.write(choice: 52, message)
        case .repair(let message): writer.write(choice: 53, message)
        case .addItem(let message): writer.write(choice: 60, message)
        case .findItems(let message): writer.write(choice: 61, message)
        case .updateItems(let message): writer.write(choice: 62, message)
        case .deleteItems(let message): writer.write(choice: 63, message)
        case .watchItems(let message): writer.write(choice: 68, message)
        case .createKey(let message): writer.write(choice: 70, message)
        case .findKey(let message): writer.write(choice: 71, message)
        case .removeKey(let message): writer.write(choice: 72, message)
        case .decapsulate(let message): writer.write(choice: 73, message)
        case .evaluateAccessControl(let message): writer.write(choice: 74, message)
        case .listKeys(let message): writer.write(choice: 75, message)
        case .pruneKeys(let message): writer.write(choice: 76, message)
        case .registerApplication(let message): writer.write(choice: 80, message)
        case .listApplications(let message): writer.write(choice: 81, message)
        case .removeApplication(let message): writer.write(choice: 82, message)
        case .registerCredential(let message): writer.write(choice: 100, message)
        case .assertCredential(let message): writer.write(choice: 101, message)
        case .authenticatorCommand(let message): writer.write(choice: 102, message)
        case .listSecurityKeys(let message): writer.write(choice: 64, message)
        case .enrollSecurityKey(let message): writer.write(choice: 65, message)
        case .removeSecurityKey(let message): writer.write(choice: 66, message)
        case .securityKeyPIN(let message): writer.write(choice: 67, message)
        case .listPasskeys(let message): writer.write(choice: 110, message)
        case .removePasskey(let message): writer.write(choice: 111, message)
        case .enrollAttestation(let message): writer.write(choice: 85, message)
        case .activateAttestation(let message): writer.write(choice: 86, message)
        case .attest(let message): writer.write(choice: 87, message)
        case .confirmedSign(let message): writer.write(choice: 94, message)
        case .confirmedAttest(let message): writer.write(choice: 95, message)
        case .sshSign(let message): writer.write(choice: 96, message)
        case .sshAssert(let message): writer.write(choice: 97, message)
        case .adminUsers(let message): writer.write(choice: 130, message)
        case .adminLog(let message): writer.write(choice: 131, message)
        case .forgetUser(let message): writer.write(choice: 132, message)
        case .importStore(let message): writer.write(choice: 133, message)
        case .grantLease(let message): writer.write(choice: 140, message)
        case .listLeases(let message): writer.write(choice: 141, message)
        case .revokeLeases(let message): writer.write(choice: 142, message)
        }
    }

    init?(number: UInt8, from reader: inout FieldReader) {
        let body: Self? =
            switch number {
            case 2: reader.choice(Self.hello)
            case 3: reader.choice(Self.status)
            case 4: reader.choice(Self.cancel)
            case 5: reader.choice(Self.environment)
            case 10: reader.choice(Self.openContext)
            case 11: reader.choice(Self.closeContext)
            case 12: reader.choice(Self.deauthorize)
            case 13: reader.choice(Self.setCredential)
            case 14: reader.choice(Self.credentialState)
            case 15: reader.choice(Self.evaluatePolicy)
            case 16: reader.choice(Self.authorize)
            case 20: reader.choice(Self.createRight)
            case 21: reader.choice(Self.findRight)
            case 22: reader.choice(Self.listRights)
            case 23: reader.choice(Self.removeRight)
            case 24: reader.choice(Self.removeAllRights)
            case 30: reader.choice(Self.sign)
            case 31: reader.choice(Self.decrypt)
            case 32: reader.choice(Self.exchange)
            case 33: reader.choice(Self.readSecret)
            case 40: reader.choice(Self.passcode)
            case 41: reader.choice(Self.lock)
            case 50: reader.choice(Self.readLog)
            case 51: reader.choice(Self.verifyLog)
            case 52: reader.choice(Self.diagnose)
            case 53: reader.choice(Self.repair)
            case 60: reader.choice(Self.addItem)
            case 61: reader.choice(Self.findItems)
            case 62: reader.choice(Self.updateItems)
            case 63: reader.choice(Self.deleteItems)
            case 64: reader.choice(Self.listSecurityKeys)
            case 65: reader.choice(Self.enrollSecurityKey)
            case 66: reader.choice(Self.removeSecurityKey)
            case 67: reader.choice(Self.securityKeyPIN)
            case 68: reader.choice(since: 8, Self.watchItems)
            case 70: reader.choice(Self.createKey)
            case 71: reader.choice(Self.findKey)
            case 72: reader.choice(Self.removeKey)
            case 73: reader.choice(Self.decapsulate)
            case 74: reader.choice(Self.evaluateAccessControl)
            case 75: reader.choice(Self.listKeys)
            case 76: reader.choice(Self.pruneKeys)
            case 80: reader.choice(Self.registerApplication)
            case 81: reader.choice(Self.listApplications)
            case 82: reader.choice(Self.removeApplication)
            case 85: reader.choice(Self.enrollAttestation)
            case 86: reader.choice(Self.activateAttestation)
            case 87: reader.choice(Self.attest)
            case 90: reader.choice(Self.listGrants)
            case 91: reader.choice(Self.revokeGrants)
            case 92: reader.choice(Self.awaitGrantEnd)
            case 93: reader.choice(Self.heldGrants)
            case 94: reader.choice(Self.confirmedSign)
            case 95: reader.choice(Self.confirmedAttest)
            case 96: reader.choice(since: 9, Self.sshSign)
            case 97: reader.choice(since: 9, Self.sshAssert)
            case 100: reader.choice(Self.registerCredential)
            case 101: reader.choice(Self.assertCredential)
            case 102: reader.choice(Self.authenticatorCommand)
            case 110: reader.choice(Self.listPasskeys)
            case 111: reader.choice(Self.removePasskey)
            case 130: reader.choice(since: 9, Self.adminUsers)
            case 131: reader.choice(since: 9, Self.adminLog)
            case 132: reader.choice(since: 9, Self.forgetUser)
            case 133: reader.choice(since: 9, Self.importStore)
            case 140: reader.choice(since: 9, Self.grantLease)
            case 141: reader.choice(since: 9, Self.listLeases)
            case 142: reader.choice(since: 9, Self.revokeLeases)
            default: nil
            }
        guard let body else { return nil }
        self = body
    }
}

extension WireRequest {
    public func canonicalBytes(
        in version: UInt32, behind room: Int, reserving more: Int
    ) throws(WireEncodingError) -> [UInt8] {
        try encoded(in: version, behind: room, reserving: more)
    }

    @unsafe public init(reading bytes: UnsafeRawBufferPointer, in version: UInt32) throws(CanonicalEncodingError) {
        self = try unsafe Self.decoded(bytes, in: version)
    }
}
