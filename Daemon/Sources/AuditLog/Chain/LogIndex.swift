/// A remembered place between two records, so that reading a page need not begin at the file's start.
struct Checkpoint: Equatable, Sendable {
    let index: UInt64
    let position: Int
    let head: [UInt8]
}

/// Places in one part of a log, some records apart. A log that was opened at its anchor knows no earlier place, until
/// somebody asks for an earlier record.
struct LogIndex: Sendable {
    /// The first known place: the file's start, or the anchor.
    private(set) var base: Checkpoint
    /// Later places than ``base``, in order. Their indices are multiples of ``interval``.
    private(set) var checkpoints: [Checkpoint] = []
    /// How many records lie between two places. It doubles when there are too many places, so that memory does not grow
    /// with the log.
    private(set) var interval: UInt64 = 64
    static let capacity = 4096

    init(base: Checkpoint) { self.base = base }

    /// Notes a place behind all others, if its index is a multiple of ``interval``.
    mutating func add(_ index: UInt64, _ checkpoint: @autoclosure () -> Checkpoint) {
        guard index.isMultiple(of: interval) else { return }
        checkpoints.append(checkpoint())
        guard checkpoints.count > Self.capacity else { return }
        interval *= 2
        checkpoints.removeAll { [interval] in !$0.index.isMultiple(of: interval) }
    }

    /// The last place at or before a record; nil if the record lies before ``base``.
    func place(before index: UInt64) -> Checkpoint? {
        guard index >= base.index else { return nil }
        return checkpoints.last { $0.index <= index } ?? base
    }

    /// The first place behind a record. Reading a page ends with a check there.
    func place(after index: UInt64) -> Checkpoint? {
        checkpoints.first { $0.index > index }
    }

    /// An index that includes the places before ``base``. All records there are read, and must lead to ``base``.
    ///
    /// - Throws: ``AuditLogError/damaged`` if they do not, and ``AuditLogError/io(code:)``.
    func completed(from source: LogSource, _ header: LogHeader) throws(AuditLogError) -> LogIndex {
        guard base.position > header.bytes.count else { return self }
        var walk = ChainWalk(source, from: header.start, limit: base.position)
        var complete = LogIndex(base: walk.place)
        while walk.index < base.index {
            guard case .record = try walk.next() else { throw .damaged }
            complete.add(walk.index, walk.place)
        }
        guard walk.place == base else { throw .damaged }
        for checkpoint in checkpoints { complete.add(checkpoint.index, checkpoint) }
        return complete
    }

    /// Takes over the places before ``base`` from an index that ``completed(from:)`` returned. This index may have
    /// grown since.
    mutating func takeEarlier(from complete: LogIndex) {
        guard base.index > complete.base.index else { return }
        var all = complete
        all.removeAll(behind: base.index)
        for checkpoint in checkpoints { all.add(checkpoint.index, checkpoint) }
        self = all
    }

    /// Forgets the places behind a record.
    mutating func removeAll(behind index: UInt64) { checkpoints.removeAll { $0.index > index } }
}
