import Foundation

/// What somebody who can read an item says of it.
public struct ItemDescription: Sendable {
    public let index: ItemIndex
    /// Seconds, of any clock: what was made later counts as newer.
    public let created: Double

    public init(index: ItemIndex, created: Double) {
        self.index = index
        self.created = created
    }
}

/// Making the leaves anew that do not verify; see ``VaultWriter/relistObjects(owner:)`` for what that means.
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
        for key in list.relisting.removed { _ = try listed.rows.delete(.items, owner: owner, key: key) }
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
    /// At least as high as any leaf's, as far as anybody can tell.
    private var highestGeneration: UInt64 = 0

    init(owner: VaultID, rows: RowStore) throws {
        var sum: UInt64 = 0
        for case .readable(let row) in try rows.fetchAll(.itemLeaves, owner: owner) {
            sum += row.generation
            highestGeneration = max(highestGeneration, row.generation)
            guard let leaf = try? ItemLeaf.entries(of: row) else { continue }
            for entry in leaf.entries { entries[VaultID(entry.id)] = entry }
        }
        do {
            let root = try rows.fetch(.itemRoots, owner: owner, key: Data())?.generation ?? 0
            highestGeneration = max(highestGeneration, root > sum ? root - sum : 0)
        } catch VaultError.corrupt {}  // Then the leap is all there is.
    }

    /// Above all that any leaf ever had; leaves of before, put back, then never add up with the new ones.
    func nextGeneration() throws -> UInt64 {
        let next = highestGeneration + VaultWriter.leap
        guard next < UInt64(Int64.max) / UInt64(2 * ItemLeaf.bucketCount) else { throw VaultError.conflict }
        return next
    }
}

/// The items that are listed anew, and the rows that are not.
private struct NewItemList {
    private(set) var relisting = Relisting()
    /// What leaves that verify list and was not found: refused as before.
    private var refused: [VaultID: ItemCatalogue.Entry]
    private var found: [Found] = []

    private struct Found {
        let id: VaultID
        let generation: UInt64
        let itemClass: ItemClass
        let description: ItemDescription

        func entry(_ sequence: UInt64) -> ItemCatalogue.Entry? {
            ItemDigest(id).map {
                ItemCatalogue.Entry(
                    id: $0, generation: generation, sequence: sequence, itemClass: itemClass, index: description.index)
            }
        }
    }

    init(former: [VaultID: ItemCatalogue.Entry]) { refused = former }

    mutating func add(_ record: ItemRecord, _ description: ItemDescription) {
        refused[record.id] = nil
        found.append(
            Found(
                id: record.id, generation: record.generation, itemClass: record.itemClass, description: description))
    }

    /// A row that is listed stays, to be refused and removed by its owner; of another one nobody knows what it was.
    mutating func addUnreadable(_ key: Data) {
        guard VaultID(bytes: key).flatMap({ refused[$0] }) == nil else { return }
        relisting.removed.append(key)
    }

    /// The entries, in their order. Of two items that may not both exist the newer one stays.
    mutating func finish() -> [ItemCatalogue.Entry] {
        found.sort { ($0.description.created, $0.generation) < ($1.description.created, $1.generation) }
        var taken: Set<ItemDigest> = []
        var kept: [Found] = []
        for item in found.reversed() {
            if taken.insert(item.description.index.uniqueness).inserted {
                kept.append(item)
            } else {
                relisting.removed.append(item.id.bytes)
            }
        }
        var entries = kept.reversed().enumerated().compactMap { $1.entry(UInt64($0) + 1) }
        relisting.kept = entries.count
        for former in refused.values.sorted(by: { $0.sequence < $1.sequence }) {
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
