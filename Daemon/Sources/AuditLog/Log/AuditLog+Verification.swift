import Foundation
public import SecretMemory
import Synchronization

extension AuditLog {
    /// Checks the whole file: framing, hash chain, its end and its anchor, and the seals of all epochs whose seed is given.
    /// Records may be appended meanwhile; those that were there at the start are checked.
    ///
    /// - Parameter seeds: The seed of an epoch, or nil if it is not at hand; called once for each epoch, in order.
    /// - Throws: ``AuditLogError/io(code:)``, and what `seeds` and the anchor store throw. Damage is a verdict, not an error.
    public func verify(seeds: (UInt32) throws -> SecretBytes? = { _ in nil }) throws -> AuditVerdict {
        let (anchor, view) = try anchorAndView()
        var check = Verification(anchor: anchor, view: view)
        return try check.run(seeds: seeds)
    }

    /// The anchor is loaded first: the log may grow in between, but never be shorter than its anchor.
    private func anchorAndView() throws -> (Anchor?, LogView) {
        let anchor = try anchors.load()
        return (anchor, contents.withLock { LogView(&$0) })
    }
}

/// One walk over the whole file.
private struct Verification: ~Copyable {
    private let anchor: Anchor?
    private let view: LogView
    /// Key of the next record, if its epoch's seed is at hand.
    private var key: SealKey?
    private var sealsChecked = true

    init(anchor: Anchor?, view: LogView) {
        self.anchor = anchor
        self.view = view
        key = nil
    }

    mutating func run(seeds: (UInt32) throws -> SecretBytes?) throws -> AuditVerdict {
        guard let file = view.file else { return misfit(0, "The log's file is missing.") }
        let header = try LogScanner.header(of: file)
        guard header.count == LogFormat.headerByteCount else { return misfit(0, "The file's header is missing.") }
        var walk = ChainWalk(file, header: header, limit: view.end)
        while true {
            if let anchor, walk.index == anchor.count, !walk.head.elementsEqual(anchor.head) {
                return misfit(
                    max(anchor.count, 1) - 1, "The log is not the one that was anchored.", isExact: false)
            }
            switch try walk.next() {
            case .misfit: return misfit(walk.index, "The record does not fit the chain.")
            case .end, .torn: return conclusion(index: walk.index, head: walk.head)
            case .record(let record, let previousHead):
                guard try accept(record, previousHead: previousHead, seeds: seeds) else {
                    return misfit(record.index, "The record's seal does not fit.")
                }
            }
        }
    }

    /// Checks one record's seal, if the key is at hand, and moves on to the next record's key.
    private mutating func accept(
        _ record: RawRecord, previousHead: [UInt8], seeds: (UInt32) throws -> SecretBytes?
    ) throws -> Bool {
        guard let content = try? LogRecord.Content(payload: record.payload) else { return false }
        if record.index == 0 {
            // The first record is sealed in the epoch that it begins.
            guard let epoch = content.beginningEpoch else { return false }
            try begin(epoch, seeds: seeds)
        }
        if key != nil {
            guard key!.accepts(record.code, head: previousHead, payload: record.payload) else { return false }
            key!.advance()
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
                ? "All records and seals fit." : "All records fit the chain and its anchor; not all seals were checked.",
            sealsChecked: sealsChecked)
    }

    private func misfit(_ index: UInt64, _ explanation: String, isExact: Bool = true) -> AuditVerdict {
        AuditVerdict(
            isIntact: false, recordCount: index, firstMisfit: index, isExact: isExact, explanation: explanation,
            sealsChecked: sealsChecked && key != nil)
    }
}
