import Synchronization
import UnixSocket

/// A run of records.
public struct LogPage: Equatable, Sendable {
    public let records: [LogRecord]
    /// How many records the log has.
    public let recordCount: UInt64
}

extension AuditLog {
    /// Up to `limit` of all records from index `first` on; fewer at the end of the log. Records of a missing closed part are
    /// left out.
    ///
    /// Checks the hash chain, but no seals. For a refused log, only records before the first misfit are shown. Two
    /// calls take longer: the first for records before the anchor that the log was opened at, which reads the start of
    /// the open part, and the first for a closed part, which reads all of that part.
    ///
    /// - Throws: ``AuditLogError/damaged`` if a record in the file was changed after it was written.
    func page(from first: UInt64, limit: Int) throws(AuditLogError) -> LogPage {
        let view = contents.withLock { LogView(&$0) }
        return LogPage(records: try records(from: first, limit: limit, in: view), recordCount: view.count)
    }

    func records(from first: UInt64, limit: Int, in view: LogView) throws(AuditLogError) -> [LogRecord] {
        guard let header = view.header, view.index != nil, first < view.count, limit > 0 else { return [] }
        var records: [LogRecord] = []
        var next = first
        if next < header.start.index {
            // The header vouches for the closed parts, and the open part's chain vouches for the header.
            let verified = try completed(view)
            for number in header.closed.indices.map({ $0 + 1 })
            where next < header.closed[number - 1].count && records.count < limit {
                if let part = try closedPart(number, of: header) {
                    records += try part.view.records(from: next, limit: limit - records.count)
                }
                next = header.closed[number - 1].count
            }
            if records.count < limit {
                records += try verified.records(from: next, limit: limit - records.count)
            }
        } else {
            records = try (view.index?.place(before: next) == nil ? completed(view) : view)
                .records(from: next, limit: limit)
        }
        return records
    }

    /// The view with places for all records of the open part. Its header is verified too.
    func completed(_ view: LogView) throws(AuditLogError) -> LogView {
        guard let source = view.source, let header = view.header, let index = view.index else { return view }
        var view = view
        view.index = try index.completed(from: source, header)
        if let index = view.index { contents.withLock { $0.complete(with: index) } }
        return view
    }

    /// A closed part, checked to its end; nil if it is missing.
    private func closedPart(_ number: Int, of header: LogHeader) throws(AuditLogError) -> ClosedPartReader? {
        if let recent = recentPart.withLock({ $0 }), recent.isPart(number, of: header) { return recent }
        let part = try ClosedPartReader(number, of: header, in: folder)
        if let part { recentPart.withLock { $0 = part } }
        return part
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

/// A reader's snapshot of a log that may grow meanwhile.
struct LogView: Sendable {
    let source: LogSource?
    let header: LogHeader?
    /// The end of the records to read.
    let end: Int
    let count: UInt64
    /// Head after ``count`` records, if the log is in order.
    let head: [UInt8]?
    var index: LogIndex?

    init(_ contents: inout AuditLog.Contents) {
        let live = contents.withTail { tail in
            LogView(
                source: tail.file.source, header: tail.header, end: tail.file.end, count: tail.count, head: tail.head,
                index: tail.index)
        }
        let kept = contents.kept
        self =
            live
            ?? LogView(
                source: kept?.source, header: kept?.header, end: kept?.byteCount ?? 0,
                count: contents.state.firstMisfit ?? 0, head: nil,
                index: kept?.index)
    }

    init(source: LogSource?, header: LogHeader?, end: Int, count: UInt64, head: [UInt8]?, index: LogIndex?) {
        self.source = source
        self.header = header
        self.end = end
        self.count = count
        self.head = head
        self.index = index
    }

    /// Reads from the place before the first record to the place after the last. Its head there would show that
    /// somebody changed records and recomputed their hashes.
    fileprivate func records(from first: UInt64, limit: Int) throws(AuditLogError) -> [LogRecord] {
        guard first < count else { return [] }
        guard let source, let start = index?.place(before: first) else { throw .damaged }
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
