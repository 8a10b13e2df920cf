/// The classes of items, by Apple's strings.
enum KeychainClass: String, CaseIterable, Sendable {
    case genericPassword = "genp"
    case internetPassword = "inet"
    case key = "keys"
    case certificate = "cert"
    /// A certificate joined with the private key that belongs to it; nothing is stored under this class.
    case identity = "idnt"

    var isPassword: Bool { self == .genericPassword || self == .internetPassword }

    var isCertificateLike: Bool { self == .certificate || self == .identity }

    /// The accessibility of an item that was added without one.
    var standardAccessible: String { self == .certificate ? "dk" : "ak" }
}

/// Which attributes the items of a class have, and of what kind they are. The daemon checks them once more by a table of its
/// own, which also knows what makes an item unique.
struct ItemSchema: Sendable {
    let attributes: [AttributeName: AttributeForm]

    private init(_ groups: [AttributeForm: [AttributeName]]) {
        attributes = Dictionary(
            uniqueKeysWithValues: groups.flatMap { kind, names in names.map { ($0, kind) } })
    }

    private init(joining schemas: ItemSchema...) {
        attributes = schemas.map(\.attributes).reduce(into: [:]) { $0.merge($1) { kind, _ in kind } }
    }

    /// The attributes of a class, those of every class among them.
    static func of(_ itemClass: KeychainClass) -> ItemSchema {
        switch itemClass {
        case .genericPassword: genericPassword
        case .internetPassword: internetPassword
        case .key: key
        case .certificate: certificate
        case .identity: identity
        }
    }

    private static let common = ItemSchema([
        .accessControl: [.accessControl],
        .blob: [.label, .alias],
        .data: [.multiUser, .digest],
        .string: [.accessible, .accessGroup, .viewHint, .tokenID, .sharingGroup, .uuid],
        .number: [.synchronizable, .tombstone, .systemBound],
        .date: [.creationDate, .modificationDate],
    ])

    private static let password = ItemSchema([
        .blob: [.account, .itemDescription, .comment, .protectedData],
        .number: [.creator, .type, .scriptCode, .isInvisible, .isNegative, .hasCustomIcon],
    ])

    private static let genericPassword = ItemSchema(
        joining: common, password, ItemSchema([.blob: [.service, .generic]]))

    private static let internetPassword = ItemSchema(
        joining: common, password,
        ItemSchema([
            .blob: [.securityDomain, .server, .authenticationType, .path],
            .number: [.networkProtocol, .port],
        ]))

    private static let key = ItemSchema(
        joining: common,
        ItemSchema([
            .blob: [.applicationTag],
            .data: [.applicationLabel, .tokenObjectID],
            .number: [
                .keyClass, .type, .creator, .keySizeInBits, .effectiveKeySize, .isPermanent, .isPrivate, .isModifiable,
                .isSensitive, .wasAlwaysSensitive, .isExtractable, .wasNeverExtractable, .canEncrypt, .canDecrypt,
                .canDerive,
                .canSign, .canVerify, .canSignRecover, .canVerifyRecover, .canWrap, .canUnwrap,
            ],
            .date: [.startDate, .endDate],
        ]))

    private static let certificate = ItemSchema(
        joining: common,
        ItemSchema([
            .data: [.subject, .issuer, .serialNumber, .subjectKeyID, .publicKeyHash],
            .number: [.certificateType, .certificateEncoding],
        ]))

    private static let identity = ItemSchema(joining: key, certificate)
}
