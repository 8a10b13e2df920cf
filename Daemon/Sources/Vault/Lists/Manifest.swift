import Foundation

/// The content of a list in memory: its rows, and the changes since the last commit, so that they can be undone.
protocol ListContent: AnyObject {
    /// The rows that one bucket lists.
    func rows(inBucket bucket: Int) -> [ListedRow]
    /// How many changes were made since the last commit.
    var changeCount: Int { get }
    /// The buckets that these changes touch.
    var changedBuckets: Set<Int> { get }
    /// Undoes all changes but the first `count`.
    func undoChanges(after count: Int)
    /// Forgets how to undo the changes: they are on disk.
    func commit()
    /// Shows the content as it was before the changes, until ``resumeChanges()``.
    func suspendChanges()
    func resumeChanges()
}

/// The list of one owner's rows in any table but the items. A row that is not listed was planted, a row with another
/// code was replayed, and a listed row that is missing was removed.
///
/// An owner may have very many objects. So each bucket of their list is found by the key alone, and the objects of each
/// kind and group are counted as they come and go.
final class Manifest: ListContent {
    private let table: VaultTable
    private var buckets: [[RowKey: ListEntry]]
    private var keysByName: [ItemDigest: RowKey] = [:]
    /// Of objects; nil stands for those whose kind is unknown.
    private var counts: [ObjectPlace?: Int] = [:]
    /// The objects of each kind but keys, which are few, by place and in the order of their ids. So nobody searches them among
    /// very many keys, and a page of them is found without a look at all.
    private var others: [ObjectPlace: [VaultID]] = [:]
    private var changes: [(key: RowKey, former: ListEntry?)] = []
    /// The latest changes first.
    private var suspended: [(key: RowKey, entry: ListEntry?)] = []

    init(of table: VaultTable) {
        self.table = table
        buckets = Array(repeating: [:], count: table.bucketCount)
    }

    /// - Parameter rows: the rows of all buckets.
    convenience init(_ rows: [ListedRow], of table: VaultTable) throws(MalformedRow) {
        self.init(of: table)
        for row in rows {
            let key = RowKey(Data(row.key))
            guard entry(key) == nil else { throw MalformedRow() }
            guard table != .objects || ObjectTag.isWellFormed(row.entry.tag) else { throw MalformedRow() }
            set(key, to: row.entry)
        }
    }

    // MARK: finding

    func entry(_ key: Data) -> ListEntry? { entry(RowKey(key)) }

    private func entry(_ key: RowKey) -> ListEntry? { buckets[table.bucket(of: key)][key] }

    /// The keys of all listed rows, in no order.
    var keys: [Data] { buckets.flatMap { $0.keys.map(\.bytes) } }

    /// The key of the only object with this name.
    func key(named name: Data) -> Data? {
        ItemDigest(prefixOf: name).flatMap { keysByName[$0]?.bytes }
    }

    // MARK: objects

    /// The objects of a kind and, unless it is nil, a group, in the order of their ids. Those of unknown kind are not among
    /// them.
    func objects(of kind: ObjectKind, group: UInt64? = nil) -> [VaultID] {
        guard kind == .enclaveKey else {
            if let group { return others[ObjectPlace(kind: kind, group: group)] ?? [] }
            return others.flatMap { $0.key.kind == kind ? $0.value : [] }.sorted()
        }
        return buckets.indices.flatMap { objects(inBucket: $0, of: kind, group: group) }
    }

    /// Some of ``objects(of:group:)``.
    func objects(of kind: ObjectKind, from offset: Int, count: Int) -> [VaultID] {
        var (found, skipped): ([VaultID], Int) = ([], 0)
        for bucket in buckets.indices where !buckets[bucket].isEmpty {
            let present = buckets[bucket].values.count { ObjectTag($0.tag)?.place.kind == kind }
            if skipped + present > offset {
                found += objects(inBucket: bucket, of: kind, group: nil).dropFirst(max(0, offset - skipped))
                    .prefix(count - found.count)
            }
            skipped += present
            if found.count == count { break }
        }
        return found
    }

    /// Those of ``objects(of:group:)`` that some buckets list, beginning with the bucket `first`: as many buckets as have `count` of
    /// them, or `scanCount` rows of any kind, and one at least.
    ///
    /// - Returns: also the next bucket; nil when these were the last.
    func objects(
        of kind: ObjectKind, group: UInt64?, fromBucket first: Int, count: Int, scanning scanCount: Int
    ) -> (ids: [VaultID], next: Int?) {
        var (found, scanned): ([VaultID], Int) = ([], 0)
        for bucket in buckets.indices.dropFirst(first) {
            guard found.count < count, scanned < scanCount else { return (found, bucket) }
            scanned += buckets[bucket].count
            found += objects(inBucket: bucket, of: kind, group: group)
        }
        return (found, nil)
    }

    /// At most `count` objects of a place, in the order of their ids, those behind `last`. Not for keys, which are not kept in
    /// order.
    func objects(at place: ObjectPlace, after last: Data?, count: Int) -> [VaultID] {
        precondition(place.kind != .enclaveKey, "keys are found by their buckets")
        let ids = others[place] ?? []
        guard let last else { return Array(ids.prefix(count)) }
        let bound = VaultID.bound(after: last)
        let first = ids.firstIndexInOrder { bound.isIncluded ? $0 >= bound.id : $0 > bound.id }
        return Array(ids[first...].prefix(count))
    }

    /// At most `count` of the listed keys, in order, those behind `last`.
    func keys(after last: Data?, count: Int) -> [Data] {
        func isBehind(_ key: Data) -> Bool { last.map { $0.lexicographicallyPrecedes(key) } ?? true }
        // Keys that are no identifiers lie in the first bucket, wherever their place in the order is.
        let others = buckets[0].keys.compactMap { $0.id == nil ? $0.bytes : nil }
        let begin = table.bucketCount > 1 ? last.map { VaultID.bound(after: $0).id.bucket } ?? 0 : 0
        var found: [Data] = []
        for bucket in buckets[begin...] where found.count < count {
            found += bucket.keys.compactMap { $0.id?.bytes }.filter(isBehind)
        }
        return Array((found + others.filter(isBehind)).sorted { $0.lexicographicallyPrecedes($1) }.prefix(count))
    }

    /// The objects whose kind is unknown: their rows did not verify when the list was made from them.
    var objectsOfUnknownKind: [VaultID] {
        guard counts[nil] != nil else { return [] }
        return buckets.flatMap { $0.compactMap { key, entry in ObjectTag(entry.tag)?.place == nil ? key.id : nil } }
    }

    private func objects(inBucket bucket: Int, of kind: ObjectKind, group: UInt64?) -> [VaultID] {
        buckets[bucket].compactMap { key, entry -> VaultID? in
            guard let place = ObjectTag(entry.tag)?.place, place.kind == kind, group == nil || place.group == group
            else { return nil }
            return key.id
        }.sorted()
    }

    /// The number of objects of a kind, with those that might be of it.
    func count(of kind: ObjectKind) -> Int {
        counts.reduce(0) { sum, counted in
            counted.key == nil || counted.key?.kind == kind ? sum + counted.value : sum
        }
    }

    func count(at place: ObjectPlace) -> Int { counts[place] ?? 0 }

    /// The group with most objects of a kind.
    func largestGroup(of kind: ObjectKind) -> ObjectPlace? {
        counts.filter { $0.key?.kind == kind }.max { $0.value < $1.value }?.key
    }

    // MARK: changing

    func list(_ key: Data, _ entry: ListEntry) { change(RowKey(key), to: entry) }

    func unlist(_ key: Data) { change(RowKey(key), to: nil) }

    private func change(_ key: RowKey, to entry: ListEntry?) {
        changes.append((key, self.entry(key)))
        set(key, to: entry)
    }

    private func set(_ key: RowKey, to entry: ListEntry?) {
        let bucket = table.bucket(of: key)
        if table == .objects {
            if let former = buckets[bucket][key] { uncount(former, key) }
            if let entry { count(entry, key) }
        }
        buckets[bucket][key] = entry
    }

    private func count(_ entry: ListEntry, _ key: RowKey) {
        if let name = ItemDigest(prefixOf: entry.tag) { keysByName[name] = key }
        let place = ObjectTag(entry.tag)?.place
        counts[place, default: 0] += 1
        guard let place, place.kind != .enclaveKey, let id = key.id else { return }
        let index = (others[place] ?? []).firstIndexInOrder { $0 >= id }
        others[place, default: []].insert(id, at: index)
    }

    private func uncount(_ entry: ListEntry, _ key: RowKey) {
        if let name = ItemDigest(prefixOf: entry.tag), keysByName[name] == key { keysByName[name] = nil }
        let place = ObjectTag(entry.tag)?.place
        counts[place] = counts[place].flatMap { $0 > 1 ? $0 - 1 : nil }
        guard let place, place.kind != .enclaveKey, let id = key.id else { return }
        let index = (others[place] ?? []).firstIndexInOrder { $0 >= id }
        others[place]?.remove(at: index)
        if others[place]?.isEmpty == true { others[place] = nil }
    }

    // MARK: the list

    func rows(inBucket bucket: Int) -> [ListedRow] {
        buckets[bucket].map { ListedRow(key: Array($0.bytes), entry: $1) }
            .sorted { $0.key.lexicographicallyPrecedes($1.key) }
    }

    var changeCount: Int { changes.count }
    var changedBuckets: Set<Int> { Set(changes.map { table.bucket(of: $0.key) }) }

    func undoChanges(after count: Int) {
        while changes.count > count {
            let (key, former) = changes.removeLast()
            set(key, to: former)
        }
    }

    func commit() { changes = [] }

    func suspendChanges() {
        for (key, former) in changes.reversed() {
            suspended.append((key, entry(key)))
            set(key, to: former)
        }
    }

    func resumeChanges() { while let (key, entry) = suspended.popLast() { set(key, to: entry) } }
}

/// The key of a listed row. Nearly all are identifiers, which need no memory of their own.
enum RowKey: Hashable, Sendable {
    case id(VaultID)
    case other(Data)

    init(_ bytes: Data) { self = VaultID(bytes: bytes).map(RowKey.id) ?? .other(bytes) }

    var bytes: Data {
        switch self {
        case .id(let id): id.bytes
        case .other(let bytes): bytes
        }
    }

    var id: VaultID? { if case .id(let id) = self { id } else { nil } }
}

extension VaultTable {
    /// The bucket that lists the row.
    func bucket(of key: RowKey) -> Int {
        guard bucketCount > 1, case .id(let id) = key else { return 0 }
        return id.bucket
    }
}
