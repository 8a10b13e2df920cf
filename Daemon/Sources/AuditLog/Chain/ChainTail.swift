import Foundation
import SecretMemory
import UnixSocket

/// The end of a log that is in order: the state for sealing the next record and for checking earlier ones.
struct ChainTail: ~Copyable, Sendable {
    var file: LogFile
    let header: LogHeader
    private(set) var key: SealKey
    private(set) var head: [UInt8]
    private(set) var count: UInt64
    private(set) var epoch: UInt32
    var index: LogIndex
    /// Number of records that are certainly on disk.
    var syncedCount: UInt64
    /// Number of records and epoch at the last anchor.
    var anchored: (count: UInt64, epoch: UInt32)
    var isSyncScheduled = false
    /// The kernel once failed to write records to disk. If it reports success on the next call, that may be wrong.
    var hasLostSync = false

    /// The file's length at which closing this part is tried again, after a failed attempt.
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

    /// Takes the next key from a new epoch.
    mutating func begin(epoch number: UInt32, seed: borrowing SecretBytes) {
        key = SealKey(epochSeed: seed)
        epoch = number
    }

    /// The key of the next record, for the following part. Destroys the key of the records so far.
    mutating func nextKey() -> SealKey {
        key.advanceIfUsed()
        return SealKey(key.copy())
    }

    /// The content of an anchor for this moment. Destroys the key of the records so far.
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
