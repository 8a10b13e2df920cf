import Foundation
import SecretMemory
import UnixSocket

/// The end of a log that is in order: what the next record needs, and what earlier ones are checked against.
struct ChainTail: ~Copyable, Sendable {
    var file: LogFile
    private(set) var key: SealKey
    private(set) var head: [UInt8]
    private(set) var count: UInt64
    private(set) var epoch: UInt32
    private(set) var checkpoints: [Checkpoint]
    /// Number of records of which it is certain that they are on disk.
    var syncedCount: UInt64
    /// Number of records and epoch at the last anchor.
    var anchored: (count: UInt64, epoch: UInt32)
    var isSyncScheduled = false
    /// The kernel once failed to bring records to disk; it may say otherwise on the next call and be wrong.
    var hasLostSync = false

    init(
        file: consuming LogFile, key: consuming SealKey, head: [UInt8], count: UInt64, epoch: UInt32,
        checkpoints: [Checkpoint], anchored: (count: UInt64, epoch: UInt32)
    ) {
        self.file = file
        self.key = key
        self.head = head
        self.count = count
        self.epoch = epoch
        self.checkpoints = checkpoints
        self.anchored = anchored
        syncedCount = 0
    }

    /// Seals and writes one record. If it cannot be written, key, head and count stay as they are.
    mutating func append(payload: [UInt8]) throws(AuditLogError) {
        if hasLostSync { throw .notDurable }
        let current = key.forOneRecord()
        let code = current.code(head: head, payload: payload)
        let next = HashChain.head(after: head, payload: payload, code: code)
        try file.append(RawRecord.bytes(payload: payload, code: code, head: next))
        key.advance(from: current)
        head = next
        count += 1
        if count % Checkpoint.interval == 0 {
            checkpoints.append(Checkpoint(index: count, position: file.end, head: head))
        }
    }

    /// Takes the next key from another epoch.
    mutating func begin(epoch number: UInt32, seed: borrowing SecretBytes) {
        key = SealKey(epochSeed: seed)
        epoch = number
    }

    /// What the anchor of this moment holds.
    borrowing func snapshot() -> Snapshot {
        Snapshot(file: file.descriptor, count: count, head: head, epoch: epoch, key: key.copy())
    }

    struct Snapshot: ~Copyable, Sendable {
        let file: SharedDescriptor
        let count: UInt64
        let head: [UInt8]
        let epoch: UInt32
        let key: SecretBytes

        borrowing func anchor(sealedBy sealer: any LogKeySealer) throws -> Anchor {
            Anchor(count: count, head: Data(head), epoch: epoch, sealedKey: try sealer.seal(key))
        }
    }
}
