import OstiaryMessages
import Refusals
import Vault

/// How much one owner may store. The only owner of a store has no share: the store's own limits are enough.
package struct StoreShare: Equatable, Sendable {
    /// Items; nil for as many as a store takes.
    package let itemCount: Int?
    /// Mebibytes of items, rights and keys, as they are stored; nil for no limit.
    package let mebibytes: Int?

    package init(itemCount: Int?, mebibytes: Int?) { (self.itemCount, self.mebibytes) = (itemCount, mebibytes) }

    /// All of the store.
    package static let everything = StoreShare(itemCount: nil, mebibytes: nil)

    /// Throws unless the owner may store one more item.
    func requirePlaceForItem(of owner: VaultID, in reader: VaultReader) throws {
        guard let itemCount, try reader.itemCount(owner: owner) >= itemCount else { return }
        throw Refusal(
            .tooMany, "You have \(itemCount) items in the store of this machine, and no more are allowed; delete some.",
            cause: "item.too-many")
    }

    /// Makes a change that stores something of the owner. It is looked at afterwards: the transaction undoes it with the error.
    ///
    /// - Throws: when the owner has more than the share then. What makes nothing larger is never refused: the share may have become
    ///   smaller, and a change of the passcode may have added some bytes.
    func keeping(of owner: VaultID, in writer: VaultWriter, _ change: () throws -> Void) throws {
        guard let mebibytes else { return try change() }
        // Before the change: a count that is added up in the midst of one that is undone is lost with it.
        let before = try writer.byteCount(owner: owner)
        try change()
        let after = try writer.byteCount(owner: owner)
        guard after <= mebibytes << 20 || after <= before else { throw Self.full(mebibytes) }
    }

    private static func full(_ mebibytes: Int) -> Refusal {
        Refusal(
            .tooMany,
            "Your items, rights and keys may take \(mebibytes) MiB in the store of this machine, and this would be more. "
                + "Delete some, or ask the administrator to raise users.store-mebibytes in ostiaryd.conf.",
            cause: "store.share")
    }
}
