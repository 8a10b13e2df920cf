import Vault

/// The kind of value that an attribute takes (Apple's column kinds).
///
/// The app side's `Security` module has a similar table of its own. That table helps programs; this one decides. The
/// daemon does not rely on anything that the app side says about an attribute.
enum AttributeKind: Sendable {
    /// Data, text or a number, kept as given; compared by bytes.
    case blob
    case data
    case string
    /// A number; text that is not a number is kept as given.
    case number
    case date
}

/// Which attributes each class has, and which of them make an item unique: `Documentation/formats/items.md`. The names are
/// Apple's four-letter ones, and others of four letters for what Apple does not have.
extension ItemClass {
    var attributes: [String: AttributeKind] {
        switch self {
        case .genericPassword: Self.ofGenericPasswords
        case .internetPassword: Self.ofInternetPasswords
        case .key: Self.ofKeys
        case .certificate: Self.ofCertificates
        case .freeform: Self.ofFreeforms
        }
    }

    /// Whether the items have free attributes, too.
    var hasFreeAttributes: Bool { self == .freeform }

    /// The kind of an attribute's values; nil for an attribute that the class does not have.
    func kind(of key: String) -> AttributeKind? {
        FreeAttribute.isKey(key) ? (hasFreeAttributes ? .string : nil) : attributes[key]
    }

    /// The attributes that make an item unique, in the order of the digest: no two items may have the same values for
    /// all of them. Nil where several items may have the same values for everything.
    var uniqueAttributes: [String]? {
        let own: [String]
        switch self {
        case .genericPassword: own = ["acct", "svce"]
        case .internetPassword: own = ["acct", "sdmn", "srvr", "ptcl", "atyp", "port", "path"]
        case .key: own = ["kcls", "klbl", "atag", "crtr", "type", "bsiz", "esiz", "sdat", "edat"]
        case .certificate: own = ["ctyp", "issr", "slnr"]
        case .freeform: return nil
        }
        return own + ["agrp", "sync", "vwht", "tkid", "musr", "ggrp"]
    }

    /// The accessibility of an item that was added without one.
    var defaultAccessibility: Accessibility { self == .certificate ? .always : .whenUnlocked }

    private static let common: [String: AttributeKind] = [
        "agrp": .string, "pdmn": .string, "sync": .number, "cdat": .date, "mdat": .date, "labl": .blob, "alis": .blob,
        "vwht": .string, "tkid": .string, "musr": .data, "ggrp": .string, "tomb": .number, "sha1": .data,
        "sysb": .number,
        "UUID": .string,
    ]

    /// Attributes that are the store's to say. What programs give for them is not kept, and so they find nothing.
    static let ofStore: Set<String> = ["sha1", "UUID"]

    private static let ofPasswords: [String: AttributeKind] = [
        "acct": .blob, "desc": .blob, "icmt": .blob, "crtr": .number, "type": .number, "scrp": .number, "invi": .number,
        "nega": .number, "cusi": .number, "prot": .blob,
    ]
    private static let ofGenericPasswords = with(ofPasswords, ["svce": .blob, "gena": .blob])
    private static let ofInternetPasswords = with(
        ofPasswords,
        ["sdmn": .blob, "srvr": .blob, "ptcl": .number, "atyp": .blob, "port": .number, "path": .blob])
    private static let ofKeys = with(
        [
            "kcls": .number, "klbl": .data, "atag": .blob, "type": .number, "crtr": .number, "bsiz": .number,
            "esiz": .number, "sdat": .date, "edat": .date, "perm": .number, "toid": .data,
        ],
        Dictionary(
            uniqueKeysWithValues: [
                "priv", "modi", "sens", "asen", "extr", "next", "encr", "decr", "drve", "sign", "vrfy", "snrc", "vyrc",
                "wrap", "unwp",
            ].map { ($0, .number) }))
    private static let ofCertificates = with(
        ["ctyp": .number, "cenc": .number, "subj": .data, "issr": .data, "slnr": .data, "skid": .data, "pkhh": .data],
        [:])

    private static let ofFreeforms = with(
        ["coll": .blob, "mime": .blob, "kind": .number, ItemPrograms.attribute: .string], [:])

    private static func with(
        _ one: [String: AttributeKind], _ other: [String: AttributeKind]
    ) -> [String: AttributeKind] {
        common.merging(one) { $1 }.merging(other) { $1 }
    }
}
