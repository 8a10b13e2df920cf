import Foundation

/// Rows checked against the manifest of their owner and table, so that an answer is complete, current and authentic.
struct ListedRows {
    let rows: RowStore

    /// The manifest of a user who is listed, or of the store. Its absence is a fault, since it is made with the owner; for
    /// an owner who is not listed, ``VaultError/notFound``, even if rows and manifests of a removed user were put back.
    func manifest(of table: VaultTable, owner: VaultID) throws -> Manifest {
        try requireOwner(owner)
        return try authenticManifest(of: table, owner: owner)
    }

    /// Throws ``VaultError/notFound`` unless `owner` is the store or a user who is listed.
    func requireOwner(_ owner: VaultID) throws {
        guard owner != rows.storeID else { return }
        let users = try authenticManifest(of: .users, owner: rows.storeID)
        guard users.entries[owner.bytes] != nil else { throw VaultError.notFound }
    }

    private func authenticManifest(of table: VaultTable, owner: VaultID) throws -> Manifest {
        let key = Manifest.key(of: table)
        let reference = RowReference(table: .manifests, key: key)
        guard let row = try rows.fetch(.manifests, owner: owner, key: key) else {
            throw VaultError.corrupt(reference, .removed)
        }
        do {
            return try Manifest(row, table: table)
        } catch {
            throw VaultError.corrupt(reference, .malformed)
        }
    }

    func fetch(_ table: VaultTable, owner: VaultID, key: Data) throws -> SealedRow? {
        let manifest = try manifest(of: table, owner: owner)
        let reference = RowReference(table: table, key: key)
        guard let row = try rows.fetch(table, owner: owner, key: key) else {
            guard manifest.entries[key] == nil else { throw VaultError.corrupt(reference, .removed) }
            return nil
        }
        if let fault = manifest.fault(of: row) { throw VaultError.corrupt(reference, fault) }
        return row
    }

    /// Every row that is there or ought to be, by key.
    func fetchAll(_ table: VaultTable, owner: VaultID) throws -> [Stored<SealedRow>] {
        let manifest = try manifest(of: table, owner: owner)
        var missing = Set(manifest.entries.keys)
        var all = try rows.fetchAll(table, owner: owner).map { stored in
            missing.remove(stored.reference.key)
            guard case .readable(let row) = stored, let fault = manifest.fault(of: row) else { return stored }
            return .unreadable(row.reference, fault)
        }
        for key in missing { all.append(.unreadable(RowReference(table: table, key: key), .removed)) }
        return all.sorted { $0.reference.key.lexicographicallyPrecedes($1.reference.key) }
    }

    /// Writes the row and lists it; without a `generation`, it gets the manifest's next.
    func put(
        _ record: some SealedRecord, owner: VaultID, generation: UInt64? = nil, tag: Data = Data()
    ) throws {
        let table = type(of: record).table
        var manifest = try manifest(of: table, owner: owner)
        let generation = generation ?? manifest.nextGeneration
        try rows.put(record.row(owner: owner, generation: generation))
        manifest.list(record.rowKey, generation: generation, tag: tag)
        try rows.put(manifest.row)
    }

    /// Removes the row and its entry, also if the row does not verify. Throws ``VaultError/notFound`` if there is neither.
    func delete(_ table: VaultTable, owner: VaultID, key: Data) throws {
        var manifest = try manifest(of: table, owner: owner)
        let wasListed = manifest.entries[key] != nil
        let wasThere = try rows.delete(table, owner: owner, key: key)
        guard wasListed || wasThere else { throw VaultError.notFound }
        manifest.unlist(key)
        try rows.put(manifest.row)
    }

    /// Begins the empty lists of a new owner.
    func addManifests(for tables: [VaultTable], owner: VaultID) throws {
        for table in tables { try rows.put(Manifest(table: table, owner: owner).row) }
    }
}

extension Manifest {
    fileprivate func fault(of row: SealedRow) -> RowFault? {
        guard let entry = entries[row.key] else { return .planted }
        return entry.generation == row.generation ? nil : .replayed
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
