import Foundation
import GRDB
import Synchronization

/// The daemon's store: users, key pairs, passcode records, attempt counters, objects, keychain items, and the anchors of the
/// audit log.
///
/// Every row is authenticated and listed, and one authenticated root stands for all lists. So a changed, moved, replayed,
/// planted or removed row is noticed before its content is used, whatever other rows or lists come with it. A committed
/// transaction is on disk; an interrupted one never happened. Putting back an old copy of the *whole* store cannot be
/// noticed here: see ``storeGeneration``.
///
/// All calls block, for a commit about as long as a disk flush. They must not be nested in one another. The process's
/// umask must be 077 before a vault is opened, for SQLite's side files.
///
/// Format: `Documentation/formats/vault.md`.
public final class Vault: Sendable {
    private let file: VaultFile
    let transactions: TransactionQueue
    /// Why old bytes could not be erased when that was asked for; nil when they are.
    private let owed = Mutex<OwedErasure?>(nil)
    /// Held by a removal that looks for space on a full disk.
    private let fullDisk = NSLock()
    /// How often it was asked to erase old bytes.
    private let erasureCount = Atomic<UInt64>(0)
    /// How many of these are done. Held while the journal is emptied.
    private let erased = Mutex<UInt64>(0)
    private let observer: (any WriteObserver)?

    /// The identity of this store.
    public var storeID: VaultID { transactions.storeID }

    /// How often the store changed, as committed last; it never goes down. Whoever keeps this number elsewhere notices when
    /// the whole store is put back to an old copy. Reading it does not block.
    public var storeGeneration: UInt64 { transactions.storeGeneration }

    /// Opens the store in `folder`.
    ///
    /// - Parameters:
    ///   - userID: The user whom folder and database must belong to, and as whom the process makes them.
    ///   - create: Whether to make the folder and the store if there is nothing. What is there but unusable is never
    ///     replaced.
    ///   - protector: The store's keys. A store of other keys is ``UnreadableReason/storeRecord``.
    ///   - observer: Told about each commit.
    ///   - newID: The identity of the store if it is made; nil for a random one.
    /// - Throws: ``VaultError``, or what `protector` throws.
    public init(
        folder: String, ownedBy userID: UInt32, create: Bool, protector: any RecordProtector,
        observer: (any WriteObserver)? = nil, newID: VaultID? = nil
    ) throws {
        let file = VaultFile(folder: folder, userID: userID)
        if try !file.exists() {
            guard create else { throw VaultError.missing }
            try VaultError.mapping { try Self.create(file, protector: protector, id: newID ?? VaultID()) }
        }
        let opened: Opened
        do { opened = try Self.open(file, protector: protector) } catch VaultError.diskFull {
            // A store that is only to be tidied up opens on a full disk too.
            guard try file.giveUpReserve() else { throw VaultError.diskFull }
            opened = try Self.open(file, protector: protector)
        }
        transactions = TransactionQueue(
            opened, space: try DatabaseFileSpace(file, in: opened.queue), protector: protector, observer: observer)
        self.file = file
        self.observer = observer
        try file.keepReserve()
    }

    /// Runs `body` on one consistent view of the store.
    ///
    /// - Throws: ``VaultError``, and whatever `body` or the protector throws.
    public func read<Result>(_ body: (VaultReader) throws -> Result) throws -> Result {
        try transactions.read(body)
    }

    /// As ``read(_:)``, for finding items, without the cost of a transaction: one item is one row, and the list in memory
    /// says whether it is the present one. So the root needs no look either.
    public func readItems<Result>(_ body: (VaultReader) throws -> Result) throws -> Result {
        try transactions.readRows(body)
    }

    /// Makes a change, all of it or nothing, and returns when it is on disk. If anything throws, nothing of it was changed.
    ///
    /// Changes that several threads make at the same time share a transaction and a disk flush. Each sees the changes before
    /// it. One that throws is undone alone; if the commit fails, all of them fail.
    ///
    /// - Parameters:
    ///   - label: What the change is for, as the ``WriteObserver`` is told.
    ///   - usingReserve: Whether this may use the space that is set aside when the disk is full: for removing, which
    ///     must work then.
    ///   - body: Makes the change. Runs again when the disk is full, up to four times.
    /// - Throws: ``VaultError``, and whatever `body` or the protector throws.
    public func write<Result>(
        _ label: String, usingReserve: Bool = false, _ body: (VaultWriter) throws -> Result
    ) throws -> Result {
        let result: Result
        do {
            result = try transactions.write(label, body)
        } catch VaultError.diskFull where usingReserve {
            result = try writeOnFullDisk(label, body)
        }
        observer?.didCommit(label)
        // A commit found room: perhaps there is enough for what could not be erased, too.
        if owed.withLock({ $0 }) == .untilThereIsRoom { compactIfPossible() }
        return result
    }

    /// Commits in the space that the journal has, which nobody else can take meanwhile; failing that, in the reserve's.
    private func writeOnFullDisk<Result>(_ label: String, _ body: (VaultWriter) throws -> Result) throws -> Result {
        // One after the other: the journal has the space of the removal before, once that one is committed.
        fullDisk.lock()
        defer { fullDisk.unlock() }
        do {
            // When all of the journal is in the database file, the next commit begins the journal at its start.
            try transactions.withDatabase { _ = try $0.checkpoint(.passive) }
            return try transactions.write(label, alone: true, body)
        } catch VaultError.diskFull {
            guard try file.giveUpReserve() else { throw VaultError.diskFull }
            do { return try transactions.write(label, alone: true, body) } catch {
                // The journal has taken the space; the next removal and the next start need it as the reserve.
                compactIfPossible()
                throw error
            }
        }
    }

    /// Leaves no trace of removed or replaced wraps in the database file or its journal. Call it after the transaction that
    /// replaced or removed secrets; until then, old bytes may lie in the journal.
    ///
    /// What the disk itself keeps (flash translation, snapshots, backups) is beyond its reach. Threads that call it at the
    /// same time share one erasure.
    ///
    /// - Throws: ``VaultError/busy`` if another process reads the database: call it again later, see ``isErasureOwed``.
    ///   ``VaultError/diskFull``: the next commit for which there is room calls it again.
    public func compactAfterSecretsChanged() throws {
        let number = erasureCount.add(1, ordering: .acquiringAndReleasing).newValue
        try erased.withLock { erased in
            guard erased < number else { return }
            // The transactions of all who have asked by now are committed.
            let latest = erasureCount.load(ordering: .acquiring)
            try eraseOldBytes()
            erased = latest
        }
    }

    /// Whether an erasure failed that none has followed since.
    public var isErasureOwed: Bool { owed.withLock { $0 != nil } }

    private func eraseOldBytes() throws {
        // Already now, so that what a removal left of the reserve is not taken where moving the journal needs space.
        do { try file.keepReserve() } catch {
            // It is tried again below; without a reserve the journal is to be emptied all the same.
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
            // What was committed stands and what was refused is refused, whatever this does; an erasure stays owed.
        }
    }

    /// Closes the database. The vault cannot be used afterwards.
    public func close() throws {
        try transactions.close()
    }
}

/// What an erasure of old bytes waits for.
private enum OwedErasure {
    /// The next commit for which there is room brings it.
    case untilThereIsRoom
    /// Another process reads the database. A try waits for it, so it is not made with each commit.
    case untilNobodyReads
}
