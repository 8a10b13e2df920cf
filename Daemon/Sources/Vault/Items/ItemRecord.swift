public import Foundation

/// The kinds of keychain items. The raw value is part of the format.
public enum ItemClass: UInt8, CaseIterable, Sendable {
    case genericPassword = 1
    case internetPassword = 2
    case key = 3
    case certificate = 4
    /// Items with free attributes; any number of them may have the same ones.
    case freeform = 5
}

/// How an item's access secret is wrapped; the vault never opens it.
public enum ItemWrap: Equatable, Sendable {
    /// Under a key of the item's class alone: the user proves nothing.
    case classKey(Data)
    /// In slots, one for each way of satisfying the item's rule.
    case slots(Data)
}

/// A keychain item as it is stored. One code authenticates all of it. The caller encrypts attributes and data.
public struct ItemRecord: Equatable, Sendable {
    public let id: VaultID
    public let owner: VaultID
    public let itemClass: ItemClass
    /// 1 at first; each change adds one.
    public var generation: UInt64
    /// The set of algorithms that the encrypted parts were made with.
    public let suite: UInt8
    /// The encrypted attribute record.
    public var attributes: Data
    /// The rules of all operations, in their canonical encoding.
    public var accessControl: Data
    /// Nil for an item that stands for a key and keeps no data of its own.
    public var wrap: ItemWrap?
    /// The encrypted data, if the item has any.
    public var payload: Data?
    /// The object that the item stands for.
    public let keyID: VaultID?
    /// The digests that find the item.
    public var index: ItemIndex

    public init(
        id: VaultID = VaultID(), owner: VaultID, itemClass: ItemClass, generation: UInt64 = 1, suite: UInt8,
        attributes: Data, accessControl: Data, wrap: ItemWrap?, payload: Data?, keyID: VaultID? = nil, index: ItemIndex
    ) {
        self.id = id
        self.owner = owner
        self.itemClass = itemClass
        self.generation = generation
        self.suite = suite
        self.attributes = attributes
        self.accessControl = accessControl
        self.wrap = wrap
        self.payload = payload
        self.keyID = keyID
        self.index = index
    }
}

/// The digests that find an item without decrypting it. They mean nothing without their key.
public struct ItemIndex: Hashable, Sendable {
    /// Equal for two items that may not both exist.
    public let uniqueness: ItemDigest
    /// One for each attribute and value, ascending.
    public let terms: [UInt64]

    /// - Parameter terms: in any order, at most 255; no item has as many attributes.
    public init(uniqueness: ItemDigest, terms: some Sequence<UInt64>) {
        self.uniqueness = uniqueness
        // Without a set, which costs ten times as much for the few terms of an item, also when the store's list is read.
        self.terms = terms.sorted().reduce(into: []) { if $0.last != $1 { $0.append($1) } }
        precondition(self.terms.count <= 255, "an item has more terms than its leaf has room for")
    }
}

/// 16 bytes of a keyed digest, without the cost of an allocation.
public struct ItemDigest: Hashable, Sendable {
    public static let byteCount = 16
    let high: UInt64
    let low: UInt64

    init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// The first 16 bytes; nil if there are fewer.
    public init?(prefixOf bytes: some Collection<UInt8>) {
        guard bytes.count >= Self.byteCount else { return nil }
        high = bytes.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
        low = bytes.dropFirst(8).prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
    }
}

/// A search for items.
public struct ItemQuery: Sendable {
    /// Nil for every class.
    public var itemClass: ItemClass?
    /// The only item that may match.
    public var id: VaultID?
    /// Terms that an item must all have.
    public var allOf: [UInt64]
    /// Terms of which an item must have at least one. Empty for no such condition.
    public var anyOf: [UInt64]
    /// The place in the order of creation to begin at.
    public var begin: UInt64
    /// The greatest number of items to return.
    public var limit: Int

    public init(
        itemClass: ItemClass? = nil, id: VaultID? = nil, allOf: [UInt64] = [], anyOf: [UInt64], begin: UInt64 = 0,
        limit: Int = .max
    ) {
        self.itemClass = itemClass
        self.id = id
        self.allOf = allOf
        self.anyOf = anyOf
        self.begin = begin
        self.limit = limit
    }
}

extension ItemQuery {
    /// Whether class and terms match.
    func matches(_ itemClass: ItemClass, _ index: ItemIndex) -> Bool {
        (self.itemClass == nil || self.itemClass == itemClass) && allOf.allSatisfy(index.terms.contains)
            && (anyOf.isEmpty || anyOf.contains(where: index.terms.contains))
    }
}

/// An item that a query found.
public struct ItemMatch: Equatable, Sendable {
    public let id: VaultID
    public let itemClass: ItemClass
    /// Its place in the order of creation.
    public let sequence: UInt64
    /// The digests that find it, whether its row can be read or not.
    public let index: ItemIndex
}

/// The limits of the vault.
public enum ItemLimits {
    /// Items of one owner. Each costs about 500 bytes of memory, and about a third of that in the list on disk.
    public static let itemCount = 200_000
    /// Items of one owner where several share the store: the lists of four full owners take as much memory as that of the only one.
    public static let itemCountOfSeveral = itemCount / 4
}
