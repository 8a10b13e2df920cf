import Foundation

/// The index and times of an item, from somebody who can decrypt it.
public struct ItemDescription: Sendable {
    public let index: ItemIndex
    /// When the item was made, in seconds of any clock. It decides the item's place in the order.
    public let created: Double
    /// When the item was changed last, in seconds of the same clock.
    public let modified: Double

    public init(index: ItemIndex, created: Double, modified: Double) {
        self.index = index
        self.created = created
        self.modified = modified
    }
}

/// Rebuilding the list of items. The rules are those of ``VaultWriter/relistObjects(owner:_:)``.
extension VaultWriter {
    /// Rebuilds the list of the owner's items, in the order in which they were made. Call
    /// ``Vault/compactAfterSecretsChanged()`` after the transaction.
    ///
    /// - Parameter describe: reads an item whose row verifies; nil when it cannot be read. The item's own index is not
    ///   set: it was in the damaged list.
    public func relistItems(
        owner: VaultID, _ describe: (ItemRecord) throws -> ItemDescription?
    ) throws -> Relisting {
        try requireDamage(of: .items, owner: owner)
        let id = ListID(owner: owner, table: .items)
        if let known = try rewriteFromMemory(id) { return known }
        var list = NewItemList(former: try formerEntries(id))
        for key in try listed.rows.keys(of: .items, owner: owner) {
            guard let (record, code) = try authenticItem(key, owner: owner), let description = try describe(record)
            else {
                list.addUnreadable(key)
                continue
            }
            list.add(record, code, description)
        }
        let entries = list.finish()
        try clearAway(list.relisting.removed, from: .items, owner: owner)
        try listed.lists.replace(id, by: ItemCatalogue(entries), in: listed.rows)
        return list.relisting
    }

    private func authenticItem(_ key: Data, owner: VaultID) throws -> (ItemRecord, RowCode)? {
        do {
            guard let row = try listed.rows.fetch(.items, owner: owner, key: key) else { return nil }
            return (
                try ItemRow(row).record(owner: owner, generation: row.generation, index: .unknown), row.code
            )
        } catch VaultError.corrupt { return nil } catch is MalformedRow { return nil }
    }

    /// The entries of all buckets that verify. The buckets may be of different times.
    private func formerEntries(_ list: ListID) throws -> [VaultID: FormerItem] {
        var entries: [VaultID: FormerItem] = [:]
        for case .readable(let bucket) in try listed.rows.buckets(of: list) {
            for row in (try? ListBucket.rows(bucket)) ?? [] {
                guard let entry = try? ItemCatalogue.Entry(row) else { continue }
                entries[VaultID(entry.id)] = FormerItem(entry: entry, listed: bucket.generation)
            }
        }
        return entries
    }
}

/// The entry of an item in a bucket that verifies, and the bucket's age.
private struct FormerItem {
    let entry: ItemCatalogue.Entry
    /// The store's generation when the bucket was written.
    let listed: UInt64
}

/// Collects the items for the rebuilt list, and the rows that the list leaves out.
private struct NewItemList {
    private(set) var relisting = Relisting()
    /// The entries of the buckets that verify.
    private let former: [VaultID: FormerItem]
    /// Items of ``former`` whose rows cannot be used. They stay refused.
    private var refused: [ItemCatalogue.Entry] = []
    private var found: [Found] = []

    private struct Found {
        let record: ItemRecord
        let code: RowCode
        let description: ItemDescription
        /// Whether a bucket that verifies lists exactly this row.
        let isListed: Bool

        func entry(_ sequence: UInt64) -> ItemCatalogue.Entry? {
            ItemDigest(record.id).map {
                ItemCatalogue.Entry(
                    id: $0, generation: record.generation, code: code, sequence: sequence, itemClass: record.itemClass,
                    index: description.index)
            }
        }

        /// If two items claim the same name, the listed one keeps it, otherwise the one that was changed later.
        func precedes(_ other: Found) -> Bool {
            guard isListed == other.isListed else { return isListed }
            return (description.modified, record.generation) > (other.description.modified, other.record.generation)
        }
    }

    init(former: [VaultID: FormerItem]) { self.former = former }

    /// Adds a row that verifies. A newer bucket may list another code for it: then somebody put back an old row, which
    /// is refused.
    mutating func add(_ record: ItemRecord, _ code: RowCode, _ description: ItemDescription) {
        let listed = former[record.id]
        let isListed = listed?.entry.code == code
        guard isListed || record.generation > listed?.listed ?? 0 else { return addUnreadable(record.id.bytes) }
        found.append(Found(record: record, code: code, description: description, isListed: isListed))
    }

    /// Adds a row that cannot be used. If a bucket lists it, it stays listed, so that its owner can remove it.
    /// Otherwise nobody can identify it, and it is removed.
    mutating func addUnreadable(_ key: Data) {
        guard let item = VaultID(bytes: key).flatMap({ former[$0] }) else { return relisting.removed.append(key) }
        refused.append(item.entry)
    }

    /// The entries, in their order. If two rows claim the same name, one is kept.
    mutating func finish() -> [ItemCatalogue.Entry] {
        var taken: Set<ItemDigest> = []
        let kept = found.sorted { $0.precedes($1) }.filter { item in
            let isFirst = taken.insert(item.description.index.uniqueness).inserted
            if !isFirst { relisting.removed.append(item.record.id.bytes) }
            return isFirst
        }
        var entries = kept.sorted { $0.description.created < $1.description.created }.enumerated()
            .compactMap { $1.entry(UInt64($0) + 1) }
        relisting.kept = entries.count
        for former in refused.sorted(by: { $0.sequence < $1.sequence }) {
            // If another item has its name, the owner could not remove this one alone.
            guard taken.insert(former.index.uniqueness).inserted else {
                relisting.removed.append(VaultID(former.id).bytes)
                continue
            }
            entries.append(
                ItemCatalogue.Entry(
                    id: former.id, generation: former.generation, code: .none, sequence: UInt64(entries.count) + 1,
                    itemClass: former.itemClass, index: former.index))
        }
        relisting.refused = entries.count - relisting.kept
        return entries
    }
}

extension ItemIndex {
    /// Stands for the index of an item whose list is damaged.
    fileprivate static let unknown = ItemIndex(uniqueness: ItemDigest(high: 0, low: 0), terms: [])
}
