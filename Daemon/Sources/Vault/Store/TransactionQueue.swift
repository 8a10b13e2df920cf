import Foundation
import GRDB
import Synchronization

/// The database of an open vault. One thread at a time reads or writes; changes of several threads are committed
/// together.
///
/// Each thread makes its own change, in a savepoint of the open transaction. If other threads wait to write, it leaves
/// the transaction open for them, and the last one commits for all. So the changes for the next flush gather while one
/// flush runs, and a thread that writes alone waits for nobody. A thread that reads commits first, so it sees only data
/// on disk.
final class TransactionQueue: @unchecked Sendable {
    // SAFETY: (@unchecked) `group`, `committedPageCount` and `lists` are used only inside the closures of `queue`, which run
    // one at a time.
    private let queue: DatabaseQueue
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

    /// The counter of the root that was committed last.
    var storeGeneration: UInt64 { generation.load(ordering: .acquiring) }

    /// The mark that was committed last.
    var rollbackMark: RollbackMark? { mark.withLock { $0 } }

    init(
        _ opened: Vault.Opened, space: DatabaseFileSpace, protector: any RecordProtector,
        observer: (any WriteObserver)?
    ) {
        (queue, storeID, lists) = (opened.queue, opened.storeID, StoreLists(opened.root))
        generation = Atomic(opened.root.root.counter)
        mark = Mutex(opened.root.root.rollback)
        self.space = space
        self.protector = protector
        self.observer = observer
    }

    private func rows(in database: Database) -> RowStore {
        RowStore(database: database, protector: protector, storeID: storeID)
    }

    // MARK: reading

    /// Runs `body` on one consistent view, whose root is the one that was committed last.
    func read<Result>(_ body: (VaultReader) throws -> Result) throws -> Result {
        try withDatabase { database in
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

    /// Runs `body` outside of any transaction, without comparing the root.
    func readRows<Result>(_ body: (VaultReader) throws -> Result) throws -> Result {
        try withDatabase { try body(VaultReader(rows(in: $0), lists)) }
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
        try VaultError.mapping { try queue.close() }
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
                if alone || waitingWriterCount == 0 { commit(in: database) }
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
        do {
            try lists.requireCommittedRoot(in: database)
            committedPageCount = try committedPageCount ?? space.pageCount(in: database)
            let new = CommitGroup()
            group = new
            return new
        } catch {
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
            if let observer { for label in group.labels { observer.willCommit(label) } }
            try database.commitPrepared()
            committedPageCount = pageCount
            self.group = nil
            lists.commit(root)
            let committedMark = lists.committedMark
            mark.withLock { $0 = committedMark }
            generation.store(lists.generation, ordering: .releasing)
            group.succeed()
        } catch {
            abandon(because: error)
            do { try database.rollback() } catch {
                // The transaction stays open, so no other can begin. Nothing is written from now on.
            }
        }
    }

    /// Undoes the whole transaction.
    private func abandon(because error: any Error) {
        lists.rollBack()
        group?.fail(error)
        group = nil
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
