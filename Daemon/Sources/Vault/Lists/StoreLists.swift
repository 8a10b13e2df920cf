import Foundation
import GRDB

/// All lists of a store that were read so far, and the root that was committed last.
///
/// Each list was compared with that root when it was read, and only transactions of this vault change it. So it says
/// which rows are the present ones, even if another program writes into the database meanwhile.
final class StoreLists: @unchecked Sendable {
    // SAFETY: (@unchecked) used only by the thread that has the turn at the lists, see ``TransactionQueue``.
    private var committed: CommittedRoot
    private var lists: [ListID: StoredList] = [:]
    /// The digests of all lists, with those that the running transaction wrote or replaced.
    private var digests: [ListID: Data]
    /// Those of the running transaction, while its changes are suspended.
    private var suspendedDigests: [ListID: Data]?
    /// The former state of each list that the running transaction added, removed or replaced.
    private var replaced: [Replacement] = []
    /// Whether the running transaction changed a row that is in no list.
    private var hasOtherChanges = false
    /// The mark that the running transaction leaves.
    private var rollback: RollbackMark?
    var sizes = OwnerSizes()

    private struct Replacement {
        let id: ListID
        let list: StoredList?
        let digest: Data?
    }

    init(_ committed: CommittedRoot) {
        self.committed = committed
        digests = committed.root.lists
        rollback = committed.root.rollback
    }

    /// The mark that was committed last.
    var committedMark: RollbackMark? { committed.root.rollback }

    /// The counter of the root that was committed last.
    var generation: UInt64 { committed.root.counter }

    /// The number of the running or next transaction: the generation of the rows that it writes.
    var nextGeneration: UInt64 { committed.root.counter + 1 }

    // MARK: reading

    /// Whether the root in the database is the one that was committed last.
    func isCommittedRoot(in database: Database) throws -> Bool { try committed.isStored(in: database) }

    /// Throws ``VaultError/changedByOthers`` unless ``isCommittedRoot(in:)``.
    func requireCommittedRoot(in database: Database) throws {
        guard try isCommittedRoot(in: database) else { throw VaultError.changedByOthers }
    }

    /// The list of the rows that `owner` has in `table`. The first call reads it and compares it with the root.
    func manifest(of table: VaultTable, owner: VaultID, from rows: RowStore) throws -> Manifest {
        guard let manifest = try list(ListID(owner: owner, table: table), from: rows).content as? Manifest else {
            preconditionFailure("items are in no manifest")
        }
        return manifest
    }

    /// The owner's items. Otherwise like ``manifest(of:owner:from:)``.
    func catalogue(of owner: VaultID, from rows: RowStore) throws -> ItemCatalogue {
        guard let catalogue = try list(ListID(owner: owner, table: .items), from: rows).content as? ItemCatalogue else {
            preconditionFailure("items are in a catalogue")
        }
        return catalogue
    }

    private func list(_ id: ListID, from rows: RowStore) throws -> StoredList {
        if let known = lists[id] { return known }
        let list = try read(id, from: rows)
        lists[id] = list
        return list
    }

    /// Reads the list from the database, even if it is in memory.
    func read(_ id: ListID, from rows: RowStore) throws -> StoredList {
        guard let digest = digests[id] else { throw VaultError.corrupt(id.reference, .removed) }
        return try StoredList.read(id, expected: digest, from: rows)
    }

    /// Compares some buckets, as they lie in the database, with the list.
    func verify(_ id: ListID, _ buckets: Range<Int>, in rows: RowStore) throws {
        try list(id, from: rows).verify(buckets, in: rows)
    }

    /// The list if it was read before.
    func known(_ id: ListID) -> StoredList? { lists[id] }

    // MARK: changing

    /// Puts `content` in place of the list, in the database and in memory.
    func replace(_ id: ListID, by content: any ListContent, in rows: RowStore) throws {
        try rows.deleteBuckets(of: id)
        set(id, to: StoredList(new: id, content), digest: digests[id] ?? Root.unwritten)
    }

    /// Removes the list.
    func remove(_ id: ListID, in rows: RowStore) throws {
        try rows.deleteBuckets(of: id)
        set(id, to: nil, digest: nil)
    }

    private func set(_ id: ListID, to list: StoredList?, digest: Data?) {
        replaced.append(Replacement(id: id, list: lists[id], digest: digests[id]))
        lists[id] = list
        digests[id] = digest
    }

    /// Notes that the running transaction changed a row that is in no list.
    func noteOtherChange() { hasOtherChanges = true }

    /// Writes this mark with the running transaction.
    func setMark(_ mark: RollbackMark) {
        rollback = RollbackMark(counter: mark.counter, value: mark.value, generation: nextGeneration)
    }

    // MARK: transactions

    /// A point inside the running transaction.
    struct Mark {
        fileprivate let replacedCount: Int
        fileprivate let changeCounts: [ListID: Int]
        fileprivate let hasOtherChanges: Bool
        fileprivate let rollback: RollbackMark?
        fileprivate let sizeChangeCount: Int
    }

    func mark() -> Mark {
        Mark(
            replacedCount: replaced.count,
            changeCounts: lists.compactMapValues { $0.content.changeCount > 0 ? $0.content.changeCount : nil },
            hasOtherChanges: hasOtherChanges, rollback: rollback, sizeChangeCount: sizes.changeCount)
    }

    /// Undoes the changes since `mark`, after the database was rolled back to that point.
    func undoChanges(since mark: Mark) {
        while replaced.count > mark.replacedCount {
            let former = replaced.removeLast()
            lists[former.id] = former.list
            digests[former.id] = former.digest
        }
        for (id, list) in lists { list.content.undoChanges(after: mark.changeCounts[id] ?? 0) }
        sizes.undoChanges(after: mark.sizeChangeCount)
        hasOtherChanges = mark.hasOtherChanges
        rollback = mark.rollback
    }

    /// Writes the buckets that the running transaction changed, each once, and the root over them.
    func writeChanges(to rows: RowStore) throws -> CommittedRoot? {
        let added = Set(replaced.map(\.id))
        for (id, list) in lists where list.isChanged || added.contains(id) {
            digests[id] = try list.write(generation: nextGeneration, to: rows)
        }
        guard
            hasOtherChanges || !replaced.isEmpty || digests != committed.root.lists
                || rollback != committed.root.rollback
        else { return nil }
        var root = Root()
        root.counter = nextGeneration
        root.lists = digests
        root.rollback = rollback
        return try CommittedRoot(writing: root, to: rows)
    }

    /// Changes that are suspended and resumed faster than a disk flush.
    private static let suspensionCount = 2048

    /// Shows all lists as they were committed last, until ``resumeChanges()``. False, and nothing done, where that would take
    /// long: for a very large transaction, and one that puts a list in the place of another.
    func suspendChanges() -> Bool {
        guard replaced.isEmpty, lists.values.reduce(0, { $0 + $1.content.changeCount }) <= Self.suspensionCount else {
            return false
        }
        for list in lists.values where list.isChanged { list.suspendChanges() }
        suspendedDigests = digests
        digests = committed.root.lists
        return true
    }

    func resumeChanges() {
        guard let suspendedDigests else { preconditionFailure("only suspended changes are resumed") }
        for list in lists.values where list.isChanged { list.resumeChanges() }
        digests = suspendedDigests
        self.suspendedDigests = nil
    }

    /// The items that the running transaction changed.
    func changedItems() -> ChangedItems {
        var changed = ChangedItems()
        changed.relistedOwners = Set(replaced.lazy.filter { $0.id.table == .items }.map(\.id.owner))
        for (id, list) in lists where id.table == .items && !changed.relistedOwners.contains(id.owner) {
            if let catalogue = list.content as? ItemCatalogue { changed.items += catalogue.changedItems(of: id.owner) }
        }
        return changed
    }

    /// Ends the transaction that is now on disk. `root` is nil if it changed nothing.
    func commit(_ root: CommittedRoot?) {
        if let root { committed = root }
        for list in lists.values { list.commit() }
        settle()
    }

    /// Undoes the whole transaction, after the database was rolled back.
    func rollBack() {
        for former in replaced.reversed() { lists[former.id] = former.list }
        for list in lists.values { list.rollBack() }
        sizes.undoChanges(after: 0)
        settle()
    }

    private func settle() {
        digests = committed.root.lists
        rollback = committed.root.rollback
        replaced = []
        hasOtherChanges = false
        sizes.settle()
    }
}

/// A root as it lies in the database.
struct CommittedRoot {
    let root: Root
    /// The row's owner, key, generation, code and digests, for comparison with the stored row.
    private let columns: StatementArguments

    private init(_ root: Root, row: SealedRow, code: Data) {
        self.root = root
        guard case .blob(let lists)? = row.columns.first else { preconditionFailure("a root has one column") }
        columns = [row.owner.bytes, row.key, Int64(clamping: row.generation), code, lists]
    }

    /// Writes the root in place of the former one.
    init(writing root: Root, to rows: RowStore) throws {
        let row = root.row(store: rows.storeID)
        self.init(root, row: row, code: try rows.put(row))
    }

    /// Reads the root of a store that is being opened.
    ///
    /// - Throws: ``VaultError/unreadable(_:)`` when it is missing or does not verify.
    init(readingFrom rows: RowStore) throws {
        do {
            guard let row = try rows.fetch(.roots, owner: rows.storeID, key: Root.key) else {
                throw VaultError.unreadable(.root)
            }
            self.init(try Root(row), row: row, code: row.mac)
        } catch VaultError.corrupt { throw VaultError.unreadable(.root) } catch is MalformedRow {
            throw VaultError.unreadable(.root)
        }
    }

    /// Throws ``VaultError/unreadable(_:)`` if any row was written after the root.
    ///
    /// The lists alone would refuse such rows one by one, as damage. But they show more: somebody put back the rest of
    /// the store.
    func requireNewest(in table: VaultTable, _ rows: RowStore) throws {
        guard try rows.newestGeneration(in: table, above: root.counter) == nil else {
            throw VaultError.unreadable(.newerThanRoot)
        }
    }

    /// Whether the row is there, byte for byte.
    func isStored(in database: Database) throws -> Bool {
        let statement = try database.cachedStatement(
            sql: """
                SELECT EXISTS (
                    SELECT 1 FROM roots WHERE owner = ? AND row_key = ? AND generation = ? AND mac = ? AND lists = ?)
                """)
        return try Bool.fetchOne(statement, arguments: columns) ?? false
    }
}
