import Foundation

/// What an owner's leaves say, in memory: which items there are, in which generation, and what finds them. It was verified
/// as a whole when it was read, so what is not in it is authentically absent.
///
/// Items keep their place (slot) in the order of creation. Everything that finds an item is one 64-bit key of one table:
/// its terms, and the first halves of its identifier and of its uniqueness digest; what a key finds is compared in full.
final class ItemCatalogue {
    struct Entry: Equatable, Sendable {
        let id: ItemDigest
        var generation: UInt64
        let sequence: UInt64
        let itemClass: ItemClass
        var index: ItemIndex

        fileprivate var keys: [UInt64] { [id.high, index.uniqueness.high] + index.terms }
    }

    private var entries: [Entry?] = []
    private var postings: [UInt64: Postings] = [:]
    private var buckets: [[UInt32]]
    private var leafGenerations: [UInt64]
    /// The sum of the generations of all leaves.
    private(set) var sum: UInt64 = 0
    private(set) var count = 0
    private var journal = Journal()
    /// Rows of listed items. A changed item is dropped with the change.
    var recent = RecentItems()

    init() {
        buckets = Array(repeating: [], count: ItemLeaf.bucketCount)
        leafGenerations = Array(repeating: 0, count: ItemLeaf.bucketCount)
    }

    // MARK: finding

    var nextSequence: UInt64 { (entries.last { $0 != nil }.flatMap { $0 }?.sequence ?? 0) + 1 }

    func entry(_ id: VaultID) -> Entry? { slot(of: id).flatMap { entries[$0] } }

    func holds(_ uniqueness: ItemDigest, besides id: VaultID? = nil) -> Bool {
        let own = id.flatMap { ItemDigest($0) }
        return postings[uniqueness.high]?.slots.contains { slot in
            guard let entry = entries[Int(slot)] else { return false }
            return entry.index.uniqueness == uniqueness && entry.id != own
        } ?? false
    }

    /// The entries that match, in the order of creation.
    func search(_ query: ItemQuery) -> [Entry] {
        var found: [Entry] = []
        for slot in candidates(for: query) {
            guard found.count < query.limit else { break }
            if let entry = entries[slot], entry.matches(query) { found.append(entry) }
        }
        return found
    }

    /// All identifiers, in the order of creation.
    var ids: [VaultID] { entries.compactMap { $0.map { VaultID($0.id) } } }

    private func slot(of id: VaultID) -> Int? {
        guard let digest = ItemDigest(id) else { return nil }
        return postings[digest.high]?.slots.first { entries[Int($0)]?.id == digest }.map { Int($0) }
    }

    /// Where to look: the places of the rarest of the terms that all must match, as far as they were created late enough.
    private func candidates(for query: ItemQuery) -> [Int] {
        if let id = query.id { return slot(of: id).map { [$0] } ?? [] }
        let required = query.anyOf.count == 1 ? query.allOf + query.anyOf : query.allOf
        guard !required.isEmpty else { return Array(place(of: query.begin)..<entries.count) }
        let lists = required.compactMap { postings[$0] }
        guard lists.count == required.count, let slots = lists.min(by: { $0.count < $1.count })?.slots else {
            return []
        }
        let first = slots.partitioningIndex { sequence(at: Int($0)) >= query.begin }
        return slots[first...].map { Int($0) }
    }

    private func place(of sequence: UInt64) -> Int {
        guard sequence > 0 else { return 0 }
        return entries.firstIndex { ($0?.sequence ?? 0) >= sequence } ?? entries.count
    }

    private func sequence(at slot: Int) -> UInt64 { entries[slot]?.sequence ?? 0 }

    // MARK: changing

    /// Adds an item at the end of the order.
    func append(_ entry: Entry) {
        entries.append(nil)
        journal.appendedCount += 1
        set(entries.count - 1, to: entry)
    }

    func replace(_ entry: Entry) {
        guard let slot = slot(of: VaultID(entry.id)) else { preconditionFailure("only listed items are replaced") }
        set(slot, to: entry)
    }

    func remove(_ id: VaultID) {
        guard let slot = slot(of: id) else { preconditionFailure("only listed items are removed") }
        set(slot, to: nil)
    }

    private func set(_ slot: Int, to entry: Entry?) {
        let former = entries[slot]
        if let former { recent.forget(VaultID(former.id)) }
        journal.changes.append((slot, former))
        if let changed = entry ?? former { journal.changedBuckets.insert(ItemLeaf.bucket(of: changed.id)) }
        exchange(slot, former, entry)
    }

    private func exchange(_ slot: Int, _ former: Entry?, _ entry: Entry?) {
        entries[slot] = entry
        let position = UInt32(slot)
        let (old, new) = (former?.keys ?? [], entry?.keys ?? [])
        if let former, entry == nil {
            buckets[ItemLeaf.bucket(of: former.id)].removeAll { $0 == position }
            count -= 1
        } else if former == nil, let entry {
            buckets[ItemLeaf.bucket(of: entry.id)].append(position)
            count += 1
        }
        for key in old where !new.contains(key) {
            if postings[key]?.remove(position) == false { postings[key] = nil }
        }
        for key in new where !old.contains(key) {
            if postings[key]?.insert(position) == nil { postings[key] = Postings(position) }
        }
    }

    // MARK: transactions

    /// Counts the changed leaves up by one and returns their rows, for the transaction to write; empty without changes.
    func sealedLeaves(owner: VaultID) -> [SealedRow] {
        let changed = journal.changedBuckets.sorted()
        journal.changedBuckets = []
        return changed.map { bucket in
            leafGenerations[bucket] += 1
            sum += 1
            journal.counted.append(bucket)
            let listed = buckets[bucket].compactMap { entries[Int($0)] }
            return ItemLeaf.row(bucket: bucket, owner: owner, generation: leafGenerations[bucket], entries: listed)
        }
    }

    /// The transaction that made the changes was committed.
    func commit() {
        journal = Journal()
        if entries.count > 1024, count < entries.count / 2 { compact() }
    }

    /// The transaction was rolled back: everything as it was.
    func rollBack() {
        recent.forgetAll()  // What was read in the transaction may never have been stored.
        for (slot, former) in journal.changes.reversed() { exchange(slot, entries[slot], former) }
        entries.removeLast(journal.appendedCount)
        for bucket in journal.counted {
            leafGenerations[bucket] -= 1
            sum -= 1
        }
        journal = Journal()
    }

    private struct Journal {
        var changes: [(slot: Int, former: Entry?)] = []
        var appendedCount = 0
        var changedBuckets: Set<Int> = []
        var counted: [Int] = []
    }

    /// Gives up the places of removed items.
    private func compact() {
        let kept = entries.compactMap { $0 }
        entries = []
        postings = [:]
        count = 0
        buckets = Array(repeating: [], count: ItemLeaf.bucketCount)
        take(kept)
    }

    private func take(_ ordered: [Entry]) {
        entries = Array(repeating: nil, count: ordered.count)
        for (slot, entry) in ordered.enumerated() { exchange(slot, nil, entry) }
    }

    // MARK: reading the leaves

    /// Reads and verifies all leaves of an owner.
    ///
    /// - Throws: ``VaultError/corrupt(_:_:)`` with the leaf that is altered; with the table of leaves and no key when one is
    ///   older than it should be or gone, which only their sum shows; with the root when that one is older or gone.
    static func read(owner: VaultID, from rows: RowStore) throws -> ItemCatalogue {
        let rootReference = RowReference(table: .itemRoots, key: Data())
        guard let root = try rows.fetch(.itemRoots, owner: owner, key: Data()) else {
            throw VaultError.corrupt(rootReference, .removed)
        }
        let catalogue = ItemCatalogue()
        var all: [Entry] = []
        for stored in try rows.fetchAll(.itemLeaves, owner: owner) {
            switch stored {
            case .unreadable(let reference, let fault): throw VaultError.corrupt(reference, fault)
            case .readable(let row):
                guard let leaf = try? ItemLeaf.entries(of: row) else {
                    throw VaultError.corrupt(row.reference, .malformed)
                }
                catalogue.leafGenerations[leaf.bucket] = row.generation
                let (sum, isTooLarge) = catalogue.sum.addingReportingOverflow(row.generation)
                guard !isTooLarge else { throw VaultError.corrupt(row.reference, .malformed) }
                catalogue.sum = sum
                all += leaf.entries
            }
        }
        guard catalogue.sum >= root.generation else {
            throw VaultError.corrupt(RowReference(table: .itemLeaves, key: Data()), .replayed)
        }
        guard catalogue.sum == root.generation else { throw VaultError.corrupt(rootReference, .replayed) }
        catalogue.take(all.sorted { $0.sequence < $1.sequence })
        return catalogue
    }
}

extension ItemCatalogue.Entry {
    fileprivate func matches(_ query: ItemQuery) -> Bool {
        (query.itemClass == nil || query.itemClass == itemClass) && sequence >= query.begin
            && query.allOf.allSatisfy(index.terms.contains)
            && (query.anyOf.isEmpty || query.anyOf.contains(where: index.terms.contains))
    }
}

/// The places of the items that one key finds, ascending. Nearly every key finds a single item, so one costs no allocation.
private struct Postings {
    private var first: UInt32
    private var others: [UInt32] = []

    init(_ slot: UInt32) { first = slot }

    var count: Int { 1 + others.count }
    var slots: [UInt32] { [first] + others }

    mutating func insert(_ slot: UInt32) {
        if slot < first {
            others.insert(first, at: 0)
            first = slot
        } else {
            others.insert(slot, at: others.partitioningIndex { $0 > slot })
        }
    }

    /// False when it was the only one and is still there: the whole value is to go.
    mutating func remove(_ slot: UInt32) -> Bool {
        if slot == first {
            guard !others.isEmpty else { return false }
            first = others.removeFirst()
        } else {
            let index = others.partitioningIndex { $0 >= slot }
            if index < others.count, others[index] == slot { others.remove(at: index) }
        }
        return true
    }
}

extension Array {
    /// The first index at which `belongsBehind` holds, in an array in which it holds for all elements after one.
    fileprivate func partitioningIndex(where belongsBehind: (Element) -> Bool) -> Int {
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            if belongsBehind(self[middle]) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}

extension ItemDigest {
    init?(_ id: VaultID) { self.init(prefixOf: Array(id.bytes)) }
}

extension VaultID {
    init(_ digest: ItemDigest) {
        // An array: `Data` takes a call for each byte that is appended.
        var bytes: [UInt8] = []
        bytes.reserveCapacity(Self.byteCount)
        for word in [digest.high, digest.low] {
            for shift in stride(from: 56, through: 0, by: -8) { bytes.append(UInt8(truncatingIfNeeded: word >> shift)) }
        }
        self.init(bytes: Data(bytes))!  // Two words are sixteen bytes.
    }
}
