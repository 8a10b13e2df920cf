/// Small items that were read and verified lately, still encrypted, so that finding one again costs neither SQLite nor the
/// row's authentication code. What the catalogue says decides whether one is current.
///
/// Kept in two halves: when the young one is full it becomes the old one, and what of that is never asked for again goes.
struct RecentItems {
    private static let halfCount = 256
    /// Of attributes, rules, wrap and data together; with that, what is kept is at most 2 MiB.
    private static let recordByteCount = 4096

    private var young: [VaultID: ItemRecord] = [:]
    private var old: [VaultID: ItemRecord] = [:]

    /// The item in this generation, if it is kept.
    mutating func record(_ id: VaultID, generation: UInt64) -> ItemRecord? {
        if let record = young[id] { return record.generation == generation ? record : nil }
        guard let record = old[id], record.generation == generation else { return nil }
        keep(record)
        return record
    }

    mutating func keep(_ record: ItemRecord) {
        guard record.storedByteCount <= Self.recordByteCount else { return }
        if young.count >= Self.halfCount { (young, old) = ([:], young) }
        young[record.id] = record
    }

    mutating func forget(_ id: VaultID) {
        young[id] = nil
        old[id] = nil
    }

    mutating func forgetAll() { self = RecentItems() }
}

extension ItemRecord {
    fileprivate var storedByteCount: Int {
        let wrapped: Int =
            switch wrap {
            case .classKey(let bytes)?, .slots(let bytes)?: bytes.count
            case nil: 0
            }
        return attributes.count + accessControl.count + wrapped + (payload?.count ?? 0)
    }
}
