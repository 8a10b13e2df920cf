public import Foundation

/// The kinds of keychain items. The raw value is part of the format.
public enum ItemClass: UInt8, CaseIterable, Sendable {
    case genericPassword = 1
    case internetPassword = 2
    case key = 3
    case certificate = 4
}

/// How an item's access secret is wrapped; the vault never opens it.
public enum ItemWrap: Equatable, Sendable {
    /// Under a key of the item's class alone: nothing has to be proved.
    case classKey(Data)
    /// In slots, one for each way of satisfying the item's rule.
    case slots(Data)
}

/// A keychain item as it is stored. Everything in it is authenticated as one; attributes and data were encrypted before
/// they came here.
public struct ItemRecord: Equatable, Sendable {
    public let id: VaultID
    public let owner: VaultID
    public let itemClass: ItemClass
    /// 1 at first; each change counts one up.
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
    /// What the item can be found by.
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

/// What an item can be found by without being decrypted: keyed digests, which mean nothing without their key.
public struct ItemIndex: Hashable, Sendable {
    /// Equal for two items that may not both exist.
    public let uniqueness: ItemDigest
    /// One for each attribute and value, ascending.
    public let terms: [UInt64]

    /// - Parameter terms: in any order, at most 255; no class has as many attributes.
    public init(uniqueness: ItemDigest, terms: some Sequence<UInt64>) {
        self.uniqueness = uniqueness
        self.terms = Set(terms).sorted()
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

/// Which items are looked for.
public struct ItemQuery: Sendable {
    /// Nil for every class.
    public var itemClass: ItemClass?
    /// The only item that may match.
    public var id: VaultID?
    /// Terms that an item must all have.
    public var allOf: [UInt64]
    /// Terms of which an item must have one.
    public var anyOf: [UInt64]
    /// The place in the order of creation to begin at.
    public var begin: UInt64
    /// At most so many.
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

/// An item that a query found.
public struct ItemMatch: Equatable, Sendable {
    public let id: VaultID
    public let itemClass: ItemClass
    /// Its place in the order of creation.
    public let sequence: UInt64
}

/// How much the vault takes.
public enum ItemLimits {
    /// Items of one owner: they cost about 500 bytes of memory each, and a third of that in their leaf.
    public static let itemCount = 200_000
}
