import Foundation
public import SecretMemory
import Synchronization

extension AuditLog {
    /// Checks all parts that are present: framing, hash chain, end and anchor, and the seals of all epochs whose seed
    /// is given. Also checks that no record names a change that the store has not seen. Records may be appended
    /// meanwhile; the check covers those that existed at its start.
    ///
    /// All of the log is checked for everybody, because a record's owner is only known from a log that fits. The verdict depends
    /// on the audience: to one owner it names no record of others.
    ///
    /// - Parameter seeds: The seed of an epoch, or nil if it is not at hand; called once for each epoch, in order.
    /// - Throws: ``AuditLogError/io(code:)``, and errors of `seeds` and the anchor store. Damage is a verdict, not an
    ///   error.
    public func verify(
        for audience: LogAudience, seeds: (UInt32) throws -> SecretBytes? = { _ in nil }
    ) throws -> AuditVerdict {
        // The order matters. The log may grow after its anchor was read, but is never shorter. The store may change
        // after the log was read, but never knows fewer changes than the records name.
        let anchor = try anchors.load()
        let view = contents.withLock { LogView(&$0) }
        var check = Verification(
            folder: folder, anchor: anchor, view: view, storeGeneration: anchors.storeGeneration, audience: audience)
        return try check.verdict(seeds: seeds)
    }
}

/// One walk over all parts.
private struct Verification: ~Copyable {
    private let folder: LogFolder
    private let anchor: Anchor?
    private let view: LogView
    private let storeGeneration: UInt64
    private let audience: LogAudience
    /// How many of the records so far fit and are seen by the audience.
    private var seenCount: UInt64 = 0
    /// Key of the next record, if its epoch's seed is at hand.
    private var key: SealKey?
    private var sealsChecked = true
    private var missing: [MissingPart] = []

    init(folder: LogFolder, anchor: Anchor?, view: LogView, storeGeneration: UInt64, audience: LogAudience) {
        self.folder = folder
        self.anchor = anchor
        self.view = view
        self.storeGeneration = storeGeneration
        self.audience = audience
        key = nil
    }

    mutating func verdict(seeds: (UInt32) throws -> SecretBytes?) throws -> AuditVerdict {
        let verdict = try run(seeds: seeds)
        return audience.seesNumbers ? verdict : verdict.ofOwnRecords(seenCount)
    }

    private mutating func run(seeds: (UInt32) throws -> SecretBytes?) throws -> AuditVerdict {
        guard let source = view.source else { return misfit(0, "The log's file is missing.") }
        guard let header = try Self.header(of: source) else { return misfit(0, "The file's header is missing.") }
        // Trust the header's list of closed parts only after the anchored head was found to follow from it.
        if header.number > 1, let verdict = try checkChain(of: header, in: source) { return verdict }
        for number in header.closed.indices.map({ $0 + 1 }) {
            if let verdict = try checkClosed(number, of: header, seeds: seeds) { return verdict }
        }
        var walk = ChainWalk(source, from: header.start, limit: view.end)
        while true {
            if let verdict = notAnchored(walk, behind: header.start) { return verdict }
            switch try walk.next() {
            case .misfit: return misfit(walk.index, "The record does not fit the chain.")
            case .end, .torn: return conclusion(index: walk.index, head: walk.head)
            case .record(let record, let previousHead):
                if let verdict = try check(record, previousHead: previousHead, seeds: seeds) { return verdict }
            }
        }
    }

    /// Checks that the anchored head follows in the open part; nil if it does, or if the anchor is in an earlier part.
    private func checkChain(of header: LogHeader, in source: LogSource) throws(AuditLogError) -> AuditVerdict? {
        var walk = ChainWalk(source, from: header.start, limit: view.end)
        while true {
            if let verdict = notAnchored(walk, behind: header.start) { return verdict }
            switch try walk.next() {
            case .misfit: return misfit(walk.index, "The record does not fit the chain.")
            case .end, .torn: return nil
            case .record: continue
            }
        }
    }

    /// Compares with the anchor when the walk reaches it. The anchor may be in a closed part, if a part was closed
    /// meanwhile.
    private func notAnchored(_ walk: borrowing ChainWalk, behind start: Checkpoint) -> AuditVerdict? {
        guard let anchor, walk.index == anchor.count, walk.index > start.index,
            !walk.head.elementsEqual(anchor.head)
        else { return nil }
        return misfit(max(anchor.count, 1) - 1, "The log is not the one that was anchored.", isExact: false)
    }

    private static func header(of source: LogSource) throws(AuditLogError) -> LogHeader? {
        // Another version than the opened one is damage.
        do throws(AuditLogError) { return try LogHeader(of: source) } catch .tooNew { return nil }
    }

    /// Checks a closed part against the open part's header; nil if it fits or is missing.
    private mutating func checkClosed(
        _ number: Int, of header: LogHeader, seeds: (UInt32) throws -> SecretBytes?
    ) throws -> AuditVerdict? {
        let (records, end) = (header.records(ofPart: number), header.closed[number - 1])
        let found: LogFile?
        do throws(AuditLogError) {
            found = try LogFile(reading: folder.closed(number), ownedBy: folder.userID)
        } catch .damaged {
            return misfit(records.lowerBound, "Part \(number) is not a file of the log.")
        }
        switch consume found {
        case .none:
            missing.append(MissingPart(number: number, records: records))
            key = nil
            sealsChecked = false
            return nil
        case .some(let file):
            guard let own = try Self.header(of: file.source), own.precedes(header, asPart: number) else {
                return misfit(records.lowerBound, "Part \(number) is not the one that was closed.")
            }
            var walk = ChainWalk(file.source, from: own.start, limit: file.end)
            while walk.index < end.count {
                if let verdict = notAnchored(walk, behind: own.start) { return verdict }
                switch try walk.next() {
                case .misfit: return misfit(walk.index, "The record does not fit the chain.")
                case .end, .torn: return misfit(walk.index, "Records have been cut off from part \(number).")
                case .record(let record, let previousHead):
                    if let verdict = try check(record, previousHead: previousHead, seeds: seeds) { return verdict }
                }
            }
            if let verdict = notAnchored(walk, behind: own.start) { return verdict }
            guard walk.head == end.head else {
                return misfit(end.count - 1, "Part \(number) does not end as it was closed.", isExact: false)
            }
            guard walk.position == file.end else {
                return misfit(end.count - 1, "Something follows the last record of part \(number).")
            }
            return nil
        }
    }

    /// Checks a record that fits the chain: its seal, and that the store knows the change that it names.
    private mutating func check(
        _ record: RawRecord, previousHead: [UInt8], seeds: (UInt32) throws -> SecretBytes?
    ) throws -> AuditVerdict? {
        guard let payload = try? LogPayload(bytes: record.payload),
            try accept(record, payload.content, previousHead: previousHead, seeds: seeds)
        else { return misfit(record.index, "The record's seal does not fit.") }
        guard
            let store = OlderStore(
                recordIndex: record.index, recordGeneration: payload.start.storeGeneration,
                storeGeneration: storeGeneration)
        else {
            if audience.sees(payload.content) { seenCount += 1 }
            return nil
        }
        return misfit(
            record.index,
            "The store is older than the log: the record was written at change "
                + "\(store.recordGeneration) of the store, which is at change \(store.storeGeneration).",
            olderStore: store)
    }

    /// Checks one record's seal, if the key is at hand, and prepares the next record's key.
    private mutating func accept(
        _ record: RawRecord, _ content: LogRecord.Content, previousHead: [UInt8],
        seeds: (UInt32) throws -> SecretBytes?
    ) throws -> Bool {
        if record.index == 0 {
            // The first record is sealed in the epoch that it begins.
            guard let epoch = content.beginningEpoch else { return false }
            try begin(epoch, seeds: seeds)
        }
        if key != nil {
            guard key!.accepts(record, after: previousHead) else { return false }
        } else if audience.seesNumbers || audience.sees(content) {
            sealsChecked = false
        }
        if record.index > 0, let epoch = content.beginningEpoch { try begin(epoch, seeds: seeds) }
        return true
    }

    private mutating func begin(_ epoch: UInt32, seeds: (UInt32) throws -> SecretBytes?) throws {
        if let seed = try seeds(epoch) { key = SealKey(epochSeed: seed) } else { key = nil }
    }

    /// The verdict at the end of the file.
    private func conclusion(index: UInt64, head: [UInt8]) -> AuditVerdict {
        guard let expected = view.head else {
            let count = max(anchor?.count ?? 0, view.count)
            if anchor == nil { return misfit(0, "The log has no anchor.", isExact: false) }
            if index < count { return misfit(index, "Records have been cut off.") }
            return misfit(view.count, "The log was found damaged when it was opened.", isExact: false)
        }
        if index < view.count { return misfit(index, "Records have been cut off.") }
        if head != expected {
            return misfit(view.count - 1, "The log does not end as it was written.", isExact: false)
        }
        return AuditVerdict(
            isIntact: true, recordCount: fitting(before: index), firstMisfit: nil, isExact: true,
            explanation: (sealsChecked
                ? "All records and seals fit."
                : "All records fit the chain and its anchor; not all seals were checked.") + missingWords,
            sealsChecked: sealsChecked, olderStore: nil, missingParts: missing)
    }

    private func misfit(
        _ index: UInt64, _ explanation: String, isExact: Bool = true, olderStore: OlderStore? = nil
    ) -> AuditVerdict {
        AuditVerdict(
            isIntact: false, recordCount: fitting(before: index), firstMisfit: index, isExact: isExact,
            explanation: explanation + missingWords, sealsChecked: sealsChecked && key != nil, olderStore: olderStore,
            missingParts: missing)
    }

    private func fitting(before index: UInt64) -> UInt64 {
        index - min(index, missing.reduce(0) { $0 + UInt64($1.records.count) })
    }

    private var missingWords: String {
        missing.reduce("") { words, part in
            let (first, last) = (part.records.lowerBound, part.records.upperBound - 1)
            return words + " Part \(part.number) is not there: records \(first) to \(last) were not checked."
        }
    }
}

extension AuditVerdict {
    /// The verdict for one owner with `count` records that fit. Numbers of records, changes and parts would tell of others.
    fileprivate func ofOwnRecords(_ count: UInt64) -> AuditVerdict {
        AuditVerdict(
            isIntact: isIntact, recordCount: count, firstMisfit: isIntact ? nil : count, isExact: isExact,
            explanation: ownExplanation, sealsChecked: sealsChecked, olderStore: olderStore, missingParts: [])
    }

    private var ownExplanation: String {
        let missing =
            missingParts.isEmpty
            ? "" : " Parts of the log are not there; your records in them were not counted or checked."
        if olderStore != nil { return "The store is older than its log." + missing }
        guard isIntact else {
            return
                (isExact
                ? "The store's log does not fit. Your records before this one do."
                : "The store's log is not the one that was anchored. Your records may be changed.") + missing
        }
        return
            (sealsChecked
            ? "All of your records and their seals fit."
            : "All of your records fit the chain and its anchor; not all of their seals were checked.") + missing
    }
}
