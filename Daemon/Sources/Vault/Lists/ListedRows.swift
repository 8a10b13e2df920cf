import Foundation

/// Rows checked against the list of their owner and table, so that an answer is complete, current and authentic.
struct ListedRows {
    let rows: RowStore
    let lists: StoreLists

    /// The list of a listed user, or of the store. Throws ``VaultError/notFound`` for any other owner, even if somebody
    /// put back all rows of a removed user.
    func manifest(of table: VaultTable, owner: VaultID) throws -> Manifest {
        try requireOwner(owner)
        return try lists.manifest(of: table, owner: owner, from: rows)
    }

    /// The items of a listed user.
    func catalogue(of owner: VaultID) throws -> ItemCatalogue {
        try requireOwner(owner)
        return try lists.catalogue(of: owner, from: rows)
    }

    /// Throws ``VaultError/notFound`` unless `owner` is the store or a listed user.
    func requireOwner(_ owner: VaultID) throws {
        guard owner != rows.storeID else { return }
        let users = try lists.manifest(of: .users, owner: rows.storeID, from: rows)
        guard users.entry(owner.bytes) != nil else { throw VaultError.notFound }
    }

    func fetch(_ table: VaultTable, owner: VaultID, key: Data) throws -> SealedRow? {
        let manifest = try manifest(of: table, owner: owner)
        let reference = RowReference(table: table, key: key)
        guard let row = try rows.fetch(table, owner: owner, key: key) else {
            guard manifest.entry(key) == nil else { throw VaultError.corrupt(reference, .removed) }
            return nil
        }
        switch manifest.checked(row) {
        case .readable(let row): return row
        case .unreadable(let reference, let fault): throw VaultError.corrupt(reference, fault)
        }
    }

    /// The row if it is stored or listed.
    func stored(_ table: VaultTable, owner: VaultID, key: Data) throws -> Stored<SealedRow>? {
        do { return try fetch(table, owner: owner, key: key).map(Stored.readable) } catch VaultError.corrupt(
            let reference, let fault) where reference.table == table
        { return .unreadable(reference, fault) }
    }

    /// Every row that is stored or listed, by key.
    func fetchAll(_ table: VaultTable, owner: VaultID) throws -> [Stored<SealedRow>] {
        let manifest = try manifest(of: table, owner: owner)
        var missing = Set(manifest.keys)
        var all = try rows.fetchAll(table, owner: owner).map { stored in
            missing.remove(stored.reference.key)
            guard case .readable(let row) = stored else { return stored }
            return manifest.checked(row)
        }
        for key in missing { all.append(.unreadable(RowReference(table: table, key: key), .removed)) }
        return all.sorted { $0.reference.key.lexicographicallyPrecedes($1.reference.key) }
    }

    /// Writes the row and lists it.
    ///
    /// - Parameter generation: the listed generation, for records that count their own changes; nil for the store's
    ///   generation.
    func put(
        _ record: some SealedRecord, owner: VaultID, generation: UInt64? = nil, tag: [UInt8] = []
    ) throws {
        let manifest = try manifest(of: type(of: record).table, owner: owner)
        let code = RowCode(prefixOf: try putCounted(record.row(owner: owner, generation: lists.nextGeneration)))
        let generation = generation ?? lists.nextGeneration
        manifest.list(record.rowKey, ListEntry(generation: generation, code: code, tag: tag))
    }

    /// Removes the row and its entry, even if the row does not verify. Throws ``VaultError/notFound`` if both are
    /// missing.
    func delete(_ table: VaultTable, owner: VaultID, key: Data) throws {
        let manifest = try manifest(of: table, owner: owner)
        let wasThere = try deleteCounted(table, owner: owner, key: key)
        if manifest.entry(key) != nil {
            manifest.unlist(key)
        } else {
            guard wasThere else { throw VaultError.notFound }
            lists.noteOtherChange()
        }
    }

    // MARK: sizes

    /// Writes the row, and lists it nowhere. Returns its authentication code.
    func putCounted(_ row: SealedRow) throws -> Data {
        let former = try byteCount(ofChanged: row.table, owner: row.owner, key: row.key)
        let code = try rows.put(row)
        if let former { lists.sizes.change(row.owner, by: row.byteCount - former) }
        return code
    }

    /// Removes the row, and leaves its entry; false if there was none.
    func deleteCounted(_ table: VaultTable, owner: VaultID, key: Data) throws -> Bool {
        let former = try byteCount(ofChanged: table, owner: owner, key: key)
        let wasThere = try rows.delete(table, owner: owner, key: key)
        if let former { lists.sizes.change(owner, by: -former) }
        return wasThere
    }

    /// The bytes of a row that is about to change; nil where nobody counts them.
    private func byteCount(ofChanged table: VaultTable, owner: VaultID, key: Data) throws -> Int? {
        guard !table.countedColumns.isEmpty else { return nil }
        guard lists.sizes[owner] != nil else {
            lists.sizes.forget(owner)
            return nil
        }
        return try rows.byteCount(of: table, owner: owner, key: key)
    }

    /// The bytes of the owner's objects and items, with the changes of the running transaction.
    func byteCount(of owner: VaultID) throws -> Int {
        try requireOwner(owner)
        if let known = lists.sizes[owner] { return known }
        let count = try VaultTable.allCases.filter { !$0.countedColumns.isEmpty }
            .reduce(0) { try $0 + rows.byteCount(of: $1, owner: owner) }
        lists.sizes.learn(count, of: owner)
        return count
    }

    /// Adds empty lists for a new owner.
    func addLists(of tables: [VaultTable], owner: VaultID) throws {
        for table in tables { try lists.replace(ListID(owner: owner, table: table), by: table.emptyContent, in: rows) }
    }
}

extension Manifest {
    /// The row with its listed generation; unreadable if it is not the listed row.
    fileprivate func checked(_ row: SealedRow) -> Stored<SealedRow> {
        guard let entry = entry(row.key) else { return .unreadable(row.reference, .planted) }
        guard entry.code == row.code else { return .unreadable(row.reference, .replayed) }
        var row = row
        row.generation = entry.generation
        return .readable(row)
    }
}

extension Stored<SealedRow> {
    var reference: RowReference {
        switch self {
        case .readable(let row): row.reference
        case .unreadable(let reference, _): reference
        }
    }
}
