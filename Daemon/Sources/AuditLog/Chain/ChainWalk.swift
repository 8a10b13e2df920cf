/// Walks over the records of a file and checks that each one's head follows from what lies before it.
struct ChainWalk: ~Copyable {
    enum Step {
        /// Fits the chain; whether it was sealed with the right key is not known yet.
        case record(RawRecord, previousHead: [UInt8])
        case end
        /// What a crash leaves at the end of a file.
        case torn
        /// The bytes here are not the record that the heads up to here call for.
        case misfit
    }

    private var scanner: LogScanner
    /// Head after the last record that fitted.
    private(set) var head: [UInt8]
    /// Index and place of the first record that has not fitted yet.
    private(set) var index: UInt64
    private(set) var position: Int

    var place: Checkpoint { Checkpoint(index: index, position: position, head: head) }

    /// From the end of a header, or a place that was reached before.
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
