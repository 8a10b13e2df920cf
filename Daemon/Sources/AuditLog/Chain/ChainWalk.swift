/// Reads the records of a file in order and checks that each head follows from the record and the head before it.
struct ChainWalk: ~Copyable {
    enum Step {
        /// Fits the chain. Its seal is not checked yet.
        case record(RawRecord, previousHead: [UInt8])
        case end
        /// An incomplete end of the file, as a crash leaves it.
        case torn
        /// These bytes do not fit the chain up to here.
        case misfit
    }

    private var scanner: LogScanner
    /// Head after the last record that fitted.
    private(set) var head: [UInt8]
    /// Index and place of the next record to check.
    private(set) var index: UInt64
    private(set) var position: Int

    var place: Checkpoint { Checkpoint(index: index, position: position, head: head) }

    /// Begins at the end of a header, or at a place that an earlier walk reached.
    init(_ source: LogSource, from checkpoint: Checkpoint, limit: Int) {
        scanner = LogScanner(source, index: checkpoint.index, position: checkpoint.position, limit: limit)
        head = checkpoint.head
        index = checkpoint.index
        position = checkpoint.position
    }

    mutating func next() throws(AuditLogError) -> Step {
        switch try scanner.next() {
        case .end: return .end
        case .torn: return .torn
        case .misframed: return .misfit
        case .record(let record):
            let expected = HashChain.head(after: head, payload: record.payload, code: record.code)
            guard record.head == expected else { return .misfit }
            defer {
                head = expected
                index += 1
                position = record.end
            }
            return .record(record, previousHead: head)
        }
    }
}
