import Foundation

/// What somebody who can read an item says of it.
public struct ItemDescription: Sendable {
    public let index: ItemIndex
    /// Seconds, of any clock: when it was made, which is its place in the order.
    public let created: Double
    /// Seconds of the same clock: when it was changed last.
    public let modified: Double

    public init(index: ItemIndex, created: Double, modified: Double) {
        self.index = index
        self.created = created
        self.modified = modified
    }
}

/// Making the leaves anew that do not verify; see ``VaultWriter/relistObjects(owner:_:)`` for what that means.
extension VaultWriter {
    /// Lists the owner's items anew, in the order in which they were made. Call ``Vault/compactAfterSecretsChanged()`` after
    /// the transaction.
    ///
    /// - Parameter describe: reads an item whose row verifies, but for its index, which was in the leaves; nil when it
    ///   cannot be read.
    public func relistItems(
        owner: VaultID, _ describe: (ItemRecord) throws -> ItemDescription?
    ) throws -> Relisting {
        try requireDamage(of: .items, owner: owner)
        let former = try FormerLeaves(owner: owner, rows: listed.rows)
        var list = NewItemList(former: former.entries)
        for key in try listed.rows.keys(of: .items, owner: owner) {
            guard let record = try authenticItem(key, owner: owner), let description = try describe(record) else {
                list.addUnreadable(key)
                continue
            }
            list.add(record, description)
        }
        let entries = list.finish()
        try clearAway(list.relisting.removed, from: .items, owner: owner)
        try writeLeaves(of: entries, generation: former.nextGeneration(), owner: owner)
        catalogues.forget(owner)
        return list.relisting
    }

    private func authenticItem(_ key: Data, owner: VaultID) throws -> ItemRecord? {
        do {
            guard let row = try listed.rows.fetch(.items, owner: owner, key: key) else { return nil }
            return try ItemRow(row).record(owner: owner, generation: row.generation, index: .unknown)
        } catch VaultError.corrupt { return nil } catch is MalformedRow { return nil }
    }

    /// Writes all of the leaves, the empty ones too: a leaf that is not there could be put back as it once was.
    private func writeLeaves(of entries: [ItemCatalogue.Entry], generation: UInt64, owner: VaultID) throws {
        let buckets = Dictionary(grouping: entries) { ItemLeaf.bucket(of: $0.id) }
        try listed.rows.deleteAll(.itemLeaves, owner: owner)
        for bucket in 0..<ItemLeaf.bucketCount {
            try listed.rows.put(
                ItemLeaf.row(bucket: bucket, owner: owner, generation: generation, entries: buckets[bucket] ?? []))
        }
        try listed.rows.put(ItemRoot(sum: generation * UInt64(ItemLeaf.bucketCount)).row(owner: owner))
    }
}

/// What the leaves that still verify say.
private struct FormerLeaves {
    private(set) var entries: [VaultID: ItemCatalogue.Entry] = [:]
    /// Of all leaves that verify, and by the root of those that do not: after they were made anew all were equal.
    private var highestGeneration: UInt64 = 0

    init(owner: VaultID, rows: RowStore) throws {
        for case .readable(let row) in try rows.fetchAll(.itemLeaves, owner: owner) {
            highestGeneration = max(highestGeneration, row.generation)
            guard let leaf = try? ItemLeaf.entries(of: row) else { continue }
            for entry in leaf.entries { entries[VaultID(entry.id)] = entry }
        }
        do {
            let root = try rows.fetch(.itemRoots, owner: owner, key: Data())?.generation ?? 0
            highestGeneration = max(highestGeneration, root / UInt64(ItemLeaf.bucketCount))
        } catch VaultError.corrupt {}  // Then the clock is all there is.
    }

    /// The generation of all new leaves: such that leaves of before, put back, never add up with them.
    func nextGeneration() throws -> UInt64 {
        let next = FirstGeneration.above(highestGeneration)
        // The sum of all must stay below what a column holds.
        guard next < UInt64(Int64.max) / UInt64(2 * ItemLeaf.bucketCount) else { throw VaultError.conflict }
        return next
    }
}

/// The items that are listed anew, and the rows that are not.
private struct NewItemList {
    private(set) var relisting = Relisting()
    /// What leaves that verify list.
    private let former: [VaultID: ItemCatalogue.Entry]
    /// What of that is there and cannot be used: refused as before.
    private var refused: [ItemCatalogue.Entry] = []
    private var found: [Found] = []

    private struct Found {
        let id: VaultID
        let generation: UInt64
        let itemClass: ItemClass
        let description: ItemDescription
        /// A leaf that verifies lists just this.
        let isListed: Bool

        func entry(_ sequence: UInt64) -> ItemCatalogue.Entry? {
            ItemDigest(id).map {
                ItemCatalogue.Entry(
                    id: $0, generation: generation, sequence: sequence, itemClass: itemClass, index: description.index)
            }
        }

        /// Who keeps the name of two that may not both exist: what is listed, and else what was changed later.
        func precedes(_ other: Found) -> Bool {
            guard isListed == other.isListed else { return isListed }
            return (description.modified, generation) > (other.description.modified, other.generation)
        }
    }

    init(former: [VaultID: ItemCatalogue.Entry]) { self.former = former }

    /// A row that verifies. One that is older than a leaf that verifies says was put back.
    mutating func add(_ record: ItemRecord, _ description: ItemDescription) {
        let listed = former[record.id]?.generation
        guard record.generation >= listed ?? 0 else { return addUnreadable(record.id.bytes) }
        found.append(
            Found(
                id: record.id, generation: record.generation, itemClass: record.itemClass, description: description,
                isListed: record.generation == listed))
    }

    /// A row that is listed stays, to be refused and removed by its owner; of another one nobody knows what it was.
    mutating func addUnreadable(_ key: Data) {
        guard let entry = VaultID(bytes: key).flatMap({ former[$0] }) else { return relisting.removed.append(key) }
        refused.append(entry)
    }

    /// The entries, in their order. Of items that may not all exist one stays.
    mutating func finish() -> [ItemCatalogue.Entry] {
        var taken: Set<ItemDigest> = []
        let kept = found.sorted { $0.precedes($1) }.filter { item in
            let isFirst = taken.insert(item.description.index.uniqueness).inserted
            if !isFirst { relisting.removed.append(item.id.bytes) }
            return isFirst
        }
        var entries = kept.sorted { $0.description.created < $1.description.created }.enumerated()
            .compactMap { $1.entry(UInt64($0) + 1) }
        relisting.kept = entries.count
        for former in refused.sorted(by: { $0.sequence < $1.sequence }) {
            // Beside an item of its name it could not be removed without that one.
            guard taken.insert(former.index.uniqueness).inserted else {
                relisting.removed.append(VaultID(former.id).bytes)
                continue
            }
            entries.append(
                ItemCatalogue.Entry(
                    id: former.id, generation: former.generation, sequence: UInt64(entries.count) + 1,
                    itemClass: former.itemClass, index: former.index))
        }
        relisting.refused = entries.count - relisting.kept
        return entries
    }
}

extension ItemIndex {
    /// Of an item whose leaf is gone.
    fileprivate static let unknown = ItemIndex(uniqueness: ItemDigest(high: 0, low: 0), terms: [])
}
