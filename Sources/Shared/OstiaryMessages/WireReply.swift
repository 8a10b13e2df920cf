public import CanonicalEncoding

/// The daemon's answer to one request.
public struct WireReply: FrameMessage, FieldList {
    /// Numbers never change their meaning and are never reused.
    ///
    /// Large messages are boxed (`indirect`). Otherwise every small message would take the space of the largest.
    public enum OneOf_Body: Equatable, Sendable {
        case failure(WireFailure)
        case done(WireDone)
        indirect case status(WireStatus)
        case context(WireContextOpened)
        case granted(WireGranted)
        indirect case right(WireRight)
        case rights(WireRightList)
        case logPage(WireLogPage)
        case logVerdict(WireLogVerdict)
        case diagnosis(WireDiagnosis)
        case items(WireItemPage)
        case itemNews(WireItemNews)
        indirect case key(WireKey)
        case applications(WireApplicationList)
        case keys(WireKeyList)
        case unusedKeys(WireUnusedKeys)
        case passkeys(WirePasskeyList)
        case securityKeys(WireSecurityKeyList)
        case repair(WireRepair)
        case grants(WireGrantList)
        case grantEnds(WireGrantEnds)
        case heldGrants(WireHeldGrants)
        indirect case environment(WireEnvironment)
        indirect case registeredCredential(WireRegisteredCredential)
        indirect case assertedCredential(WireAssertedCredential)
        case adminUsers(WireAdminUserList)
        case adminLogPage(WireAdminLogPage)
        case importOutcome(WireImportOutcome)
        indirect case lease(WireLease)
        case leases(WireLeaseList)
    }

    /// The id of the request.
    public var id: UInt64 = 0
    public var body: OneOf_Body?

    public init() {}

    mutating func fields(_ coder: inout some FieldCoder) {
        coder.field(&id)
        coder.field(&body)
    }
}

/// The request was carried out. If it asked for bytes, they are the frame's tail.
public struct WireDone: WireMessage, FieldList {
    /// How many objects were removed or changed.
    public var count: UInt32 = 0
    /// The answer to a ``WireCredentialStateRequest``.
    public var isSet = false

    public init() {}

    mutating func fields(_ coder: inout some FieldCoder) {
        coder.field(&count)
        coder.field(&isSet)
    }
}

// MARK: - Encoding

extension WireReply.OneOf_Body: WireChoice {
    func write(to writer: inout FieldWriter) {
        switch self {
        case .failure(let message): writer.write(choice: 2, message)
        case .done(let message): writer.write(choice: 3, message)
        case .status(let message): writer.write(choice: 4, message)
        case .context(let message): writer.write(choice: 5, message)
        case .granted(let message): writer.write(choice: 7, message)
        case .right(let message): writer.write(choice: 8, message)
        case .rights(let message): writer.write(choice: 9, message)
        case .logPage(let message): writer.write(choice: 10, message)
        case .logVerdict(let message): writer.write(choice: 11, message)
        case .diagnosis(let message): writer.write(choice: 12, message)
        case .items(let message): writer.write(choice: 13, message)
        case .itemNews(let message): writer.write(choice: 61, message)
        case .key(let message): writer.write(choice: 14, message)
        case .applications(let message): writer.write(choice: 15, message)
        case .keys(let message): writer.write(choice: 16, message)
        case .unusedKeys(let message): writer.write(choice: 23, message)
        case .passkeys(let message): writer.write(choice: 30, message)
        case .securityKeys(let message): writer.write(choice: 60, message)
        case .repair(let message): writer.write(choice: 17, message)
        case .grants(let message): writer.write(choice: 20, message)
        case .grantEnds(let message): writer.write(choice: 21, message)
        case .heldGrants(let message): writer.write(choice: 22, message)
        case .environment(let message): writer.write(choice: 18, message)
        case .registeredCredential(let message): writer.write(choice: 24, message)
        case .assertedCredential(let message): writer.write(choice: 25, message)
        case .adminUsers(let message): writer.write(choice: 130, message)
        case .adminLogPage(let message): writer.write(choice: 131, message)
        case .importOutcome(let message): writer.write(choice: 133, message)
        case .lease(let message): writer.write(choice: 140, message)
        case .leases(let message): writer.write(choice: 141, message)
        }
    }

    init?(number: UInt8, from reader: inout FieldReader) {
        let body: Self? =
            switch number {
            case 2: reader.choice(Self.failure)
            case 3: reader.choice(Self.done)
            case 4: reader.choice(Self.status)
            case 5: reader.choice(Self.context)
            case 7: reader.choice(Self.granted)
            case 8: reader.choice(Self.right)
            case 9: reader.choice(Self.rights)
            case 10: reader.choice(Self.logPage)
            case 11: reader.choice(Self.logVerdict)
            case 12: reader.choice(Self.diagnosis)
            case 13: reader.choice(Self.items)
            case 61: reader.choice(since: 8, Self.itemNews)
            case 14: reader.choice(Self.key)
            case 15: reader.choice(Self.applications)
            case 16: reader.choice(Self.keys)
            case 23: reader.choice(Self.unusedKeys)
            case 30: reader.choice(Self.passkeys)
            case 60: reader.choice(Self.securityKeys)
            case 17: reader.choice(Self.repair)
            case 20: reader.choice(Self.grants)
            case 21: reader.choice(Self.grantEnds)
            case 22: reader.choice(Self.heldGrants)
            case 18: reader.choice(Self.environment)
            case 24: reader.choice(Self.registeredCredential)
            case 25: reader.choice(Self.assertedCredential)
            case 130: reader.choice(since: 9, Self.adminUsers)
            case 131: reader.choice(since: 9, Self.adminLogPage)
            case 133: reader.choice(since: 9, Self.importOutcome)
            case 140: reader.choice(since: 9, Self.lease)
            case 141: reader.choice(since: 9, Self.leases)
            default: nil
            }
        guard let body else { return nil }
        self = body
    }
}

extension WireReply {
    public func canonicalBytes(
        in version: UInt32, behind room: Int, reserving more: Int
    ) throws(WireEncodingError) -> [UInt8] {
        try encoded(in: version, behind: room, reserving: more)
    }

    @unsafe public init(reading bytes: UnsafeRawBufferPointer, in version: UInt32) throws(CanonicalEncodingError) {
        self = try unsafe Self.decoded(bytes, in: version)
    }
}
