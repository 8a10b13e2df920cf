import Foundation
import SecretMemory
import UnixSocket

/// The end of a log that is in order: what the next record needs, and what earlier ones are checked against.
struct ChainTail: ~Copyable, Sendable {
    var file: LogFile
    let header: LogHeader
    private(set) var key: SealKey
    private(set) var head: [UInt8]
    private(set) var count: UInt64
    private(set) var epoch: UInt32
    var index: LogIndex
    /// Number of records of which it is certain that they are on disk.
    var syncedCount: UInt64
    /// Number of records and epoch at the last anchor.
    var anchored: (count: UInt64, epoch: UInt32)
    var isSyncScheduled = false
    /// The kernel once failed to bring records to disk; it may say otherwise on the next call and be wrong.
    var hasLostSync = false

    /// The file's length at which this part is closed, after an attempt that failed.
    var nextCutPosition = 0
    var isCutScheduled = false

    init(
        file: consuming LogFile, header: LogHeader, key: consuming SealKey, end: Checkpoint, epoch: UInt32,
        index: LogIndex,
        anchored: (count: UInt64, epoch: UInt32)
    ) {
        self.file = file
        self.header = header
        self.key = key
        head = end.head
        count = end.index
        self.epoch = epoch
        self.index = index
        self.anchored = anchored
        syncedCount = 0
    }

    /// Seals and writes one record. If it cannot be written, key, head and count stay as they are.
    mutating func append(_ record: inout RecordBuffer) throws(AuditLogError) {
        if hasLostSync { throw .notDurable }
        record.seal(with: key, after: head)
        try file.append(record)
        key.markUsed()
        record.copyHead(to: &head)
        count += 1
        index.add(count, Checkpoint(index: count, position: file.end, head: head))
    }

    /// Takes the next key from another epoch.
    mutating func begin(epoch number: UInt32, seed: borrowing SecretBytes) {
        key = SealKey(epochSeed: seed)
        epoch = number
    }

    /// The key of the next record, for a part that follows. The key of the records so far is destroyed.
    mutating func nextKey() -> SealKey {
        key.advanceIfUsed()
        return SealKey(key.copy())
    }

    /// What the anchor of this moment holds. The key of the records so far is destroyed.
    mutating func snapshot(storeGeneration: UInt64) -> Snapshot {
        key.advanceIfUsed()
        let place = Anchor.Place(position: UInt64(file.end), storeGeneration: storeGeneration)
        return Snapshot(
            file: file.source.descriptor, count: count, head: head, epoch: epoch, key: key.copy(), place: place)
    }

    struct Snapshot: ~Copyable, Sendable {
        let file: SharedDescriptor
        let count: UInt64
        let head: [UInt8]
        let epoch: UInt32
        let key: SecretBytes
        let place: Anchor.Place

        borrowing func anchor(sealedBy sealer: any LogKeySealer) throws -> Anchor {
            Anchor(count: count, head: Data(head), epoch: epoch, sealedKey: try sealer.seal(key), place: place)
        }
    }
}
