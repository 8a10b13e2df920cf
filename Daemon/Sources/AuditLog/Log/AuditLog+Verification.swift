import Foundation
public import SecretMemory
import Synchronization

extension AuditLog {
    /// Checks the whole file: framing, hash chain, its end and its anchor, the seals of all epochs whose seed is given, and
    /// that no record speaks of a change that the store has not seen.
    /// Records may be appended meanwhile; those that were there at the start are checked.
    ///
    /// - Parameter seeds: The seed of an epoch, or nil if it is not at hand; called once for each epoch, in order.
    /// - Throws: ``AuditLogError/io(code:)``, and what `seeds` and the anchor store throw. Damage is a verdict, not an error.
    public func verify(seeds: (UInt32) throws -> SecretBytes? = { _ in nil }) throws -> AuditVerdict {
        // In this order: the log may grow in between, but never be shorter than its anchor, and the store may change, but
        // never know less than the records that are there.
        let anchor = try anchors.load()
        let view = contents.withLock { LogView(&$0) }
        var check = Verification(anchor: anchor, view: view, storeGeneration: anchors.storeGeneration)
        return try check.run(seeds: seeds)
    }
}

/// One walk over the whole file.
private struct Verification: ~Copyable {
    private let anchor: Anchor?
    private let view: LogView
    private let storeGeneration: UInt64
    /// Key of the next record, if its epoch's seed is at hand.
    private var key: SealKey?
    private var sealsChecked = true

    init(anchor: Anchor?, view: LogView, storeGeneration: UInt64) {
        self.anchor = anchor
        self.view = view
        self.storeGeneration = storeGeneration
        key = nil
    }

    mutating func run(seeds: (UInt32) throws -> SecretBytes?) throws -> AuditVerdict {
        guard let source = view.source else { return misfit(0, "The log's file is missing.") }
        let header = try LogScanner.header(of: source)
        guard header.count == LogFormat.headerByteCount else { return misfit(0, "The file's header is missing.") }
        var walk = ChainWalk(source, header: header, limit: view.end)
        while true {
            if let anchor, walk.index == anchor.count, !walk.head.elementsEqual(anchor.head) {
                return misfit(
                    max(anchor.count, 1) - 1, "The log is not the one that was anchored.", isExact: false)
            }
            switch try walk.next() {
            case .misfit: return misfit(walk.index, "The record does not fit the chain.")
            case .end, .torn: return conclusion(index: walk.index, head: walk.head)
            case .record(let record, let previousHead):
                guard let payload = try? LogPayload(bytes: record.payload),
                    try accept(record, payload.content, previousHead: previousHead, seeds: seeds)
                else { return misfit(record.index, "The record's seal does not fit.") }
                if let store = OlderStore(
                    recordIndex: record.index, recordGeneration: payload.start.storeGeneration,
                    storeGeneration: storeGeneration)
                {
                    return misfit(
                        record.index,
                        "The store is older than the log: the record was written at change "
                            + "\(store.recordGeneration) of the store, which is at change \(store.storeGeneration).",
                        olderStore: store)
                }
            }
        }
    }

    /// Checks one record's seal, if the key is at hand, and moves on to the next record's key.
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
        } else {
            sealsChecked = false
        }
        if record.index > 0, let epoch = content.beginningEpoch { try begin(epoch, seeds: seeds) }
        return true
    }

    private mutating func begin(_ epoch: UInt32, seeds: (UInt32) throws -> SecretBytes?) throws {
        if let seed = try seeds(epoch) { key = SealKey(epochSeed: seed) } else { key = nil }
    }

    /// The file ended where a record could begin, or inside one.
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
            isIntact: true, recordCount: index, firstMisfit: nil, isExact: true,
            explanation: sealsChecked
                ? "All records and seals fit."
                : "All records fit the chain and its anchor; not all seals were checked.",
            sealsChecked: sealsChecked, olderStore: nil)
    }

    private func misfit(
        _ index: UInt64, _ explanation: String, isExact: Bool = true, olderStore: OlderStore? = nil
    ) -> AuditVerdict {
        AuditVerdict(
            isIntact: false, recordCount: index, firstMisfit: index, isExact: isExact, explanation: explanation,
            sealsChecked: sealsChecked && key != nil, olderStore: olderStore)
    }
}
