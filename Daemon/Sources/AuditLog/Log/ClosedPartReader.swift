/// Reads a closed part of the log, after all of it was checked against the header of a later part.
struct ClosedPartReader: Sendable {
    private let end: ClosedPart
    private let number: Int
    let view: LogView

    /// Nil if the part is missing.
    ///
    /// - Parameters:
    ///   - header: the verified header of a later part.
    ///   - visit: is lent each record. It must not believe one before this returns.
    /// - Throws: ``AuditLogError/damaged`` if the part was changed after it was closed.
    init?(
        _ number: Int, of header: LogHeader, in folder: LogFolder, visiting visit: (RawRecord) -> Void = { _ in }
    ) throws(AuditLogError) {
        guard let file = try LogFile(reading: folder.closed(number), ownedBy: folder.userID) else { return nil }
        let end = header.closed[number - 1]
        guard let own = try LogHeader(of: file.source), own.precedes(header, asPart: number) else { throw .damaged }
        var walk = ChainWalk(file.source, from: own.start, limit: file.end)
        var index = LogIndex(base: walk.place)
        while walk.index < end.count {
            guard case .record(let record, _) = try walk.next() else { throw .damaged }
            visit(record)
            index.add(walk.index, walk.place)
        }
        guard walk.head == end.head else { throw .damaged }
        view = LogView(
            source: file.source, header: own, end: walk.position, count: end.count, head: end.head, index: index)
        self.end = end
        self.number = number
    }

    func isPart(_ number: Int, of header: LogHeader) -> Bool {
        self.number == number && header.closed[number - 1] == end
    }
}

extension LogHeader {
    /// Whether this can be the header of part `number` in the list of `later`: both must list the same parts before it.
    func precedes(_ later: LogHeader, asPart number: Int) -> Bool {
        self.number == number && closed.elementsEqual(later.closed.prefix(number - 1))
    }
}
