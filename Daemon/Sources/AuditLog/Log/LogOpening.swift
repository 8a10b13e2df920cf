import Foundation
import SecretMemory

/// The result of comparing a log with its anchor and the store.
enum LogOpening: ~Copyable {
    /// In order. `lostBytes` of a record were cut off, because a crash had interrupted its writing.
    case live(ChainTail, lostBytes: Int)
    /// Damaged, or newer than the present store.
    case refused(LogState, KeptFile?)

    /// How much of the log to read.
    enum Extent {
        /// The records behind the anchor. The head alone vouches for the anchored records.
        case tail
        /// All records.
        case whole
    }

    /// Examines the log. Records behind the anchor are checked with their keys, earlier ones against the anchor's head.
    static func open(
        _ folder: LogFolder, anchors: any AnchorStore, sealer: any LogKeySealer, reading extent: Extent
    ) throws -> LogOpening {
        guard let anchor = try anchors.load() else { return try withoutAnchor(folder) }
        try settleReplacement(in: folder, anchor: anchor)
        guard let file = try LogFile(opening: folder.log, ownedBy: folder.userID) else {
            return .refused(.damaged(Damage(firstMisfit: 0, kind: .cut)), nil)
        }
        guard let header = try LogHeader(of: file.source) else {
            return .refused(.damaged(Damage(firstMisfit: 0, kind: .altered)), KeptFile(file))
        }
        let key = SealKey(try unsealedKey(anchor, sealer: sealer))
        var inspection = try LogInspection(
            file, header: header, anchor: anchor, storeGeneration: anchors.storeGeneration, key: key, reading: extent)
        if let state = try inspection.run() {
            return .refused(state, KeptFile(file, header, index: inspection.index))
        }
        return try inspection.resume(file)
    }

    private static func unsealedKey(_ anchor: Anchor, sealer: any LogKeySealer) throws -> SecretBytes {
        guard anchor.head.count == LogFormat.digestByteCount else { throw AuditLogError.anchorUnreadable }
        let key = try sealer.unseal(anchor.sealedKey)
        guard key.count == LogFormat.digestByteCount else { throw AuditLogError.anchorUnreadable }
        return key
    }

    /// Before the first anchor there can only be an unfinished first log.
    private static func withoutAnchor(_ folder: LogFolder) throws(AuditLogError) -> LogOpening {
        guard let file = try LogFile(opening: folder.log, ownedBy: folder.userID) else {
            try folder.removeReplacement()
            throw .missing
        }
        return .refused(.damaged(Damage(firstMisfit: 0, kind: .notAnchored)), KeptFile(file))
    }

    /// Finishes a replacement that the anchor names, and removes any other.
    private static func settleReplacement(in folder: LogFolder, anchor: Anchor) throws(AuditLogError) {
        guard let file = try LogFile(opening: folder.replacement, ownedBy: folder.userID) else { return }
        guard let header = try LogHeader(of: file.source), try isAnchored(file, header, anchor),
            try !isInPlace(header, in: folder)
        else { return try folder.removeReplacement() }
        if header.number > 1 { try folder.closePart(header.number - 1) } else { try folder.installReplacement() }
    }

    private static func isAnchored(
        _ file: borrowing LogFile, _ header: LogHeader, _ anchor: Anchor
    ) throws(AuditLogError) -> Bool {
        var walk = ChainWalk(file.source, from: header.start, limit: file.end)
        while case .record = try walk.next() {}
        return walk.index == anchor.count && walk.head.elementsEqual(anchor.head)
    }

    /// Whether the log has this header already. A copy of its beginning must not displace it.
    private static func isInPlace(_ header: LogHeader, in folder: LogFolder) throws(AuditLogError) -> Bool {
        guard let file = try LogFile(opening: folder.log, ownedBy: folder.userID) else { return false }
        return try LogHeader(of: file.source) == header
    }
}

/// The file of a refused log. It is evidence and is never written.
struct KeptFile: Sendable {
    let source: LogSource
    let byteCount: Int
    /// Nil if the file does not begin with a header.
    let header: LogHeader?
    /// Nil if no records of it can be read.
    var index: LogIndex?

    init(_ file: borrowing LogFile, _ header: LogHeader? = nil, index: LogIndex? = nil) {
        source = file.source
        self.header = header
        byteCount = file.end
        self.index = index
    }
}

/// One walk over a log, from its header or its anchor to its end.
private struct LogInspection: ~Copyable {
    private var walk: ChainWalk
    private let header: LogHeader
    private let anchor: Anchor
    private let storeGeneration: UInt64
    private var key: SealKey
    private(set) var index: LogIndex
    /// Where a last record announces a new epoch whose anchor was never saved; nil if there is no such record.
    private var unfinishedEpoch: Checkpoint?

    init(
        _ file: borrowing LogFile, header: LogHeader, anchor: Anchor, storeGeneration: UInt64, key: consuming SealKey,
        reading extent: LogOpening.Extent
    ) throws(AuditLogError) {
        if extent == .tail, let place = try Self.anchoredPlace(anchor, in: file, header) {
            walk = ChainWalk(file.source, from: place, limit: file.end)
        } else {
            walk = ChainWalk(file.source, from: header.start, limit: file.end)
        }
        self.header = header
        index = LogIndex(base: walk.place)
        self.anchor = anchor
        self.storeGeneration = storeGeneration
        self.key = key
    }

    /// The end of the anchored records, if its head lies where the anchor says. Otherwise the log is read from
    /// its beginning, so that the first misfit can be named.
    private static func anchoredPlace(
        _ anchor: Anchor, in file: borrowing LogFile, _ header: LogHeader
    ) throws(AuditLogError) -> Checkpoint? {
        guard let position = Int(exactly: anchor.place.position),
            position >= header.bytes.count + LogFormat.recordOverhead, position <= file.end
        else { return nil }
        let size = LogFormat.digestByteCount
        let head = try file.source.read(at: position - size, count: size)
        guard head.elementsEqual(anchor.head) else { return nil }
        return Checkpoint(index: anchor.count, position: position, head: head)
    }

    /// Walks to the end; nil if all records fit. Stops at the first record that does not fit the log or the store.
    mutating func run() throws(AuditLogError) -> LogState? {
        let lastAnchored = max(anchor.count, 1) - 1
        if let store = OlderStore(
            recordIndex: lastAnchored, recordGeneration: anchor.place.storeGeneration, storeGeneration: storeGeneration
        ) {
            return .olderStore(store)
        }
        // A new part is anchored when it begins. If the anchor is before this part, it is an old anchor, or the part is
        // a forgery.
        let isLaterPart = anchor.count <= header.start.index
        while true {
            if !isLaterPart && walk.index == anchor.count && !walk.head.elementsEqual(anchor.head) {
                return .damaged(Damage(firstMisfit: lastAnchored, isExact: false, kind: .altered))
            }
            switch try walk.next() {
            case .misfit:
                return .damaged(Damage(firstMisfit: walk.index, kind: .altered))
            case .end, .torn:
                return walk.index < anchor.count ? .damaged(Damage(firstMisfit: walk.index, kind: .cut)) : nil
            case .record(let record, let previousHead):
                if isLaterPart { return laterPart(record) }
                if record.index >= anchor.count, let state = check(record, previousHead: previousHead) { return state }
                index.add(walk.index, walk.place)
            }
        }
    }

    /// No key at hand can check the record's seal. The log is refused in any case; the record's own words decide the
    /// reason.
    private func laterPart(_ record: RawRecord) -> LogState {
        OlderStore(
            recordIndex: record.index, recordGeneration: PayloadStart(record.payload)?.storeGeneration,
            storeGeneration: storeGeneration
        ).map(LogState.olderStore) ?? .damaged(Damage(firstMisfit: record.index, kind: .altered))
    }

    /// Checks a record behind the anchor.
    private mutating func check(_ record: RawRecord, previousHead: [UInt8]) -> LogState? {
        let start = PayloadStart(record.payload)
        let olderStore = OlderStore(
            recordIndex: record.index, recordGeneration: start?.storeGeneration, storeGeneration: storeGeneration)
        if unfinishedEpoch != nil {
            // A new epoch takes no record before its anchor is saved. This anchor is missing, so the store is older or
            // the record is a forgery. No key at hand can check its seal. The log is refused in both cases; the
            // record's own words decide the reason.
            return olderStore.map(LogState.olderStore) ?? .damaged(Damage(firstMisfit: record.index, kind: .altered))
        }
        guard key.accepts(record, after: previousHead) else {
            return .damaged(Damage(firstMisfit: record.index, kind: .altered))
        }
        if let olderStore { return .olderStore(olderStore) }
        if start?.kind == .epochStart {
            let position = record.end - record.payload.count - LogFormat.recordOverhead
            unfinishedEpoch = Checkpoint(index: record.index, position: position, head: previousHead)
            if start?.keyUse == .first { key.forgetUse() }
        }
        return nil
    }

    /// The tail for further records, after an intact ``run()``: at the end of the last whole record.
    consuming func resume(_ file: consuming LogFile) throws(AuditLogError) -> LogOpening {
        let end = unfinishedEpoch ?? walk.place
        let lostBytes = file.end - end.position
        if lostBytes > 0 { try file.truncate(to: end.position) }
        index.removeAll(behind: end.index)
        let tail = ChainTail(
            file: file, header: header, key: key, end: end, epoch: anchor.epoch, index: index,
            anchored: (anchor.count, anchor.epoch))
        return .live(tail, lostBytes: lostBytes)
    }
}
