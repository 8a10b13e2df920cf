public import Foundation

/// Listing and counting objects. The list contains the kind and the group of each object. So an owner's rights are
/// found and keys are counted without reading the rows of all other objects.
extension VaultReader {
    /// The owner's objects of this kind, by id. Rows that do not verify are included if their kind is this one or
    /// unknown. So are rows of this kind, or of no kind, that the list does not name.
    public func objects(owner: VaultID, kind: ObjectKind) throws -> [Stored<ObjectRecord>] {
        let manifest = try objectList(of: owner)
        let listedKeys = (manifest.objects(of: kind) + manifest.objectsOfUnknownKind).map(\.bytes)
        let others = try listed.rows.keysOfObjects(owner: owner, kind: kind).filter { manifest.entry($0) == nil }
        return try (listedKeys + others).sorted { $0.lexicographicallyPrecedes($1) }.compactMap { key in
            guard let stored = try storedObject(key, owner: owner) else { return nil }
            if let record = stored.record, record.kind != kind { return nil }
            return stored
        }
    }

    /// Reads these rows and reports which are refused: they do not verify, the list does not name them, or they are
    /// missing.
    ///
    /// - Parameter keys: some of ``objectKeys(owner:)``.
    public func objectFaults(
        owner: VaultID, among keys: some Sequence<Data>
    ) throws -> [(reference: RowReference, fault: RowFault)] {
        try keys.compactMap { key in
            guard case .unreadable(let reference, let fault) = try storedObject(key, owner: owner) else { return nil }
            return (reference, fault)
        }
    }

    /// The keys of all objects that are listed or stored, of every kind, in order.
    public func objectKeys(owner: VaultID) throws -> [Data] {
        Set(try objectList(of: owner).keys).union(try listed.rows.keys(of: .objects, owner: owner))
            .sorted { $0.lexicographicallyPrecedes($1) }
    }

    /// The listed objects of a kind, readable or not, in the order of their ids; none whose kind is unknown.
    public func objectIDs(owner: VaultID, kind: ObjectKind) throws -> [VaultID] {
        try objectList(of: owner).objects(of: kind)
    }

    /// Those of ``objectIDs(owner:kind:)`` that are of one group.
    public func objectIDs(owner: VaultID, kind: ObjectKind, group: String) throws -> [VaultID] {
        try objectList(of: owner).objects(of: kind, group: place(kind, group, owner).group)
    }

    /// At most `count` of ``objectIDs(owner:kind:)``, beginning at `offset`.
    public func objectIDs(owner: VaultID, kind: ObjectKind, from offset: Int, count: Int) throws -> [VaultID] {
        try objectList(of: owner).objects(of: kind, from: offset, count: count)
    }

    /// The ids of the group that has most objects of the kind; empty if there is no object of it.
    public func objectIDsOfLargestGroup(owner: VaultID, kind: ObjectKind) throws -> [VaultID] {
        let manifest = try objectList(of: owner)
        return manifest.largestGroup(of: kind).map { manifest.objects(of: kind, group: $0.group) } ?? []
    }

    /// The number of the owner's objects of a kind, with those that may be of it because their kind is unknown.
    public func objectCount(owner: VaultID, kind: ObjectKind) throws -> Int {
        try objectList(of: owner).count(of: kind)
    }

    /// The number of the owner's objects of a kind and group.
    public func objectCount(owner: VaultID, kind: ObjectKind, group: String) throws -> Int {
        try objectList(of: owner).count(at: place(kind, group, owner))
    }

    private func objectList(of owner: VaultID) throws -> Manifest { try listed.manifest(of: .objects, owner: owner) }

    private func place(_ kind: ObjectKind, _ group: String, _ owner: VaultID) throws -> ObjectPlace {
        try ObjectPlace(kind, group: group, of: owner, by: protector)
    }

    private func storedObject(_ key: Data, owner: VaultID) throws -> Stored<ObjectRecord>? {
        switch try listed.stored(.objects, owner: owner, key: key) {
        case nil: nil
        case .unreadable(let reference, let fault)?: .unreadable(reference, fault)
        case .readable(let row)?: try object(from: row)
        }
    }
}
