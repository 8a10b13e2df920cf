import ExactNames
import Synchronization

/// Where the records of one owner lie, so that a page of them reads little of a large log.
///
/// The log is looked at once, when the owner first asks, and then only where it has grown. Memory holds a mark for each
/// stretch of the log with a record of the owner: at most about a three-hundredth of the log's size.
final class OwnRecords: Sendable {
    /// The distance of places in a part (``LogIndex``), so reading a stretch begins and ends at a place.
    static let stretchCount: UInt64 = 64

    /// The first record of the owner in a stretch, or in a part that begins within it.
    struct Mark: Equatable, Sendable {
        /// Its index in the log.
        let index: UInt64
        /// How many records the owner has before it.
        let number: UInt64
        /// The number of the part that holds it.
        let part: Int

        var stretchEnd: UInt64 { (index / OwnRecords.stretchCount + 1) * OwnRecords.stretchCount }
    }

    /// The places of an owner's records at one moment.
    struct Places: Sendable {
        private(set) var marks: [Mark] = []
        /// How many records the owner has.
        private(set) var count: UInt64 = 0
        /// How many records of the log were looked at.
        fileprivate var end: UInt64 = 0

        mutating func add(_ index: UInt64, inPart part: Int) {
            defer { count += 1 }
            if let last = marks.last, index < last.stretchEnd, part == last.part { return }
            marks.append(Mark(index: index, number: count, part: part))
        }

        /// The places of the marks, from the mark of the owner's record with this number on.
        func marks(from number: UInt64) -> Range<Int> {
            var (low, high) = (0, marks.count)
            while low < high {
                let middle = (low + high) / 2
                if marks[middle].number <= number { low = middle + 1 } else { high = middle }
            }
            return max(low - 1, 0)..<marks.count
        }

        /// The records of the log from a mark to the next one, or to the end of the stretch.
        func records(ofMark place: Int) -> Range<UInt64> {
            let (mark, next) = (marks[place], place + 1)
            return mark.index..<(next < marks.count ? min(mark.stretchEnd, marks[next].index) : mark.stretchEnd)
        }
    }

    private let owner: OwnerID
    /// Held while the log is looked at. Other owners have their own.
    private let known = Mutex(Places())

    init(_ owner: OwnerID) { self.owner = owner }

    /// The places of all records that a view has, or more if the log was looked at later.
    ///
    /// - Throws: ``AuditLogError/damaged`` if a record was changed after it was written.
    func places(in view: LogView, of log: AuditLog) throws(AuditLogError) -> Places {
        try known.withLock { (known) throws(AuditLogError) in
            guard known.end < view.count else { return known }
            // A record counts after all of them were checked.
            var grown = known
            try log.forEachRecord(from: known.end, in: view) { record, part in
                if record.owner == owner { grown.add(record.index, inPart: part) }
            }
            grown.end = view.count
            known = grown
            return grown
        }
    }
}

extension AuditLog {
    /// How many records somebody sees.
    ///
    /// - Throws: ``AuditLogError/damaged`` if a record was changed after it was written. This is only found for one owner,
    ///   whose records are counted.
    public func recordCount(for audience: LogAudience) throws(AuditLogError) -> UInt64 {
        guard case .owner(let owner) = audience else { return recordCount }
        return try ownPlaces(of: owner).places.count
    }

    /// Up to `limit` records that somebody sees, from index `first` on. A page of one owner's records ends with a part.
    /// Otherwise like ``page(from:limit:)``.
    ///
    /// Records of a missing closed part are not counted for one owner until the log is opened again.
    public func page(from first: UInt64, limit: Int, for audience: LogAudience) throws(AuditLogError) -> LogPage {
        switch audience {
        case .everything: try page(from: first, limit: limit)
        case .ownerAndDaemon: try filteredPage(from: first, limit: limit, for: audience)
        case .owner(let owner): try ownPage(from: first, limit: limit, of: owner)
        }
    }

    /// Goes on behind records that nobody of the audience sees, so that no page is empty before the end.
    private func filteredPage(
        from first: UInt64, limit: Int, for audience: LogAudience
    ) throws(AuditLogError) -> LogPage {
        var next = first
        while true {
            let page = try page(from: next, limit: limit)
            let seen = page.records.filter { audience.sees($0.content) }
            guard seen.isEmpty, let last = page.records.last else {
                return LogPage(records: seen, recordCount: page.recordCount)
            }
            next = last.index + 1
        }
    }

    private func ownPage(from first: UInt64, limit: Int, of owner: OwnerID) throws(AuditLogError) -> LogPage {
        let (view, places) = try ownPlaces(of: owner)
        var records: [LogRecord] = []
        guard first < places.count, limit > 0 else { return LogPage(records: [], recordCount: places.count) }
        var part: Int?
        for place in places.marks(from: first) where records.count < limit {
            let mark = places.marks[place]
            // Another closed part would be read as a whole.
            if !records.isEmpty && mark.part != part { break }
            part = mark.part
            var number = mark.number
            for record in try ownRecords(in: places.records(ofMark: place), of: view, owner) {
                if number >= first && records.count < limit {
                    records.append(
                        LogRecord(index: number, storeGeneration: record.storeGeneration, content: record.content))
                }
                number += 1
            }
        }
        return LogPage(records: records, recordCount: places.count)
    }

    private func ownRecords(
        in range: Range<UInt64>, of view: LogView, _ owner: OwnerID
    ) throws(AuditLogError) -> [LogRecord] {
        // Records of a part that is missing since the last look at it are left out, and others follow.
        try records(from: range.lowerBound, limit: range.count, in: view).filter {
            range.contains($0.index) && $0.content.owner == owner
        }
    }

    private func ownPlaces(of owner: OwnerID) throws(AuditLogError) -> (view: LogView, places: OwnRecords.Places) {
        while true {
            let (own, view) = contents.withLock { ($0.ownRecords(of: owner), LogView(&$0)) }
            let places = try own.places(in: view, of: self)
            // Another question may have looked at more than this view has.
            if places.end <= view.count { return (view, places) }
        }
    }

    /// Lends the records of a view from index `first` on, in order, with the number of the part that holds them. They count
    /// when this returns: then all of them were checked. Records of missing parts are left out.
    fileprivate func forEachRecord(
        from first: UInt64, in view: LogView, _ body: (RawRecord, Int) -> Void
    ) throws(AuditLogError) {
        guard let header = view.header, view.index != nil, first < view.count else { return }
        var view = view
        if first < header.start.index {
            // The header vouches for the closed parts, and the open part's chain vouches for the header.
            view = try completed(view)
            for number in header.closed.indices.map({ $0 + 1 }) where first < header.closed[number - 1].count {
                _ = try ClosedPartReader(number, of: header, in: folder) {
                    if $0.index >= first { body($0, number) }
                }
            }
        }
        let start = max(first, header.start.index)
        if view.index?.place(before: start) == nil { view = try completed(view) }
        try view.forEachRecord(from: start) { if $0.index >= first { body($0, header.number) } }
    }
}

extension LogView {
    /// Lends the records of the open part, beginning at a place at or before `first`.
    fileprivate func forEachRecord(
        from first: UInt64, _ body: (RawRecord) -> Void
    ) throws(AuditLogError) {
        guard first < count else { return }
        guard let source, let start = index?.place(before: first) else { throw .damaged }
        var walk = ChainWalk(source, from: start, limit: end)
        while walk.index < count {
            guard case .record(let record, _) = try walk.next() else { throw .damaged }
            body(record)
        }
        if let head, walk.head != head { throw .damaged }
    }
}
