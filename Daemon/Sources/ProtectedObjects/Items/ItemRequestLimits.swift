import OstiaryMessages

/// Every limit on a request about keychain items, with its reason; the number of items is `ItemLimits`.
package enum ItemRequestLimits {
    /// The data of one item: what one frame's tail carries.
    package static let dataByteCount = WireLimits.tailByteCount
    /// All attribute values of one item or query together, with the keys of free attributes: an item, shown again, must fit into a
    /// message.
    static let attributeByteCount = 64 * 1024
    /// Attributes of one request: more than any class has beside free ones.
    static let attributeCount = 64
    /// Free attributes of one item, which updates add to. Each costs a term, and a leaf of the store's list has room for 255 of an item.
    static let freeAttributeCount = 64
    /// The name of a free attribute, in UTF-8: longer than any that a program of the Secret Service uses.
    static let freeNameByteCount = 1024
    /// Programs that one item is for. Each costs a term, too.
    static let programCount = 16
    /// The name of one of them, in UTF-8: no path of Linux is longer.
    static let programByteCount = 4096
    /// An access control of an item or key as the program gave it: a short serialized dictionary.
    package static let shownAccessControlByteCount = 4 * 1024
    /// All that one update changes: it is made as a whole, and held in memory until then.
    static let updateByteCount = 64 * 1024 * 1024
    /// Items of one page: a page is one piece of a long reading, and others wait for a piece.
    package static let pageCount = RightStore.readCount
    /// Attributes of one page, before their encoding as a message adds to them.
    static let pageByteCount = WireLimits.messageByteCount / 2
    /// Queries of one deletion: two for each of so many identities that a message with all of them stays small.
    package static let deletionQueryCount = 1_000
    /// Queries of one watch: each change is compared with all of them.
    package static let watchQueryCount = 16
    /// The suffix that hosts are compared with, in UTF-8: longer than a domain name can be.
    static let hostByteCount = 1024
}
