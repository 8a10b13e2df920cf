import Foundation

/// The list of an owner's items, in memory. It names each item, the present code of its row, and the keys that find it.
/// The whole list was verified when it was read, so an item that it does not name does not exist.
///
/// Items keep their place (slot) in the order of creation. One table maps 64-bit keys to items. The keys of an item are
/// its terms and the first half of its uniqueness digest. An item found by a key is then compared in full.
///
/// The table of a list that was just read is made in pieces, one at each search, because the first search after a start
/// should not wait for the whole of it. A search looks at every item that is not in the table yet.
final class ItemCatalogue: ListContent {
    struct Entry: Equatable, Sendable {
        let id: ItemDigest
        var generation: UInt64
        var code: RowCode
        let sequence: UInt64
        let itemClass: ItemClass
        var index: ItemIndex

        /// Without repetitions: two digests may share their first half, and a slot must not stand twice in one list.
        fileprivate var keys: [UInt64] {
            let first = index.uniqueness.high
            return [first] + index.terms.filter { $0 != first }
        }
    }

    private var entries: [Entry?] = []
    private var postings: [UInt64: Postings] = [:]
    /// The slots below this one are in ``postings``.
    private(set) var indexedCount = 0
    private var buckets: [[UInt32]]
    private(set) var count = 0
    private var changes: [Change] = []
    /// The latest changes first.
    private var suspended: [(slot: Int, entry: Entry?)] = []
    /// Rows of listed items. A changed item is dropped with the change.
    var recent = RecentItems()

    private struct Change {
        let slot: Int
        let former: Entry?
        let bucket: Int
        let isAddition: Bool
    }

    init() {
        buckets = Array(repeating: [], count: VaultTable.items.bucketCount)
    }

    convenience init(_ rows: [ListedRow]) throws(MalformedRow) {
        var entries: [Entry] = []
        entries.reserveCapacity(rows.count)
        for row in rows { entries.append(try Entry(row)) }
        self.init(entries)
    }

    convenience init(_ entries: some Sequence<Entry>) {
        self.init()
        take(entries.sorted { $0.sequence < $1.sequence })
    }

    // MARK: finding

    var nextSequence: UInt64 { (entries.last { $0 != nil }.flatMap { $0 }?.sequence ?? 0) + 1 }

    func entry(_ id: VaultID) -> Entry? { slot(of: id).flatMap { entries[$0] } }

    func holds(_ uniqueness: ItemDigest, besides id: VaultID? = nil) -> Bool {
        indexMore()
        let own = id.flatMap { ItemDigest($0) }
        func isOther(_ entry: Entry?) -> Bool {
            guard let entry else { return false }
            return entry.index.uniqueness == uniqueness && entry.id != own
        }
        return postings[uniqueness.high]?.slots.contains { isOther(entries[Int($0)]) } == true
            || entries[indexedCount...].contains(where: isOther)
    }

    /// The entries that match, in the order of creation.
    func search(_ query: ItemQuery) -> [Entry] {
        indexMore()
        var found: [Entry] = []
        visitCandidates(for: query) { slot in
            guard found.count < query.limit else { return false }
            if let entry = entries[slot], entry.matches(query) { found.append(entry) }
            return true
        }
        return found
    }

    /// All identifiers, in the order of creation.
    var ids: [VaultID] { entries.compactMap { $0.map { VaultID($0.id) } } }

    /// At most `count` of the listed items' keys, in their order, those behind `last`.
    func keys(after last: Data?, count: Int) -> [Data] {
        func isBehind(_ key: Data) -> Bool { last.map { $0.lexicographicallyPrecedes(key) } ?? true }
        var found: [Data] = []
        for bucket in buckets[(last.map { VaultID.bound(after: $0).id.bucket } ?? 0)...] where found.count < count {
            found += bucket.compactMap { entries[Int($0)].map { VaultID($0.id).bytes } }.filter(isBehind)
        }
        return Array(found.sorted { $0.lexicographicallyPrecedes($1) }.prefix(count))
    }

    private func slot(of id: VaultID) -> Int? {
        guard let digest = ItemDigest(id) else { return nil }
        return buckets[id.bucket].first { entries[Int($0)]?.id == digest }.map { Int($0) }
    }

    /// Lends the slots to search, until `body` is false: the items from `query.begin` on that have the rarest of the required
    /// terms. Makes no list of them: a term may find nearly all items, of which a page takes few.
    func visitCandidates(for query: ItemQuery, _ body: (Int) -> Bool) {
        if let id = query.id {
            if let slot = slot(of: id) { _ = body(slot) }
            return
        }
        let required = query.anyOf.count == 1 ? query.allOf + query.anyOf : query.allOf
        guard !required.isEmpty else {
            for slot in place(of: query.begin)..<entries.count where !body(slot) { return }
            return
        }
        let lists = required.compactMap { postings[$0] }
        if lists.count == required.count, let rarest = lists.min(by: { $0.count < $1.count }) {
            guard rarest.visit(from: { sequence(at: Int($0)) >= query.begin }, body) else { return }
        }
        for slot in max(indexedCount, place(of: query.begin))..<entries.count where !body(slot) { return }
    }

    /// Slots that one search adds to the table.
    private static let indexingCount = 2048

    private func indexMore() {
        guard indexedCount < entries.count else { return }
        let end = min(indexedCount + Self.indexingCount, entries.count)
        for slot in indexedCount..<end { index(slot, from: [], to: entries[slot]?.keys ?? []) }
        indexedCount = end
    }

    private func place(of sequence: UInt64) -> Int {
        guard sequence > 0 else { return 0 }
        return entries.firstIndex { ($0?.sequence ?? 0) >= sequence } ?? entries.count
    }

    private func sequence(at slot: Int) -> UInt64 { entries[slot]?.sequence ?? 0 }

    // MARK: changing

    /// Adds an item at the end of the order.
    func append(_ entry: Entry) {
        if indexedCount == entries.count { indexedCount += 1 }
        entries.append(nil)
        set(entries.count - 1, to: entry, isAddition: true)
    }

    func replace(_ entry: Entry) {
        guard let slot = slot(of: VaultID(entry.id)) else { preconditionFailure("only listed items are replaced") }
        set(slot, to: entry)
    }

    func remove(_ id: VaultID) {
        guard let slot = slot(of: id) else { preconditionFailure("only listed items are removed") }
        set(slot, to: nil)
    }

    private func set(_ slot: Int, to entry: Entry?, isAddition: Bool = false) {
        let former = entries[slot]
        guard let changed = entry ?? former else { return }
        if let former { recent.forget(VaultID(former.id)) }
        changes.append(Change(slot: slot, former: former, bucket: changed.bucket, isAddition: isAddition))
        exchange(slot, former, entry)
    }

    private func exchange(_ slot: Int, _ former: Entry?, _ entry: Entry?) {
        entries[slot] = entry
        let position = UInt32(slot)
        if let former, entry == nil {
            buckets[former.bucket].removeAll { $0 == position }
            count -= 1
        } else if former == nil, let entry {
            let index = buckets[entry.bucket].firstIndexInOrder { $0 > position }
            buckets[entry.bucket].insert(position, at: index)
            count += 1
        }
        if slot < indexedCount { index(slot, from: former?.keys ?? [], to: entry?.keys ?? []) }
    }

    /// Changes the keys that find a slot.
    private func index(_ slot: Int, from old: [UInt64], to new: [UInt64]) {
        let position = UInt32(slot)
        for key in old where !new.contains(key) {
            if postings[key]?.remove(position) == false { postings[key] = nil }
        }
        for key in new where !old.contains(key) {
            if postings[key]?.insert(position) == nil { postings[key] = Postings(position) }
        }
    }

    // MARK: the list

    func rows(inBucket bucket: Int) -> [ListedRow] { buckets[bucket].compactMap { entries[Int($0)]?.listed } }

    var changeCount: Int { changes.count }
    var changedBuckets: Set<Int> { Set(changes.map(\.bucket)) }

    /// The items that the running transaction made findable by other terms, added or removed; each once. An item with only other
    /// keys is not among them.
    func changedItems(of owner: VaultID) -> [ChangedItem] {
        var seen: Set<Int> = []
        return changes.compactMap { change in
            guard seen.insert(change.slot).inserted else { return nil }
            let present = entries[change.slot]
            guard let entry = present ?? change.former, change.former?.index != present?.index else { return nil }
            return ChangedItem(
                owner: owner, id: VaultID(entry.id), itemClass: entry.itemClass, former: change.former?.index,
                present: present?.index)
        }
    }

    func commit() {
        changes = []
        if entries.count > 1024, count < entries.count / 2 { compact() }
    }

    func undoChanges(after count: Int) {
        while changes.count > count {
            let change = changes.removeLast()
            exchange(change.slot, entries[change.slot], change.former)
            if change.isAddition {
                entries.removeLast()
                indexedCount = min(indexedCount, entries.count)
            }
        }
    }

    func suspendChanges() {
        for change in changes.reversed() {
            let entry = entries[change.slot]
            suspended.append((change.slot, entry))
            exchange(change.slot, entry, change.former)
        }
    }

    func resumeChanges() {
        while let (slot, entry) = suspended.popLast() { exchange(slot, entries[slot], entry) }
    }

    /// Closes the gaps that removed items left.
    private func compact() { take(entries.compactMap { $0 }) }

    /// Puts these entries in place of all others.
    private func take(_ ordered: [Entry]) {
        entries = ordered
        count = ordered.count
        buckets = Array(repeating: [], count: VaultTable.items.bucketCount)
        for (slot, entry) in ordered.enumerated() { buckets[entry.bucket].append(UInt32(slot)) }
        (postings, indexedCount) = ([:], 0)
    }
}

extension ItemCatalogue.Entry {
    fileprivate func matches(_ query: ItemQuery) -> Bool {
        sequence >= query.begin && query.matches(itemClass, index)
    }
}

/// The slots of the items that one key finds, ascending. Most keys find a single item, so a single slot costs no
/// allocation.
private struct Postings {
    private var first: UInt32
    private var others: [UInt32] = []

    init(_ slot: UInt32) { first = slot }

    var count: Int { 1 + others.count }
    var slots: [UInt32] { [first] + others }

    /// Lends the slots in order, from the first one on for which `isBehind` holds, until `body` is false. Returns whether it never was.
    func visit(from isBehind: (UInt32) -> Bool, _ body: (Int) -> Bool) -> Bool {
        if isBehind(first), !body(Int(first)) { return false }
        for slot in others[others.firstIndexInOrder(where: isBehind)...] where !body(Int(slot)) { return false }
        return true
    }

    mutating func insert(_ slot: UInt32) {
        if slot < first {
            others.insert(first, at: 0)
            first = slot
        } else {
            others.insert(slot, at: others.firstIndexInOrder { $0 > slot })
        }
    }

    /// False if `slot` was the only one. It is then still there, and the caller drops the whole value.
    mutating func remove(_ slot: UInt32) -> Bool {
        if slot == first {
            guard !others.isEmpty else { return false }
            first = others.removeFirst()
        } else {
            let index = others.firstIndexInOrder { $0 >= slot }
            if index < others.count, others[index] == slot { others.remove(at: index) }
        }
        return true
    }
}

extension ItemDigest {
    init?(_ id: VaultID) { self.init(prefixOf: Array(id.bytes)) }
}

extension VaultID {
    init(_ digest: ItemDigest) {
        // An array, because `Data` costs a call for each appended byte.
        var bytes: [UInt8] = []
        bytes.reserveCapacity(Self.byteCount)
        for word in [digest.high, digest.low] {
            for shift in stride(from: 56, through: 0, by: -8) { bytes.append(UInt8(truncatingIfNeeded: word >> shift)) }
        }
        self.init(bytes: Data(bytes))!  // Two words are sixteen bytes.
    }
}
