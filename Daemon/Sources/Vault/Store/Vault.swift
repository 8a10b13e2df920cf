import Foundation
import GRDB
import Synchronization
import UnixSocket

/// The daemon's store: users, key pairs, passcode records, attempt counters, objects, keychain items, and the anchors
/// of the audit log.
///
/// Every row is authenticated and listed, and one authenticated root covers all lists. So the vault notices a changed,
/// moved, replayed, planted or removed row before it uses the content, even if other rows or lists were changed to fit.
/// A committed transaction is on disk; an interrupted one never happened. The vault cannot notice that an old copy of
/// the *whole* store was put back: a counter outside of the store does, see ``RollbackCounter``.
///
/// All calls block; a commit takes about as long as a disk flush. Calls must not be nested in one another. The
/// process's umask must be 077 before a vault is opened, for SQLite's side files.
///
/// Format: `Documentation/formats/vault.md`.
public final class Vault: Sendable {
    private let file: VaultFile
    let transactions: TransactionQueue
    /// What a failed erasure of old bytes waits for; nil when nothing is left to erase.
    private let owed = Mutex<OwedErasure?>(nil)
    /// Held by a removal that looks for space on a full disk.
    private let fullDisk = NSLock()
    /// The number of requests to erase old bytes.
    private let erasureCount = Atomic<UInt64>(0)
    /// The number of requests that are done. Locked while the journal is emptied.
    private let erased = Mutex<UInt64>(0)
    private let observer: (any WriteObserver)?
    /// Nil for a store that follows no counter.
    private let steps = Mutex<RollbackSteps?>(nil)
    // The last property, because they are let go in order: the files stay guarded until the database is closed.
    private let guarded: [GuardedFile]

    /// The identity of this store.
    public var storeID: VaultID { transactions.storeID }

    /// The number of committed changes of the store; it never goes down. A program that keeps this number elsewhere
    /// notices when an old copy of the whole store is put back. Reading it does not block.
    public var storeGeneration: UInt64 { transactions.storeGeneration }

    /// The store's mark of a counter outside of it; nil for a store without one. Reading it does not block.
    public var rollbackMark: RollbackMark? { transactions.rollbackMark }

    /// Opens the store in `folder`.
    ///
    /// - Parameters:
    ///   - userID: The user who must own folder and database, and as whom the process makes them.
    ///   - create: Whether to make a missing folder and store. An unusable one is never replaced.
    ///   - protector: The store's keys. A store of other keys is ``UnreadableReason/storeRecord``.
    ///   - observer: Told about each commit.
    ///   - newID: The identity of a newly made store; nil for a random one.
    ///   - newMark: The counter of a newly made store; nil for none.
    /// - Throws: ``VaultError``, or an error of `protector`.
    public init(
        folder: String, ownedBy userID: UInt32, create: Bool, protector: any RecordProtector,
        observer: (any WriteObserver)? = nil, newID: VaultID? = nil, newMark: RollbackMark? = nil
    ) throws {
        let file = VaultFile(folder: folder, userID: userID)
        if try !file.exists() {
            guard create else { throw VaultError.missing }
            try VaultError.mapping {
                try Self.create(file, protector: protector, id: newID ?? VaultID(), mark: newMark)
            }
        }
        let opened: Opened
        do {
            opened = try Self.open(file, protector: protector)
        } catch VaultError.diskFull {
            // A full disk must not keep the store from opening: its owner may want to remove something.
            guard try file.giveUpReserve() else { throw VaultError.diskFull }
            opened = try Self.open(file, protector: protector)
        }
        transactions = TransactionQueue(
            opened, reader: try VaultError.mapping { try Self.connectReader(file.path) },
            space: try DatabaseFileSpace(file, in: opened.queue), protector: protector, observer: observer)
        self.file = file
        self.observer = observer
        guarded = try file.guarded()
        try file.keepReserve()
    }

    /// Runs `body` on one consistent view of the store.
    ///
    /// - Throws: ``VaultError``, and any error of `body` or the protector.
    public func read<Result>(_ body: (VaultReader) throws -> Result) throws -> Result {
        try transactions.read(body)
    }

    /// Like ``read(_:)``, for finding items, but without the cost of a transaction. Each item is one row, and the list
    /// in memory says whether the row is the present one. So the root is not compared.
    public func readItems<Result>(_ body: (VaultReader) throws -> Result) throws -> Result {
        try transactions.readRows(body)
    }

    /// Makes a change, all of it or nothing, and returns when it is on disk. If it throws, it changed nothing.
    ///
    /// Changes that several threads make at the same time share a transaction and a disk flush. Each sees the changes
    /// before it. If one throws, it alone is undone; if the commit fails, all of them fail.
    ///
    /// - Parameters:
    ///   - label: The change's purpose, for the ``WriteObserver``.
    ///   - usingReserve: Whether the change may use the space that is set aside for removals on a full disk.
    ///   - irrevocable: Whether no older copy of the store may take the change back; nil if the next such change is soon
    ///     enough. The call then returns when the counter has moved, too.
    ///   - body: Makes the change. Runs again when the disk is full, up to four times.
    /// - Throws: ``VaultError``, and any error of `body` or the protector.
    public func write<Result>(
        _ label: String, usingReserve: Bool = false, irrevocable: Irrevocability? = nil,
        _ body: (VaultWriter) throws -> Result
    ) throws -> Result {
        guard let irrevocable, let steps = steps.withLock({ $0 }) else {
            return try commit(label, usingReserve: usingReserve, body)
        }
        return try steps.perform(irrevocable) { mark in
            try commit(label, usingReserve: usingReserve) { writer in
                if let mark { writer.setRollbackMark(mark) }
                return try body(writer)
            }
        }
    }

    /// Lets `counter` follow the store from now on. It must stand at the store's ``rollbackMark``.
    public func follow(_ counter: any RollbackCounter) {
        guard let mark = rollbackMark else { preconditionFailure("a store without a mark follows no counter") }
        steps.withLock { $0 = RollbackSteps(counter, at: mark, allowance: StepAllowance()) }
    }

    /// Tells `listener` of changed items from now on.
    public func setItemListener(_ listener: any ItemListener) { transactions.setItemListener(listener) }

    /// Makes a step if anything changed since the last one, so that no older copy passes for the present store.
    public func coverChanges() throws {
        guard let mark = rollbackMark, storeGeneration > mark.generation else { return }
        try write("rollback.step", irrevocable: .atOnce) { _ in }
    }

    private func commit<Result>(
        _ label: String, usingReserve: Bool, _ body: (VaultWriter) throws -> Result
    ) throws -> Result {
        let result: Result
        do {
            result = try transactions.write(label, body)
        } catch VaultError.diskFull where usingReserve {
            result = try writeOnFullDisk(label, body)
        }
        observer?.didCommit(label)
        // This commit found room, so an erasure that lacked it may succeed now.
        if owed.withLock({ $0 }) == .untilThereIsRoom { compactIfPossible() }
        return result
    }

    /// Commits into the journal's own space, which no other program can take. If that is too small, gives up the
    /// reserve for it.
    private func writeOnFullDisk<Result>(_ label: String, _ body: (VaultWriter) throws -> Result) throws -> Result {
        // One removal at a time: each can use the journal's space again once the one before is committed.
        fullDisk.lock()
        defer { fullDisk.unlock() }
        do {
            // When all of the journal is in the database file, the next commit begins the journal at its start.
            try transactions.withDatabase { _ = try $0.checkpoint(.passive) }
            return try transactions.write(label, alone: true, body)
        } catch VaultError.diskFull {
            guard try file.giveUpReserve() else { throw VaultError.diskFull }
            do { return try transactions.write(label, alone: true, body) } catch {
                // The journal has taken the reserve's space. The next removal and the next start need a reserve.
                compactIfPossible()
                throw error
            }
        }
    }

    /// Erases removed and replaced wraps from the database file and its journal. Call it after the transaction that
    /// replaced or removed secrets; until then, old bytes may lie in the journal.
    ///
    /// It cannot erase copies that the disk itself keeps (flash translation, snapshots, backups). Threads that call it
    /// at the same time share one erasure.
    ///
    /// - Throws: ``VaultError/busy`` if another process reads the database: call it again later, see ``isErasureOwed``.
    ///   ``VaultError/diskFull``: the next commit that finds room calls it again.
    public func compactAfterSecretsChanged() throws {
        let number = erasureCount.add(1, ordering: .acquiringAndReleasing).newValue
        try erased.withLock { erased in
            guard erased < number else { return }
            // All requests that are counted by now came after the commit of their transaction.
            let latest = erasureCount.load(ordering: .acquiring)
            try eraseOldBytes()
            erased = latest
        }
    }

    /// Whether an erasure failed and none has succeeded since.
    public var isErasureOwed: Bool { owed.withLock { $0 != nil } }

    private func eraseOldBytes() throws {
        // Now already, so that no other program takes the space that a removal left of the reserve.
        do { try file.keepReserve() } catch {
            // It is tried again below. The journal must be emptied even without a reserve.
        }
        do { try emptyJournal() } catch {
            owed.withLock { $0 = error as? VaultError == .diskFull ? .untilThereIsRoom : .untilNobodyReads }
            throw error
        }
        owed.withLock { $0 = nil }
        try file.keepReserve()
    }

    private func emptyJournal() throws {
        try transactions.withDatabase { database in
            let row = try Row.fetchOne(database, sql: "PRAGMA wal_checkpoint(TRUNCATE)")
            guard let blocked = row?[0] as Int?, blocked == 0 else { throw VaultError.busy }
        }
    }

    private func compactIfPossible() {
        do { try compactAfterSecretsChanged() } catch {
            // This must not change the result of the write. The erasure stays owed.
        }
    }

    /// Closes the database. The vault cannot be used afterwards.
    public func close() throws {
        try transactions.close()
    }
}

/// The event that a failed erasure of old bytes waits for.
private enum OwedErasure {
    /// The next commit that finds room tries again.
    case untilThereIsRoom
    /// Another process reads the database. A new try would wait for it, so not every commit makes one.
    case untilNobodyReads
}
