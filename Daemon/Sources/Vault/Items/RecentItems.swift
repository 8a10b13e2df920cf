/// Small items that were read and verified lately, still encrypted. Finding one again needs neither SQLite nor a check
/// of the row's authentication code. A kept item is current if the catalogue still lists its code.
///
/// There are two halves. When the young half is full, it becomes the old one; entries of the former old half that
/// nobody asked for again are dropped.
struct RecentItems {
    private static let halfCount = 256
    /// Greatest size of attributes, rules, wrap and data together. It bounds the kept items to 2 MiB.
    private static let recordByteCount = 4096

    private var young: [VaultID: Kept] = [:]
    private var old: [VaultID: Kept] = [:]

    private struct Kept {
        let record: ItemRecord
        let code: RowCode
    }

    /// The item whose row has this code, if it is kept.
    mutating func record(_ id: VaultID, code: RowCode) -> ItemRecord? {
        if let kept = young[id] { return kept.code == code ? kept.record : nil }
        guard let kept = old[id], kept.code == code else { return nil }
        keep(kept.record, code: code)
        return kept.record
    }

    mutating func keep(_ record: ItemRecord, code: RowCode) {
        guard record.storedByteCount <= Self.recordByteCount else { return }
        if young.count >= Self.halfCount { (young, old) = ([:], young) }
        young[record.id] = Kept(record: record, code: code)
    }

    mutating func forget(_ id: VaultID) {
        young[id] = nil
        old[id] = nil
    }
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
