import Foundation
import SecretMemory

/// What lies in a log's folder, compared with the anchor and the store.
enum LogOpening: ~Copyable {
    /// In order; `lostBytes` of a record that a crash interrupted were cut off.
    case live(ChainTail, lostBytes: Int)
    /// Damaged, or of a store that is newer than the present one.
    case refused(LogState, KeptFile?)

    /// How much of the log is read.
    enum Extent {
        /// What lies behind the anchor. The anchored records are known by their head alone.
        case tail
        /// All of it.
        case whole
    }

    /// Looks at the log. Records behind the anchor are checked with their keys, those before it against its head.
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

    /// Before the first anchor there is at most an unfinished first log.
    private static func withoutAnchor(_ folder: LogFolder) throws(AuditLogError) -> LogOpening {
        guard let file = try LogFile(opening: folder.log, ownedBy: folder.userID) else {
            try folder.removeReplacement()
            throw .missing
        }
        return .refused(.damaged(Damage(firstMisfit: 0, kind: .notAnchored)), KeptFile(file))
    }

    /// Finishes a replacement that was anchored, and drops one that was not.
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

    /// Whether the log is this one already: a copy of its beginning must not displace it.
    private static func isInPlace(_ header: LogHeader, in folder: LogFolder) throws(AuditLogError) -> Bool {
        guard let file = try LogFile(opening: folder.log, ownedBy: folder.userID) else { return false }
        return try LogHeader(of: file.source) == header
    }
}

/// The file of a log that was refused: evidence, never written to.
struct KeptFile: Sendable {
    let source: LogSource
    let byteCount: Int
    /// Nil if it does not begin as a part does.
    let header: LogHeader?
    /// Nil if nothing of it can be read as records.
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
    /// The record before the end says that another epoch begins, but no anchor came to hold its key.
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

    /// Where the anchored records end, if the anchor says it and their head lies there. A log in which it does not is read
    /// from its beginning, so that the first record that does not fit can be named.
    private static func anchoredPlace(
        _ anchor: Anchor, in file: borrowing LogFile, _ header: LogHeader
    ) throws(AuditLogError) -> Checkpoint? {
        guard let place = anchor.place, let position = Int(exactly: place.position),
            position >= header.bytes.count + LogFormat.recordOverhead, position <= file.end
        else { return nil }
        let size = LogFormat.digestByteCount
        let head = try file.source.read(at: position - size, count: size)
        guard head.elementsEqual(anchor.head) else { return nil }
        return Checkpoint(index: anchor.count, position: position, head: head)
    }

    /// Walks to the end, or to what fits neither log nor store; nil if there is no such thing.
    mutating func run() throws(AuditLogError) -> LogState? {
        let lastAnchored = max(anchor.count, 1) - 1
        if let store = OlderStore(
            recordIndex: lastAnchored, recordGeneration: anchor.place?.storeGeneration, storeGeneration: storeGeneration
        ) {
            return .olderStore(store)
        }
        // A part is anchored when it begins: an anchor of a part before it is an older one, or the part is a forgery.
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

    /// Nothing in reach can check the record's seal. It is refused in any case, and called what it says.
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
            // An epoch takes no record before its anchor is in the store. Here it is not: the store is an older one, or the
            // record a forgery, and nothing in reach can check its seal. Refused in both cases, and called what it says.
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

    /// The tail to go on from, after an intact ``run()``: at the end of the last whole record.
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
