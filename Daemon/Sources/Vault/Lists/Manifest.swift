import Foundation

/// The content of a list in memory: its rows, and the changes since the last commit, so that they can be undone.
protocol ListContent: AnyObject {
    /// - Parameter rows: the rows of all buckets.
    init(_ rows: [ListedRow]) throws(MalformedRow)
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
}

/// The list of one owner's rows in any table but the items. A row that is not listed was planted, a row with another
/// code was replayed, and a listed row that is missing was removed.
final class Manifest: ListContent {
    private(set) var entries: [Data: ListEntry] = [:]
    private var keysByTag: [[UInt8]: Data] = [:]
    private var changes: [(key: Data, former: ListEntry?)] = []

    init() {}

    init(_ rows: [ListedRow]) throws(MalformedRow) {
        for row in rows {
            guard entries[Data(row.key)] == nil else { throw MalformedRow() }
            set(Data(row.key), to: row.entry)
        }
    }

    /// The key of the only row with this tag.
    func key(tagged tag: Data) -> Data? { keysByTag[Array(tag)] }

    func list(_ key: Data, _ entry: ListEntry) {
        changes.append((key, entries[key]))
        set(key, to: entry)
    }

    func unlist(_ key: Data) {
        changes.append((key, entries[key]))
        set(key, to: nil)
    }

    private func set(_ key: Data, to entry: ListEntry?) {
        if let former = entries[key], keysByTag[former.tag] == key { keysByTag[former.tag] = nil }
        entries[key] = entry
        if let entry, !entry.tag.isEmpty { keysByTag[entry.tag] = key }
    }

    // MARK: the list

    func rows(inBucket bucket: Int) -> [ListedRow] {
        entries.sorted { $0.key.lexicographicallyPrecedes($1.key) }.map { ListedRow(key: Array($0), entry: $1) }
    }

    var changeCount: Int { changes.count }
    var changedBuckets: Set<Int> { changes.isEmpty ? [] : [0] }

    func undoChanges(after count: Int) {
        while changes.count > count {
            let (key, former) = changes.removeLast()
            set(key, to: former)
        }
    }

    func commit() { changes = [] }
}
