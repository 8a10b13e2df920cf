import AccessControl
import Foundation
import OstiaryClient
import OstiaryMessages

/// What a row of the class `free` stands for.
public enum SecretKind: Int64, Sendable {
    case item = 0
    /// A collection of items; it has no secret.
    case collection = 1
}

/// An item, or the row of a collection, as it is listed: without its secret.
public struct ListedSecret: Sendable, Equatable {
    /// What stands between a client and the secret.
    public enum Lock: Sendable {
        /// Reading it asks nobody.
        case open
        /// The store is locked.
        case storeLocked
        /// Its rule asks for a proof.
        case ruled
    }

    public let id: SecretID
    public let lock: Lock
    /// Nil while nobody may see it: as long as the store is locked.
    public let contents: SecretContents?
    /// Whether only certain programs may have its secret. False while nobody may see that.
    public let isForSomePrograms: Bool
    /// Nil while nobody may see it, and for one that is not in the store.
    let accessControl: AccessControl?

    /// One that is not in the store.
    public init(id: SecretID, lock: Lock = .open, contents: SecretContents?, isForSomePrograms: Bool = false) {
        (self.id, self.lock, self.contents, accessControl) = (id, lock, contents, nil)
        self.isForSomePrograms = isForSomePrograms
    }

    /// What its proofs count for.
    var scope: ProofScope? {
        guard let contents else { return nil }
        switch contents.kind {
        case .item: return .item(id, in: contents.collection)
        case .collection: return SecretQuery(.collection, id: id).scope
        }
    }
}

/// What is known of an item beside its secret.
public struct SecretContents: Sendable, Equatable {
    public var kind: SecretKind
    /// The identifier of its collection.
    public var collection: String
    public var label: String
    public var contentType: String
    /// Those that programs gave it and search for.
    public var attributes: [String: String]
    /// In seconds since 1970, as the Secret Service counts.
    public var created: UInt64
    public var modified: UInt64

    public init(
        kind: SecretKind = .item, collection: String, label: String = "", contentType: String = "",
        attributes: [String: String] = [:], created: UInt64 = 0, modified: UInt64 = 0
    ) {
        (self.kind, self.collection, self.label, self.contentType) = (kind, collection, label, contentType)
        (self.attributes, self.created, self.modified) = (attributes, created, modified)
    }
}

extension ListedSecret {
    /// Nil for an answer whose id is none.
    init?(_ item: StoredItem) {
        guard let id = SecretID(item.id) else { return nil }
        self.id = id
        lock =
            switch item.lock {
            case .open: .open
            case .storeLocked: .storeLocked
            case .needsProof, .proofHeld, nil: .ruled
            }
        // Each item of ours has a kind, so without one nothing is shown.
        contents = SecretContents(item.attributes)
        accessControl = contents == nil ? nil : item.accessControl
        isForSomePrograms = item.isForSomePrograms
    }
}

extension StoredItem {
    /// Whether it names programs that it is for, as far as its attributes are shown.
    var isForSomePrograms: Bool {
        switch attributes[SecretAttribute.readers] {
        case .text(let text): !text.isEmpty
        default: false
        }
    }
}

extension SecretContents {
    /// Nil where attributes are not shown.
    init?(_ values: ItemAttributeValues) {
        guard case .number(let number)? = values[SecretAttribute.kind], let kind = SecretKind(rawValue: number) else {
            return nil
        }
        self.init(
            kind: kind, collection: values.text(SecretAttribute.collection),
            label: values.text(SecretAttribute.label), contentType: values.text(SecretAttribute.contentType),
            created: values.seconds(SecretAttribute.created), modified: values.seconds(SecretAttribute.modified))
        for (key, value) in values {
            guard let name = FreeAttribute.name(ofKey: key), case .text(let text) = value else { continue }
            attributes[name] = text
        }
    }
}

/// The names of the attributes of the class `free`.
enum SecretAttribute {
    static let itemClass = WireLimits.freeformClass
    static let group = "agrp"
    static let kind = "kind"
    static let collection = "coll"
    static let label = "labl"
    static let contentType = "mime"
    /// The names of the programs that may read the item, one a line.
    static let readers = "only"
    static let accessibility = "pdmn"
    static let created = "cdat"
    static let modified = "mdat"
}

extension ItemAttributeValues {
    /// Empty where there is none.
    fileprivate func text(_ key: String) -> String {
        switch self[key] {
        case .text(let text): text
        case .data(let data): String(decoding: data, as: UTF8.self)
        default: ""
        }
    }

    fileprivate func seconds(_ key: String) -> UInt64 {
        guard case .date(let date)? = self[key] else { return 0 }
        return UInt64(exactly: date.timeIntervalSince1970.rounded(.down)) ?? 0
    }

    /// Attributes that a program gave.
    mutating func setFree(_ attributes: [String: String]) {
        for (name, value) in attributes { self[FreeAttribute.key(named: name)] = .text(value) }
    }
}
