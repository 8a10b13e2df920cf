import AccessControl
import Foundation
import OstiaryClient

/// A key of the enclave in `key list --json`.
struct KeyDocument: Encodable {
    let id: Data
    let label: String
    let tag: String
    let group: String
    /// Each permitted operation and its rule.
    let rules: [String: String]
    let availability: String
    /// Whether the person is asked for each signature, and sees what is signed.
    let confirmsEachSignature: Bool
    /// The greatest limits of a lease; absent where each signature is confirmed without exception, and where none is.
    let leaseLimits: GrantLimitsDocument?
    let publicKey: Data
    let enclave: String
    fileprivate let requires: String

    private enum CodingKeys: CodingKey {
        case id, label, tag, group, rules, availability, confirmsEachSignature, leaseLimits, publicKey, enclave
    }

    init(_ key: EnclaveKey, item: StoredItem) {
        func text(_ name: String) -> String { item.attributes[name].map { ItemDocument.Value($0).text } ?? "" }
        id = key.id
        label = text("labl")
        tag = text("atag")
        group = text("agrp")
        let access = key.accessControl
        rules = Dictionary(
            uniqueKeysWithValues: access.operations.compactMap { operation in
                access[operation].map { (operation.name, $0.description) }
            })
        availability = access.availability.name
        confirmsEachSignature = access.confirmsEachSignature
        leaseLimits = access.leaseLimits.map(GrantLimitsDocument.init)
        publicKey = key.publicKey
        enclave = key.enclaveKind
        requires = access.keyRequirement.description
    }
}

/// A key of any program in `key list --all --json`. The attributes of its item are only for the programs of its group.
struct ListedKeyDocument: Encodable {
    let id: Data
    let kind: String
    let group: String
    let createdAt: Timestamp
    let hasItem: Bool
    let enclave: String
    fileprivate let requires: String

    private enum CodingKeys: CodingKey { case id, kind, group, createdAt, hasItem, enclave }

    init(_ listed: ListedKey) {
        id = listed.key.id
        kind = listed.key.kind.name
        group = listed.accessGroup
        createdAt = Timestamp(listed.createdAt)
        hasItem = listed.hasItem
        enclave = listed.key.enclaveKind
        requires = listed.key.accessControl.keyRequirement.description
    }
}

/// `key list --all --json`, and the table for people.
struct AllKeysDocument: Encodable {
    let keys: [ListedKeyDocument]

    init(_ keys: [ListedKey]) { self.keys = keys.map(ListedKeyDocument.init) }

    func text(in timeZone: TimeZone = .current) -> String {
        var table = TextTable(header: ["ID", "KIND", "REQUIRES", "ITEM", "ENCLAVE", "CREATED", "GROUP"])
        for key in keys {
            table.append(
                key.id.hexadecimal, key.kind, key.requires, key.hasItem ? "yes" : "no", key.enclave,
                key.createdAt.localText(in: timeZone), key.group)
        }
        return table.text
    }
}

/// `key prune --json`, and the table for people.
struct UnusedKeysDocument: Encodable {
    struct Group: Encodable {
        let group: String
        /// Keys without an item.
        let keys: Int
        let unused: Int
        /// Absent without unused keys.
        let oldest: Timestamp?
        let newest: Timestamp?
        /// Absent if no use is known.
        let lastUse: Timestamp?
    }

    let groups: [Group]
    let usesKnownSince: Timestamp

    init(_ list: UnusedKeyList) {
        usesKnownSince = Timestamp(list.usesKnownSince)
        groups = list.groups.map { group in
            Group(
                group: group.accessGroup, keys: group.keyCount, unused: group.unusedCount,
                oldest: group.oldest.map { Timestamp($0) }, newest: group.newest.map { Timestamp($0) },
                lastUse: group.lastUse.map { Timestamp($0) })
        }
    }

    func text(in timeZone: TimeZone = .current) -> String {
        func time(_ time: Timestamp?) -> String { time?.localText(in: timeZone) ?? "" }
        var table = TextTable(header: ["KEYS", "UNUSED", "OLDEST", "NEWEST", "LAST USE", "GROUP"])
        for group in groups {
            table.append(
                "\(group.keys)", "\(group.unused)", time(group.oldest), time(group.newest),
                group.unused == 0 ? "" : group.lastUse.map { time($0) } ?? "unknown", group.group)
        }
        return table.text
    }
}

/// `key prune --remove --json`.
struct PrunedKeysDocument: Encodable {
    let removed: Int
}

extension EnclaveKeyKind {
    fileprivate var name: String {
        switch self {
        case .p256: "P-256"
        case .mlKEM768: "ML-KEM-768"
        case .mlKEM1024: "ML-KEM-1024"
        case .mlDSA65: "ML-DSA-65"
        case .mlDSA87: "ML-DSA-87"
        }
    }
}

/// `key list --json`, and the table for people.
struct KeyListDocument: Encodable {
    let keys: [KeyDocument]

    func text() -> String {
        var table = TextTable(header: ["LABEL", "REQUIRES", "AVAILABLE", "ENCLAVE", "TAG", "ID"])
        for key in keys {
            table.append(key.label, key.requires, key.availability, key.enclave, key.tag, key.id.hexadecimal)
        }
        return table.text
    }
}
