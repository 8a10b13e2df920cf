public import ExactNames
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

    /// Some objects, and where the next ones begin.
    public struct ObjectPage: Sendable {
        /// In the order of their ids.
        public var objects: [Stored<ObjectRecord>] = []
        /// The key behind which the next page begins; nil behind the last one.
        public var next: Data?
    }

    /// Stored rows that one page looks through for such as no list names.
    private static let pageScanCount = 1024

    /// The objects of a kind and group behind the key `last`, at most `count`; there may be fewer, or none, and yet a next page.
    /// Reads only their rows. Rows of that kind, or of none, that the list does not name are among them, and listed ones
    /// whose kind is unknown. An object that verifies and is none of these is not. Not for enclave keys.
    public func objectPage(
        owner: VaultID, kind: ObjectKind, group: ExactName, after last: Data?, count: Int
    ) throws -> ObjectPage {
        let manifest = try objectList(of: owner)
        let stored = try listed.rows.keys(of: .objects, owner: owner, after: last, count: Self.pageScanCount)
        let end = stored.count == Self.pageScanCount ? stored.last : nil
        let unlisted = try stored.filter {
            try manifest.entry($0) == nil && listed.rows.mayBeObject($0, owner: owner, of: kind)
        }
        let listedKeys = manifest.objects(at: try place(kind, group, owner), after: last, count: count + 1)
        let unknown = manifest.objectsOfUnknownKind.map(\.bytes).filter { key in
            last.map { $0.lexicographicallyPrecedes(key) } ?? true
        }
        let keys = (listedKeys.map(\.bytes) + unknown + unlisted)
            .filter { key in end.map { !$0.lexicographicallyPrecedes(key) } ?? true }
            .sorted { $0.lexicographicallyPrecedes($1) }
        var page = ObjectPage(next: keys.count > count ? keys[count - 1] : end)
        for key in keys.prefix(count) {
            guard let object = try storedObject(key, owner: owner) else { continue }
            if let record = object.record, record.kind != kind || record.attributes.group != group { continue }
            page.objects.append(object)
        }
        return page
    }

    /// The objects of a kind, of all groups, and the rows of every kind that do not verify, behind the key `last`: at most
    /// `count`, of at most `scanCount` rows. Reads these rows.
    public func objectPage(
        owner: VaultID, kind: ObjectKind, after last: Data?, count: Int, scanning scanCount: Int
    ) throws -> ObjectPage {
        let stored = try listed.rows.keys(of: .objects, owner: owner, after: last, count: scanCount)
        let keys = Set(stored).union(try objectList(of: owner).keys(after: last, count: scanCount))
            .sorted { $0.lexicographicallyPrecedes($1) }.prefix(scanCount)
        var page = ObjectPage(next: keys.count == scanCount ? keys.last : nil)
        for key in keys {
            guard let object = try storedObject(key, owner: owner), object.record?.kind ?? kind == kind else {
                continue
            }
            page.objects.append(object)
            guard page.objects.count < count else {
                if key != keys.last { page.next = key }
                return page
            }
        }
        return page
    }

    /// The listed objects of a kind, readable or not, in the order of their ids; none whose kind is unknown.
    public func objectIDs(owner: VaultID, kind: ObjectKind) throws -> [VaultID] {
        try objectList(of: owner).objects(of: kind)
    }

    /// Those of ``objectIDs(owner:kind:)`` that are of one group.
    public func objectIDs(owner: VaultID, kind: ObjectKind, group: ExactName) throws -> [VaultID] {
        try objectList(of: owner).objects(of: kind, group: place(kind, group, owner).group)
    }

    /// A piece of ``objectIDs(owner:kind:group:)``, or of those of all groups, with about `count` of them.
    ///
    /// - Parameter place: where the piece before ended; nil for the first one.
    /// - Returns: also where this one ended; nil when it was the last.
    public func objectIDs(
        owner: VaultID, kind: ObjectKind, group: ExactName?, after place: Int?, count: Int
    ) throws -> (ids: [VaultID], next: Int?) {
        try objectList(of: owner).objects(
            of: kind, group: group.map { try self.place(kind, $0, owner).group }, fromBucket: place ?? 0, count: count,
            scanning: Self.scanCount)
    }

    /// Listed rows that are looked at in memory in one piece.
    private static let scanCount = 4096

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
    public func objectCount(owner: VaultID, kind: ObjectKind, group: ExactName) throws -> Int {
        try objectList(of: owner).count(at: place(kind, group, owner))
    }

    private func objectList(of owner: VaultID) throws -> Manifest { try listed.manifest(of: .objects, owner: owner) }

    private func place(_ kind: ObjectKind, _ group: ExactName, _ owner: VaultID) throws -> ObjectPlace {
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
