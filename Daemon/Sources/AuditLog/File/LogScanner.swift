/// A record as it lies in the file. Only its framing was checked.
struct RawRecord {
    let index: UInt64
    let payload: [UInt8]
    let code: [UInt8]
    let head: [UInt8]
    /// Where the next record begins.
    let end: Int
}

/// Reads records in order, a piece of the file at a time.
struct LogScanner: ~Copyable {
    enum Step {
        case record(RawRecord)
        /// The limit is reached exactly at the end of a record.
        case end
        /// The file ends inside a record, or only zeros follow, as after a crash.
        case torn
        /// No record starts here.
        case misframed
    }

    private static let pieceSize = 64 * 1024

    private let source: LogSource
    private let limit: Int
    /// Index and place of the next record.
    private var index: UInt64
    private var position: Int
    private var piece: [UInt8] = []
    private var pieceStart = 0

    /// A scanner at record `index`, which begins at `position`. It reads nothing at or behind `limit`.
    init(_ source: LogSource, index: UInt64, position: Int, limit: Int) {
        self.source = source
        self.index = index
        self.position = position
        self.limit = limit
    }

    mutating func next() throws(AuditLogError) -> Step {
        let left = limit - position
        if left == 0 { return .end }
        guard left > 0, let length = try bytes(at: position, count: LogFormat.lengthByteCount) else { return .torn }
        let payloadSize = length.reduce(0) { $0 << 8 | Int($1) }
        if payloadSize == 0 { return try onlyZerosFollow() ? .torn : .misframed }
        guard payloadSize <= LogFormat.maximumPayload else { return .misframed }
        guard let record = try bytes(at: position, count: payloadSize + LogFormat.recordOverhead) else { return .torn }
        defer {
            position += record.count
            index += 1
        }
        let payloadEnd = LogFormat.lengthByteCount + payloadSize
        let codeEnd = payloadEnd + LogFormat.digestByteCount
        return .record(
            RawRecord(
                index: index, payload: Array(record[LogFormat.lengthByteCount..<payloadEnd]),
                code: Array(record[payloadEnd..<codeEnd]), head: Array(record[codeEnd...]),
                end: position + record.count))
    }

    /// The bytes from `start`; nil if fewer than `count` lie before the limit.
    private mutating func bytes(at start: Int, count: Int) throws(AuditLogError) -> [UInt8]? {
        guard count <= limit - start else { return nil }
        if start < pieceStart || start + count > pieceStart + piece.count {
            piece = try source.read(at: start, count: min(max(Self.pieceSize, count), limit - start))
            pieceStart = start
        }
        let offset = start - pieceStart
        guard offset + count <= piece.count else { return nil }
        return Array(piece[offset..<offset + count])
    }

    private mutating func onlyZerosFollow() throws(AuditLogError) -> Bool {
        var start = position
        while start < limit {
            let count = min(Self.pieceSize, limit - start)
            guard let rest = try bytes(at: start, count: count), rest.allSatisfy({ $0 == 0 }) else { return false }
            start += count
        }
        return true
    }
}
