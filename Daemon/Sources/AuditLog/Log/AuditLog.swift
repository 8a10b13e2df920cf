import Foundation
public import SecretMemory
import Synchronization
import Threading
import UnixSocket

/// The daemon's append-only record of what it granted and refused.
///
/// Records are chained by hashes and sealed with keys that are destroyed as the log grows. So an attacker who takes
/// over the daemon cannot change earlier records unnoticed, nor cut off those before the last anchor. Records since the
/// last anchor are weaker: somebody who controls the disk can cut them off, and somebody who can open the anchor can
/// forge them.
///
/// **When a log is damaged** (``state``), it is kept as evidence. ``append(_:durability:)`` throws, so no answer that
/// needs a record may be given. Locking, deauthorizing and removing need none and go on. ``page(from:limit:for:)`` and
/// ``verify(for:seeds:)`` still work. An entitled caller calls ``beginAnew(epoch:seed:time:)``, which keeps the old file
/// under another name and notes that in the new log's first record. All this also holds when the store is older than
/// the log: each record says how many changes the store had seen.
///
/// Opening reads only the records behind the anchor, so it does not take longer for a longer log. ``verify(for:seeds:)``
/// finds a changed record before the anchor, and so does opening with `readingAll`.
///
/// The log consists of several files. When the open one, `audit.log`, has reached its size, it is closed as
/// `audit.log.N` and the next part begins. A closed part can be moved elsewhere; ``verify(for:seeds:)`` names the missing
/// ones.
///
/// Calls block: appending for a `write`, and for a disk flush if it is to be durable.
///
/// Format: `Documentation/formats/audit-log.md`.
public final class AuditLog: Sendable {
    /// When a record must be on disk.
    public enum Durability: Sendable {
        /// Before the call returns: for an authorization.
        case beforeUse
        /// Within a second: for a use under an authorization that is on disk.
        case soon
    }

    let folder: LogFolder
    let anchors: any AnchorStore
    let sealer: any LogKeySealer
    let contents: Mutex<Contents>
    /// Locked while an anchor is made, so that an older one never replaces a newer one. Taken before ``contents``.
    let anchoring = Mutex(())
    /// The closed part that was read last.
    let recentPart = Mutex<ClosedPartReader?>(nil)
    /// The size at which a part is closed, in bytes.
    private let partByteCount: Int
    let syncThread = WorkThread(name: "ostiary-log")
    private let syncDelay: Duration

    init(
        folder: LogFolder, anchors: any AnchorStore, sealer: any LogKeySealer, syncDelay: Duration,
        partByteCount: Int, contents: consuming sending Contents
    ) {
        self.folder = folder
        self.anchors = anchors
        self.sealer = sealer
        self.syncDelay = syncDelay
        self.partByteCount = partByteCount
        self.contents = Mutex(contents)
    }

    // MARK: Opening

    /// Opens the log in `folder`; see ``state`` for the result.
    ///
    /// - Parameters:
    ///   - userID: the user who must own the file.
    ///   - readingAll: whether to read the records before the anchor too. It names the first misfit before the log is
    ///     replaced.
    ///   - partByteCount: the size at which a part of the log is closed and the next one begins.
    /// - Throws: ``AuditLogError/missing`` if there never was a log, ``AuditLogError/tooNew(found:supported:)``,
    ///   ``AuditLogError/anchorUnreadable``, ``AuditLogError/io(code:)``, and errors of `anchors` and `sealer`.
    public convenience init(
        folder path: String, ownedBy userID: UInt32, anchors: any AnchorStore, sealer: any LogKeySealer,
        readingAll: Bool = false, partByteCount: Int = AuditLog.partByteCount
    ) throws {
        let folder = LogFolder(path: path, userID: userID)
        let contents: Contents
        switch try LogOpening.open(folder, anchors: anchors, sealer: sealer, reading: readingAll ? .whole : .tail) {
        case .live(let tail, let lostBytes):
            contents = Contents(state: lostBytes > 0 ? .recovered(lostBytes: lostBytes) : .intact, tail: tail)
        case .refused(let state, let file):
            contents = Contents(refused: state, file: file)
        }
        self.init(
            folder: folder, anchors: anchors, sealer: sealer, syncDelay: .milliseconds(500),
            partByteCount: partByteCount, contents: contents)
    }

    /// Room for some 100,000 records, whose verification takes about a second.
    public static let partByteCount = 16 * 1024 * 1024

    /// Makes the first log of a store, in an existing folder. Its first record names its first epoch.
    ///
    /// - Parameters:
    ///   - epoch: Number of the first epoch.
    ///   - seed: Its seed, which the caller has wrapped and stored before.
    ///   - time: Milliseconds since 1970.
    /// - Throws: ``AuditLogError/exists`` if there is a log or an anchor of one.
    public static func create(
        folder path: String, ownedBy userID: UInt32, anchors: any AnchorStore, sealer: any LogKeySealer,
        epoch: UInt32, seed: borrowing SecretBytes, time: UInt64, partByteCount: Int = AuditLog.partByteCount
    ) throws -> AuditLog {
        let folder = LogFolder(path: path, userID: userID)
        guard try anchors.load() == nil, try LogFile(opening: folder.log, ownedBy: userID) == nil
        else { throw AuditLogError.exists }
        let tail = try NewLog(folder: folder, anchors: anchors, sealer: sealer)
            .make(first: .epochStart(number: epoch, time: time), epoch: epoch, seed: seed)
        return AuditLog(
            folder: folder, anchors: anchors, sealer: sealer, syncDelay: .milliseconds(500),
            partByteCount: partByteCount, contents: Contents(state: .intact, tail: tail))
    }

    /// The state that opening found, or `intact` after ``beginAnew(epoch:seed:time:)``.
    public var state: LogState { contents.withLock { $0.state } }

    /// Number of all records. For a refused log, the number of those that may fit.
    public var recordCount: UInt64 { contents.withLock { LogView(&$0).count } }

    /// The current epoch; nil while the log takes no records.
    public var epoch: UInt32? { contents.withLock { $0.withTail { $0.epoch } } }

    // MARK: Writing

    /// Appends one record, in one `write`.
    ///
    /// - Throws: ``AuditLogError``; anything that needs the record must not happen then. After
    ///   ``AuditLogError/diskFull`` and ``AuditLogError/io(code:)`` the log is unchanged, and a later append may
    ///   succeed.
    public func append(_ entry: AuditEntry, durability: Durability) throws(AuditLogError) {
        // Prepare all but the chain before taking the lock. The store's number must not count the change that this
        // record announces, and must count every change that the caller saw.
        let payload = LogPayload(.entry(entry), storeGeneration: anchors.storeGeneration)
        let written = try RecordBuffer.with(payload) { (record) throws(AuditLogError) in
            try contents.withLock { (contents) throws(AuditLogError) in
                try contents.withTail { (tail) throws(AuditLogError) in
                    try tail.append(&record, durability: durability, partByteCount: partByteCount)
                }
            }
        }
        guard let written else { throw .damaged }
        if written.isCutDue { scheduleCut(time: entry.time) }
        switch durability {
        case .beforeUse: try sync(written.file, upTo: written.count)
        case .soon: if written.needsSchedule { scheduleSync() }
        }
    }

    /// Saves the log's present state outside the log. Call it at each authorization and before the daemon ends.
    ///
    /// - Throws: ``AuditLogError``, and errors of the anchor store and the sealer.
    public func anchor() throws {
        try anchoring.withLock { _ in
            guard let snapshot = try unanchored() else { return }
            try sync(snapshot.file, upTo: snapshot.count)
            let (count, epoch) = (snapshot.count, snapshot.epoch)
            try anchors.save(snapshot.anchor(sealedBy: sealer))
            contents.withLock { contents in
                _ = contents.withTail { $0.anchored = (count, epoch) }
            }
        }
    }

    /// Begins a new epoch. A record under the old key announces it, the next record's key comes from `seed`, and the
    /// anchor moves there. The caller wraps and stores the seed first. After a crash in between, the epoch has not
    /// begun.
    ///
    /// - Parameters:
    ///   - number: Larger than the current epoch's.
    ///   - time: Milliseconds since 1970.
    /// - Returns: Index of the epoch's first record.
    @discardableResult
    public func startEpoch(_ number: UInt32, seed: borrowing SecretBytes, time: UInt64) throws -> UInt64 {
        try anchoring.withLock { _ in
            let first = try contents.withLock { contents in
                try contents.withTail { try beginEpoch(number, seed: seed, time: time, in: &$0) }
            }
            guard let first else { throw AuditLogError.damaged }
            return first
        }
    }

    private func beginEpoch(
        _ number: UInt32, seed: borrowing SecretBytes, time: UInt64, in tail: inout ChainTail
    ) throws -> UInt64 {
        guard number > tail.epoch else { throw AuditLogError.epochOutOfOrder }
        let storeGeneration = anchors.storeGeneration
        try tail.append(.epochStart(number: number, time: time), storeGeneration: storeGeneration)
        tail.begin(epoch: number, seed: seed)
        // No record may use a key that no anchor holds. After a failure here, the log takes no records until it is
        // opened again.
        tail.hasLostSync = true
        try LogFile.sync(tail.file.source.descriptor)
        let snapshot = tail.snapshot(storeGeneration: storeGeneration)
        try anchors.save(snapshot.anchor(sealedBy: sealer))
        tail.anchored = (tail.count, number)
        tail.syncedCount = tail.count
        tail.hasLostSync = false
        return tail.count
    }

    /// Replaces a refused log by a new one. The old file stays in the folder as `audit.log.damaged.N`.
    ///
    /// - Parameters:
    ///   - epoch: Larger than any epoch before.
    ///   - seed: The new epoch's seed, which the caller has wrapped and stored before.
    ///   - time: Milliseconds since 1970.
    /// - Throws: ``AuditLogError/exists`` if the log is in order.
    public func beginAnew(epoch: UInt32, seed: borrowing SecretBytes, time: UInt64) throws {
        try anchoring.withLock { _ in
            try contents.withLock { contents in
                guard let firstMisfit = contents.state.firstMisfit else { throw AuditLogError.exists }
                let former = try anchors.load()
                guard epoch > former?.epoch ?? 0 else { throw AuditLogError.epochOutOfOrder }
                let first = LogRecord.Content.beganAnew(
                    epoch: epoch, time: time, formerCount: former?.count ?? 0, firstMisfit: firstMisfit)
                let tail = try NewLog(folder: folder, anchors: anchors, sealer: sealer)
                    .make(first: first, epoch: epoch, seed: seed)
                contents = Contents(state: .intact, tail: tail)
            }
        }
    }

    /// Brings all records to disk and moves the anchor to the end. Call it before the daemon ends.
    public func close() throws {
        try anchor()
    }

    // MARK: Durability

    private func unanchored() throws(AuditLogError) -> ChainTail.Snapshot? {
        let storeGeneration = anchors.storeGeneration
        return try contents.withLock { (contents) throws(AuditLogError) in
            guard contents.state.firstMisfit == nil else { throw .damaged }
            switch try contents.withTail({ (tail) throws(AuditLogError) in
                try tail.unanchored(storeGeneration: storeGeneration)
            }) {
            case .some(let snapshot): return snapshot
            case .none: return nil
            }
        }
    }

    private func sync(_ file: SharedDescriptor, upTo count: UInt64) throws(AuditLogError) {
        do {
            try LogFile.sync(file)
        } catch {
            contents.withLock { contents in _ = contents.withTail { $0.hasLostSync = true } }
            throw error
        }
        contents.withLock { contents in
            _ = contents.withTail { $0.syncedCount = max($0.syncedCount, count) }
        }
    }

    private func scheduleSync() {
        syncThread.run(after: syncDelay) { [weak self] in self?.syncScheduled() }
    }

    private func syncScheduled() {
        let written = contents.withLock { contents in contents.withTail { $0.takeScheduledSync() } ?? nil }
        guard let written else { return }
        // The failure is remembered, and the next append throws it.
        do { try sync(written.file, upTo: written.count) } catch {}
    }
}
