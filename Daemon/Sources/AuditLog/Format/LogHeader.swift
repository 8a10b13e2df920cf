import CanonicalEncoding
import Foundation

/// The end of a closed part of the log.
struct ClosedPart: Equatable, Sendable {
    /// How many records the log had then, including those of the parts before.
    let count: UInt64
    /// The head after the last of these records.
    let head: [UInt8]
}

/// The beginning of a part: a random identity, and the end of each part before it.
///
/// The chain of a part begins with its header. So the header's statements about other parts are as firm as the part's
/// own records, and each part can be checked without the others.
struct LogHeader: Equatable, Sendable {
    let bytes: [UInt8]
    /// The parts before this one, in order.
    let closed: [ClosedPart]

    /// The part's number, from 1.
    var number: Int { closed.count + 1 }

    /// The place where the part's first record begins.
    var start: Checkpoint {
        Checkpoint(
            index: closed.last?.count ?? 0, position: bytes.count, head: HashChain.initialHead(header: bytes))
    }

    /// The indices of a closed part's records.
    func records(ofPart number: Int) -> Range<UInt64> {
        let first = number > 1 ? closed[number - 2].count : 0
        return first..<closed[number - 1].count
    }

    // MARK: making

    /// The header of a log's first part.
    init() { self.init(closed: [], version: LogFormat.version) }

    /// The header of the part that follows when `former` is closed.
    init(following former: LogHeader, closedAt end: ClosedPart) {
        self.init(closed: former.closed + [end], version: LogFormat.partVersion)
    }

    private init(closed: [ClosedPart], version: UInt16) {
        var writer = CanonicalWriter(capacity: LogFormat.headerByteCount + closed.count * LogFormat.closedPartByteCount)
        writer.write(fixed: LogFormat.magic)
        writer.write(version)
        writer.write(UInt16(0))
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<2 { writer.write(UInt64.random(in: .min ... .max, using: &generator)) }
        if version == LogFormat.partVersion { writer.write(UInt32(closed.count)) }
        for part in closed {
            writer.write(part.count)
            writer.write(fixed: part.head)
        }
        bytes = writer.bytes
        self.closed = closed
    }

    // MARK: reading

    /// The header of a file; nil if it has none.
    ///
    /// - Throws: ``AuditLogError/tooNew(found:supported:)``, ``AuditLogError/io(code:)``.
    init?(of source: LogSource) throws(AuditLogError) {
        var bytes = try source.read(at: 0, count: LogFormat.headerByteCount)
        guard let version = try LogFormat.version(of: bytes) else { return nil }
        guard version == LogFormat.partVersion else {
            self.init(bytes: bytes, closed: [])
            return
        }
        let count = try source.read(at: bytes.count, count: 4)
        let partCount = count.reduce(0) { $0 << 8 | Int($1) }
        guard count.count == 4, 1...LogFormat.maximumPartCount ~= partCount else { return nil }
        let list = try source.read(at: bytes.count + 4, count: partCount * LogFormat.closedPartByteCount)
        bytes += count + list
        guard let closed = Self.parts(list, count: partCount) else { return nil }
        self.init(bytes: bytes, closed: closed)
    }

    private init(bytes: [UInt8], closed: [ClosedPart]) {
        self.bytes = bytes
        self.closed = closed
    }

    /// Nil unless each part has a record.
    private static func parts(_ list: [UInt8], count: Int) -> [ClosedPart]? {
        do {
            var reader = CanonicalReader(list)
            var parts: [ClosedPart] = []
            for _ in 0..<count {
                let part = ClosedPart(
                    count: try reader.read(UInt64.self), head: try reader.read(fixed: LogFormat.digestByteCount))
                guard part.count > parts.last?.count ?? 0 else { return nil }
                parts.append(part)
            }
            try reader.finish()
            return parts
        } catch { return nil }
    }
}
