import Synchronization
import UnixSocket

/// Some records in a row.
public struct LogPage: Equatable, Sendable {
    public let records: [LogRecord]
    /// How many records the log has.
    public let recordCount: UInt64
}

extension AuditLog {
    /// Up to `limit` records, the first of them the one with index `first`; fewer at the end of the log.
    ///
    /// Their place in the hash chain is checked, not their seals. Of a damaged log, only records before the first misfit
    /// are shown.
    ///
    /// - Throws: ``AuditLogError/damaged`` if a record in the file no longer is the one that was written.
    public func page(from first: UInt64, limit: Int) throws(AuditLogError) -> LogPage {
        let view = contents.withLock { LogView(&$0) }
        var records: [LogRecord] = []
        guard let file = view.file, let checkpoint = view.checkpoints.last(where: { $0.index <= first }) else {
            return LogPage(records: [], recordCount: view.count)
        }
        var walk = ChainWalk(file, from: checkpoint, limit: view.end)
        while walk.index < view.count, records.count < limit {
            guard case .record(let record, _) = try walk.next() else { throw .damaged }
            if record.index >= first { records.append(try record.decoded()) }
        }
        return LogPage(records: records, recordCount: view.count)
    }
}

extension RawRecord {
    func decoded() throws(AuditLogError) -> LogRecord {
        do {
            return LogRecord(index: index, content: try LogRecord.Content(payload: payload))
        } catch {
            throw .damaged
        }
    }
}

/// What a reader needs to know of a log that goes on growing meanwhile.
struct LogView: Sendable {
    let file: SharedDescriptor?
    /// Where the records that count end.
    let end: Int
    let count: UInt64
    /// Head after ``count`` records, if the log is in order.
    let head: [UInt8]?
    let checkpoints: [Checkpoint]

    init(_ contents: inout AuditLog.Contents) {
        let live = contents.withTail { tail in
            LogView(
                file: tail.file.descriptor, end: tail.file.end, count: tail.count, head: tail.head,
                checkpoints: tail.checkpoints)
        }
        self = live ?? LogView(contents.damaged, state: contents.state)
    }

    private init(_ damaged: DamagedFile?, state: LogState) {
        file = damaged?.descriptor
        end = damaged?.byteCount ?? 0
        if case .damaged(let damage) = state { count = damage.firstMisfit } else { count = 0 }
        head = nil
        checkpoints = damaged?.checkpoints ?? []
    }

    private init(file: SharedDescriptor, end: Int, count: UInt64, head: [UInt8], checkpoints: [Checkpoint]) {
        self.file = file
        self.end = end
        self.count = count
        self.head = head
        self.checkpoints = checkpoints
    }
}
