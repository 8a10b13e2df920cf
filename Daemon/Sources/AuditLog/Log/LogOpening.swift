import Foundation
import SecretMemory
import UnixSocket

/// What lies in a log's folder, compared with the anchor.
enum LogOpening: ~Copyable {
    /// In order; `lostBytes` of a record that a crash interrupted were cut off.
    case live(ChainTail, lostBytes: Int)
    case damaged(Damage, DamagedFile?)

    /// Looks at the log. Records behind the anchor are checked with their keys, those before it against its head.
    static func open(
        _ folder: LogFolder, anchor: Anchor?, sealer: any LogKeySealer
    ) throws -> LogOpening {
        guard let anchor else { return try withoutAnchor(folder) }
        try settleReplacement(in: folder, anchor: anchor)
        guard let file = try LogFile(opening: folder.log) else {
            return .damaged(Damage(firstMisfit: 0, kind: .cut), nil)
        }
        let header = try LogScanner.header(of: file.descriptor)
        try LogFormat.refuseNewer(header: header)
        guard header.count == LogFormat.headerByteCount else {
            return .damaged(Damage(firstMisfit: 0, kind: .altered), DamagedFile(file))
        }
        var inspection = LogInspection(
            file: file.descriptor, header: header, limit: file.end, anchor: anchor,
            key: SealKey(try unsealedKey(anchor, sealer: sealer)))
        if let damage = try inspection.run() {
            return .damaged(damage, DamagedFile(file, checkpoints: inspection.checkpoints))
        }
        return try inspection.resume(file)
    }

    private static func unsealedKey(_ anchor: Anchor, sealer: any LogKeySealer) throws -> SecretBytes {
        guard anchor.head.count == LogFormat.digestByteCount else { throw AuditLogError.anchorUnreadable }
        let key = try sealer.unseal(anchor.sealedKey)
        guard key.count == LogFormat.digestByteCount else { throw AuditLogError.anchorUnreadable }
        return key
    }

    /// Before the first anchor there is at most an unfinished first log.
    private static func withoutAnchor(_ folder: LogFolder) throws(AuditLogError) -> LogOpening {
        guard let file = try LogFile(opening: folder.log) else {
            try folder.removeReplacement()
            throw .missing
        }
        return .damaged(Damage(firstMisfit: 0, kind: .notAnchored), DamagedFile(file))
    }

    /// Finishes a replacement that was anchored, and drops one that was not.
    private static func settleReplacement(in folder: LogFolder, anchor: Anchor) throws(AuditLogError) {
        guard let file = try LogFile(opening: folder.replacement) else { return }
        var walk = ChainWalk(
            file.descriptor, header: try LogScanner.header(of: file.descriptor), limit: file.end)
        while case .record = try walk.next() {}
        if walk.index == anchor.count && walk.head.elementsEqual(anchor.head) {
            try folder.installReplacement()
        } else {
            try folder.removeReplacement()
        }
    }
}

/// The file of a damaged log: evidence, never written to.
struct DamagedFile: Sendable {
    let descriptor: SharedDescriptor
    let byteCount: Int
    let checkpoints: [Checkpoint]

    init(_ file: borrowing LogFile, checkpoints: [Checkpoint] = []) {
        descriptor = file.descriptor
        byteCount = file.end
        self.checkpoints = checkpoints
    }
}

/// One walk over a log, from its header over the anchored record to its end.
private struct LogInspection: ~Copyable {
    private var walk: ChainWalk
    private let anchor: Anchor
    private var key: SealKey
    private(set) var checkpoints: [Checkpoint]
    /// The record before the end says that another epoch begins, but no anchor came to hold its key.
    private var unfinishedEpoch: Checkpoint?

    init(file: SharedDescriptor, header: [UInt8], limit: Int, anchor: Anchor, key: consuming SealKey) {
        walk = ChainWalk(file, header: header, limit: limit)
        self.anchor = anchor
        self.key = key
        checkpoints = [Checkpoint(index: 0, position: LogFormat.headerByteCount, head: walk.head)]
    }

    /// Walks to the end, or to what does not fit.
    mutating func run() throws(AuditLogError) -> Damage? {
        while true {
            if walk.index == anchor.count && !walk.head.elementsEqual(anchor.head) {
                return Damage(firstMisfit: max(anchor.count, 1) - 1, isExact: false, kind: .altered)
            }
            switch try walk.next() {
            case .misfit:
                return Damage(firstMisfit: walk.index, kind: .altered)
            case .end, .torn:
                return walk.index < anchor.count ? Damage(firstMisfit: walk.index, kind: .cut) : nil
            case .record(let record, let previousHead):
                if let damage = check(record, previousHead: previousHead) { return damage }
            }
        }
    }

    private mutating func check(_ record: RawRecord, previousHead: [UInt8]) -> Damage? {
        if record.index >= anchor.count {
            guard unfinishedEpoch == nil, key.accepts(record.code, head: previousHead, payload: record.payload) else {
                return Damage(firstMisfit: record.index, kind: .altered)
            }
            if LogRecord.Content.startsEpoch(payload: record.payload) {
                let position = record.end - record.payload.count - LogFormat.recordOverhead
                unfinishedEpoch = Checkpoint(index: record.index, position: position, head: previousHead)
            } else {
                key.advance()
            }
        }
        if walk.index % Checkpoint.interval == 0 {
            checkpoints.append(Checkpoint(index: walk.index, position: walk.position, head: walk.head))
        }
        return nil
    }

    /// The tail to go on from, after an intact ``run()``: at the end of the last whole record.
    consuming func resume(_ file: consuming LogFile) throws(AuditLogError) -> LogOpening {
        let last = unfinishedEpoch ?? Checkpoint(index: walk.index, position: walk.position, head: walk.head)
        let lostBytes = file.end - last.position
        if lostBytes > 0 { try file.truncate(to: last.position) }
        let kept = checkpoints.filter { $0.index <= last.index }
        let tail = ChainTail(
            file: file, key: key, head: last.head, count: last.index, epoch: anchor.epoch, checkpoints: kept,
            anchored: (anchor.count, anchor.epoch))
        return .live(tail, lostBytes: lostBytes)
    }
}
