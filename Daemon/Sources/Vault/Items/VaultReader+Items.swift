public import Foundation

/// Finding keychain items. The first call for an owner reads and verifies the whole list of the owner's items. If the
/// list does not verify, each call throws ``VaultError/corrupt(_:_:)``: nobody can say which items exist.
extension VaultReader {
    /// The items that match, in the order of creation.
    public func items(matching query: ItemQuery, owner: VaultID) throws -> [ItemMatch] {
        try catalogue(of: owner).search(query).map(ItemMatch.init)
    }

    /// The item with this id; nil if there is none. Throws ``VaultError/corrupt(_:_:)`` when its row is not the listed
    /// one.
    ///
    /// An item that was read lately comes from memory, as it was verified then. If another program changes its row
    /// meanwhile, ``itemFaults(owner:)`` notices it, and so does the first reading after the next start.
    public func item(_ id: VaultID, owner: VaultID) throws -> ItemRecord? {
        let catalogue = try catalogue(of: owner)
        let entry = catalogue.entry(id)
        if let entry, let known = catalogue.recent.record(id, code: entry.code) { return known }
        let record = try storedItem(id, entry, owner: owner)
        if let record, let entry { catalogue.recent.keep(record, code: entry.code) }
        return record
    }

    /// The item as it lies in the database.
    private func storedItem(_ id: VaultID, _ entry: ItemCatalogue.Entry?, owner: VaultID) throws -> ItemRecord? {
        let reference = RowReference(table: .items, key: id.bytes)
        let row = try listed.rows.fetch(.items, owner: owner, key: id.bytes)
        guard let entry else {
            guard row == nil else { throw VaultError.corrupt(reference, .planted) }
            return nil
        }
        guard let row else { throw VaultError.corrupt(reference, .removed) }
        guard row.code == entry.code else { throw VaultError.corrupt(reference, .replayed) }
        guard
            let record = try? ItemRow(row).record(owner: owner, generation: entry.generation, index: entry.index),
            record.itemClass == entry.itemClass
        else { throw VaultError.corrupt(reference, .malformed) }
        return record
    }

    /// All items that are listed, in the order of creation.
    public func itemIDs(owner: VaultID) throws -> [VaultID] { try catalogue(of: owner).ids }

    /// Number of items.
    public func itemCount(owner: VaultID) throws -> Int { try catalogue(of: owner).count }

    /// Whether another item than `id` has this uniqueness digest.
    public func holdsItem(_ uniqueness: ItemDigest, besides id: VaultID? = nil, owner: VaultID) throws -> Bool {
        try catalogue(of: owner).holds(uniqueness, besides: id)
    }

    /// Reads every item and every row in an item's place, and returns the rows that are refused.
    public func itemFaults(owner: VaultID) throws -> [(RowReference, RowFault)] {
        let stored = try listed.rows.keys(of: .items, owner: owner)
        let ids = Set(try itemIDs(owner: owner).map(\.bytes)).union(stored)
        return try itemFaults(owner: owner, among: ids.sorted { $0.lexicographicallyPrecedes($1) })
    }

    /// As ``itemFaults(owner:)``, for at most `count` rows behind the key `last`.
    ///
    /// - Returns: also the key behind which the next rows begin; nil when these were the last.
    public func itemFaults(
        owner: VaultID, after last: Data?, count: Int
    ) throws -> (faults: [(RowReference, RowFault)], next: Data?) {
        let stored = try listed.rows.keys(of: .items, owner: owner, after: last, count: count)
        let keys = Set(try catalogue(of: owner).keys(after: last, count: count)).union(stored)
            .sorted { $0.lexicographicallyPrecedes($1) }.prefix(count)
        return (try itemFaults(owner: owner, among: keys), keys.count == count ? keys.last : nil)
    }

    private func itemFaults(owner: VaultID, among keys: some Sequence<Data>) throws -> [(RowReference, RowFault)] {
        try keys.compactMap { key in
            guard let id = VaultID(bytes: key) else { return (RowReference(table: .items, key: key), .planted) }
            do {
                _ = try storedItem(id, catalogue(of: owner).entry(id), owner: owner)
                return nil
            } catch VaultError.corrupt(let reference, let fault) { return (reference, fault) }
        }
    }

    func catalogue(of owner: VaultID) throws -> ItemCatalogue { try listed.catalogue(of: owner) }
}

extension ItemMatch {
    init(_ entry: ItemCatalogue.Entry) {
        self.init(
            id: VaultID(entry.id), itemClass: entry.itemClass, sequence: entry.sequence, index: entry.index)
    }
}

/// Changing keychain items. Later searches in the same transaction see the changes.
extension VaultWriter {
    /// Adds an item, at the end of the order. Its generation must be 1; throws ``VaultError/duplicate`` if its id or its
    /// uniqueness digest is in use, ``VaultError/tooManyItems``.
    public func insertItem(_ record: ItemRecord) throws {
        guard record.generation == 1, let id = ItemDigest(record.id) else { throw VaultError.conflict }
        let catalogue = try catalogue(of: record.owner)
        guard catalogue.entry(record.id) == nil, !catalogue.holds(record.index.uniqueness) else {
            throw VaultError.duplicate
        }
        guard catalogue.count < ItemLimits.itemCount else { throw VaultError.tooManyItems }
        let row = ItemRow(record).row(owner: record.owner, generation: listed.lists.nextGeneration)
        let mac = try listed.putCounted(row)
        catalogue.append(
            ItemCatalogue.Entry(
                id: id, generation: 1, code: RowCode(prefixOf: mac), sequence: catalogue.nextSequence,
                itemClass: record.itemClass,
                index: record.index))
    }

    /// Replaces an item of the same class, in its place in the order. Its generation must be one above the listed one, else
    /// ``VaultError/conflict``; a uniqueness digest that is in use is a ``VaultError/duplicate``.
    public func updateItem(_ record: ItemRecord) throws {
        let catalogue = try catalogue(of: record.owner)
        guard var entry = catalogue.entry(record.id) else { throw VaultError.notFound }
        guard entry.itemClass == record.itemClass, entry.generation < UInt64(Int64.max),
            record.generation == entry.generation + 1
        else { throw VaultError.conflict }
        guard !catalogue.holds(record.index.uniqueness, besides: record.id) else { throw VaultError.duplicate }
        let row = ItemRow(record).row(owner: record.owner, generation: listed.lists.nextGeneration)
        let mac = try listed.putCounted(row)
        entry.generation = record.generation
        entry.code = RowCode(prefixOf: mac)
        entry.index = record.index
        catalogue.replace(entry)
    }

    /// Removes an item, readable or not, with the counter of wrong guesses at it, whose subject is the item's id. Call
    /// ``Vault/compactAfterSecretsChanged()`` after the transaction.
    public func removeItem(_ id: VaultID, owner: VaultID) throws {
        let catalogue = try catalogue(of: owner)
        guard catalogue.entry(id) != nil else { throw VaultError.notFound }
        _ = try listed.deleteCounted(.items, owner: owner, key: id.bytes)
        catalogue.remove(id)
        try forgetGuesses(at: id, owner: owner)
    }
}
