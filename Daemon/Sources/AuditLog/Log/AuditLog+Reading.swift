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
    /// Their place in the hash chain is checked, not their seals. Of a log that was refused, only records before the first
    /// misfit are shown. The first call for records before the last anchor at the start reads all that lies there.
    ///
    /// - Throws: ``AuditLogError/damaged`` if a record in the file no longer is the one that was written.
    public func page(from first: UInt64, limit: Int) throws(AuditLogError) -> LogPage {
        var view = contents.withLock { LogView(&$0) }
        guard let source = view.source, var index = view.index, first < view.count, limit > 0 else {
            return LogPage(records: [], recordCount: view.count)
        }
        if index.place(before: first) == nil {
            index = try index.completed(from: source)
            contents.withLock { $0.complete(with: index) }
            view.index = index
        }
        return LogPage(records: try view.records(from: first, limit: limit, in: source), recordCount: view.count)
    }

    /// How many bytes of the file were read since it was opened.
    var readByteCount: Int { contents.withLock { LogView(&$0).source?.readByteCount ?? 0 } }
}

extension RawRecord {
    func decoded() throws(AuditLogError) -> LogRecord {
        do {
            return try LogRecord(index: index, LogPayload(bytes: payload))
        } catch {
            throw .damaged
        }
    }
}

extension LogRecord {
    fileprivate init(index: UInt64, _ payload: LogPayload) {
        self.init(index: index, storeGeneration: payload.start.storeGeneration, content: payload.content)
    }
}

/// What a reader needs to know of a log that goes on growing meanwhile.
struct LogView: Sendable {
    let source: LogSource?
    /// Where the records that count end.
    let end: Int
    let count: UInt64
    /// Head after ``count`` records, if the log is in order.
    let head: [UInt8]?
    var index: LogIndex?

    init(_ contents: inout AuditLog.Contents) {
        let live = contents.withTail { tail in
            LogView(source: tail.file.source, end: tail.file.end, count: tail.count, head: tail.head, index: tail.index)
        }
        let kept = contents.kept
        self =
            live
            ?? LogView(
                source: kept?.source, end: kept?.byteCount ?? 0, count: contents.state.firstMisfit ?? 0, head: nil,
                index: kept?.index)
    }

    private init(source: LogSource?, end: Int, count: UInt64, head: [UInt8]?, index: LogIndex?) {
        self.source = source
        self.end = end
        self.count = count
        self.head = head
        self.index = index
    }

    /// Reads from the place before the first record to the one after the last: somebody who changed records meanwhile and
    /// recomputed their hashes is found at that one.
    fileprivate func records(
        from first: UInt64, limit: Int, in source: LogSource
    ) throws(AuditLogError) -> [LogRecord] {
        guard let start = index?.place(before: first) else { throw .damaged }
        let (sum, isTooMany) = first.addingReportingOverflow(UInt64(limit))
        let pageEnd = isTooMany ? count : min(sum, count)
        let next = index?.place(after: pageEnd - 1).flatMap { $0.index <= count ? $0 : nil }
        var walk = ChainWalk(source, from: start, limit: end)
        var records: [LogRecord] = []
        while walk.index < next?.index ?? count {
            guard case .record(let record, _) = try walk.next() else { throw .damaged }
            if (first..<pageEnd).contains(record.index) { records.append(try record.decoded()) }
        }
        if let expected = next?.head ?? head, walk.head != expected { throw .damaged }
        return records
    }
}
