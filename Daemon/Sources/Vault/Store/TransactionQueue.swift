import Dispatch
import Foundation
import GRDB
import Synchronization

/// The database of an open vault. One thread at a time writes; changes of several threads are committed together. One thread
/// at a time reads, beside a commit.
///
/// Each thread makes its own change, in a savepoint of the open transaction. If other threads wait to write, it leaves
/// the transaction open for them, and the last one commits for all. So the changes for the next flush gather while one
/// flush runs, and a thread that writes alone waits for nobody.
///
/// A thread that reads has a connection of its own, so it sees only data on disk. It waits while changes are made, because the
/// lists in memory show them, but not while they are flushed: for that time the lists show the committed state again.
/// Where the two do not fit, for a moment after a flush, it reads in the writers' order. See decision 0066.
final class TransactionQueue: @unchecked Sendable {
    // SAFETY: (@unchecked) `group` and `committedPageCount` are used only inside the closures of `queue`, which run one at a
    // time; `lists`, `reader` and `isFlushing` only by the thread or the open transaction that has `listsTurn`.
    private let queue: DatabaseQueue
    private let reader: DatabaseQueue
    /// The turn at the lists: of a thread that reads, or of the open transaction, except while it is flushed. It is taken by one
    /// thread and may be passed on by another, which a lock must not.
    private let listsTurn = DispatchSemaphore(value: 1)
    /// Whether a flush runs: the database may show the next state at any moment.
    private var isFlushing = false
    private let space: DatabaseFileSpace
    private let protector: any RecordProtector
    private let observer: (any WriteObserver)?
    private let lists: StoreLists
    let storeID: VaultID

    private let waitingCount = Atomic(0)
    /// How many threads wait to write.
    var waitingWriterCount: Int { waitingCount.load(ordering: .relaxed) }
    /// The open transaction.
    private var group: CommitGroup?
    /// The size of the database as it was committed last, in pages; nil before the first transaction.
    private var committedPageCount: Int?
    private let generation: Atomic<UInt64>
    private let mark: Mutex<RollbackMark?>
    private let itemListener = Mutex<(any ItemListener)?>(nil)

    /// The counter of the root that was committed last.
    var storeGeneration: UInt64 { generation.load(ordering: .acquiring) }

    /// The mark that was committed last.
    var rollbackMark: RollbackMark? { mark.withLock { $0 } }

    init(
        _ opened: Vault.Opened, reader: DatabaseQueue, space: DatabaseFileSpace, protector: any RecordProtector,
        observer: (any WriteObserver)?
    ) {
        (queue, storeID, lists) = (opened.queue, opened.storeID, StoreLists(opened.root))
        generation = Atomic(opened.root.root.counter)
        mark = Mutex(opened.root.root.rollback)
        self.reader = reader
        self.space = space
        self.protector = protector
        self.observer = observer
    }

    private func rows(in database: Database) -> RowStore {
        RowStore(database: database, protector: protector, storeID: storeID)
    }

    /// Tells `listener` of changed items from now on.
    func setItemListener(_ listener: any ItemListener) { itemListener.withLock { $0 = listener } }

    // MARK: reading

    /// Runs `body` on one consistent view, whose root is the one that was committed last.
    func read<Result>(_ body: (VaultReader) throws -> Result) throws -> Result {
        if case .read(let result) = try readBeside(inTransaction: true, body) { return result }
        return try withLists { database in
            var result: Result?
            try database.readOnly {
                try database.inTransaction(.deferred) {
                    try lists.requireCommittedRoot(in: database)
                    result = try body(VaultReader(rows(in: database), lists))
                    return .commit
                }
            }
            guard let result else { preconditionFailure("a reading that did not throw has a result") }
            return result
        }
    }

    /// Runs `body` without comparing the root, and outside of any transaction while nothing is flushed.
    func readRows<Result>(_ body: (VaultReader) throws -> Result) throws -> Result {
        if case .read(let result) = try readBeside(inTransaction: false, body) { return result }
        return try withLists { try body(VaultReader(rows(in: $0), lists)) }
    }

    private enum Beside<Result> {
        case read(Result)
        /// The database does not show the state of the lists.
        case isElsewhere
    }

    /// Runs `body` on the reader's connection, or not at all.
    private func readBeside<Result>(
        inTransaction needsTransaction: Bool, _ body: (VaultReader) throws -> Result
    ) throws -> Beside<Result> {
        listsTurn.wait()
        defer { listsTurn.signal() }
        return try VaultError.mapping {
            try reader.writeWithoutTransaction { database in
                guard needsTransaction || isFlushing else {
                    return .read(try body(VaultReader(rows(in: database), lists)))
                }
                try database.beginReadingPrepared()
                defer { endReading(in: database) }
                guard try lists.isCommittedRoot(in: database) else { return .isElsewhere }
                return .read(try body(VaultReader(rows(in: database), lists)))
            }
        }
    }

    private func endReading(in database: Database) {
        guard database.isInsideTransaction else { return }
        do { try database.commitPrepared() } catch {
            // The next reading cannot begin a transaction then, and is refused.
        }
    }

    /// Runs `body`, which uses the lists, in the writers' order, when everything before is committed.
    private func withLists<Result>(_ body: (Database) throws -> Result) throws -> Result {
        try withDatabase { database in
            listsTurn.wait()
            defer { listsTurn.signal() }
            return try body(database)
        }
    }

    /// Runs `body` on the database outside of any transaction.
    func withDatabase<Result>(_ body: (Database) throws -> Result) throws -> Result {
        try VaultError.mapping {
            try queue.writeWithoutTransaction { database in
                commit(in: database)
                return try body(database)
            }
        }
    }

    func close() throws {
        try withDatabase { _ in }
        listsTurn.wait()
        defer { listsTurn.signal() }
        try VaultError.mapping {
            try reader.close()
            try queue.close()
        }
    }

    // MARK: writing

    /// Makes a change and returns when it is on disk. If it throws, it changed nothing.
    ///
    /// - Parameter alone: whether the transaction must hold no other change. Without it, `body` runs a second time,
    ///   alone, when the disk has no space for a transaction of several changes: a large change must not make a small
    ///   one fail.
    func write<Result>(
        _ label: String, alone: Bool = false, _ body: (VaultWriter) throws -> Result
    ) throws -> Result {
        try VaultError.mapping {
            waitingCount.add(1, ordering: .relaxed)
            let (result, group) = try queue.writeWithoutTransaction { database in
                waitingCount.subtract(1, ordering: .relaxed)
                if alone { commit(in: database) }
                let group = try openGroup(in: database)
                group.addMember()
                let result = Swift.Result { try change(label, in: group, database, body) }
                // A thread that was counted comes next and commits for this one.
                if alone || waitingWriterCount == 0 || group.isFull { commit(in: database) }
                return (result, group)
            }
            do {
                // Wait before reporting an error of this change, too: another change of the transaction may be its
                // reason.
                try group.wait()
            } catch let failure as SharedFailure {
                guard VaultError.isDiskFull(failure.error) else { throw failure.error }
                return try write(label, alone: true, body)
            }
            return try result.get()
        }
    }

    /// The open transaction, or a new one, which locks out other writers of the file from its start.
    private func openGroup(in database: Database) throws -> CommitGroup {
        if let group { return group }
        try database.beginPrepared()
        listsTurn.wait()
        do {
            try lists.requireCommittedRoot(in: database)
            committedPageCount = try committedPageCount ?? space.pageCount(in: database)
            let new = CommitGroup()
            group = new
            return new
        } catch {
            listsTurn.signal()
            try database.rollback()
            throw error
        }
    }

    /// Makes one change of the transaction. If `body` throws, its own changes are undone.
    private func change<Result>(
        _ label: String, in group: CommitGroup, _ database: Database, _ body: (VaultWriter) throws -> Result
    ) throws -> Result {
        let mark = lists.mark()
        let result: Result
        do {
            result = try database.inPreparedSavepoint { try body(VaultWriter(rows(in: database), lists)) }
        } catch {
            if database.isInsideTransaction {
                lists.undoChanges(since: mark)
            } else {
                // After some errors, such as a full disk, SQLite undoes the whole transaction.
                abandon(because: error)
            }
            throw error
        }
        group.add(label)
        return result
    }

    /// Commits the transaction if one is open, and tells every thread that waits for it.
    private func commit(in database: Database) {
        guard let group else { return }
        do {
            let root = try lists.writeChanges(to: rows(in: database))
            let pageCount = try space.pageCount(in: database)
            if pageCount > committedPageCount ?? 0 { try space.hold(pageCount: pageCount) }
            try lettingOthersRead {
                if let observer { for label in group.labels { observer.willCommit(label) } }
                try database.commitPrepared()
            }
            committedPageCount = pageCount
            // A listener that comes after this line reads later than this commit: nobody uses the lists until its end.
            let listener = itemListener.withLock { $0 }.flatMap { $0.isListening ? $0 : nil }
            let changedItems = listener == nil ? nil : lists.changedItems()
            lists.commit(root)
            let committedMark = lists.committedMark
            mark.withLock { $0 = committedMark }
            generation.store(lists.generation, ordering: .releasing)
            endGroup()
            if let changedItems, !changedItems.isEmpty { listener?.itemsHaveChanged(changedItems) }
            group.succeed()
        } catch {
            abandon(because: error)
            do { try database.rollback() } catch {
                // The transaction stays open, so no other can begin. Nothing is written from now on.
            }
        }
    }

    /// Runs `flush` while the lists show the committed state to those who read.
    private func lettingOthersRead(_ flush: () throws -> Void) throws {
        guard lists.suspendChanges() else { return try flush() }
        isFlushing = true
        listsTurn.signal()
        defer {
            listsTurn.wait()
            isFlushing = false
            lists.resumeChanges()
        }
        try flush()
    }

    /// Undoes the whole transaction.
    private func abandon(because error: any Error) {
        guard let group else { return }
        lists.rollBack()
        endGroup()
        group.fail(error)
    }

    private func endGroup() {
        group = nil
        listsTurn.signal()
    }
}

extension VaultError {
    fileprivate static func isDiskFull(_ error: any Error) -> Bool {
        switch error {
        case let error as DatabaseError: VaultError(error) == .diskFull
        case let error as VaultError: error == .diskFull
        default: false
        }
    }
}
