import OstiaryClient
import OstiaryMessages
import Testing

@testable import ostiary

@Suite("Reading the audit log")
struct AuditLogReaderTests {
    /// A log of `count` records, in pages of at most 200, as the daemon gives them.
    private func reader(count: UInt64) -> AuditLogReader {
        AuditLogReader { first, limit in
            #expect(limit <= 200)
            return Self.page(first..<min(count, max(first, first + UInt64(limit))), of: count)
        }
    }

    private static func page(_ indexes: Range<UInt64>, of count: UInt64) -> WireLogPage {
        .with {
            $0.records = indexes.map { index in .with { $0.index = index } }
            $0.recordCount = count
        }
    }

    private func indexes(_ reader: AuditLogReader, last: Int? = nil) throws -> [UInt64] {
        var indexes: [UInt64] = []
        try reader.forEachRecord(last: last) { indexes.append($0.index) }
        return indexes
    }

    @Test(arguments: [0, 1, 200, 201, 450] as [UInt64])
    func `every record is visited once`(count: UInt64) throws {
        #expect(try indexes(reader(count: count)) == Array(0..<count))
    }

    @Test(arguments: [(1, 449), (200, 250), (450, 0), (451, 0), (Int.max, 0)] as [(Int, UInt64)])
    func `the newest records are visited`(last: Int, first: UInt64) throws {
        #expect(try indexes(reader(count: 450), last: last) == Array(first..<450))
    }

    @Test func `a log that grows with each reading comes to an end`() throws {
        var count: UInt64 = 300
        let growing = AuditLogReader { first, limit in
            count += 200
            return Self.page(first..<min(count, first + UInt64(limit)), of: count)
        }
        #expect(try indexes(growing) == Array(0..<500))
    }

    @Test(arguments: [[0, 1, 1], [0, 2, 1], [5, 4]] as [[UInt64]])
    func `records that go back are refused`(order: [UInt64]) {
        let broken = AuditLogReader { _, _ in
            .with {
                $0.records = order.map { index in .with { $0.index = index } }
                $0.recordCount = 10
            }
        }
        #expect(throws: OstiaryError(.unexpectedAnswer, "")) { try indexes(broken) }
    }

    @Test func `a log that ends before its count is refused`() {
        let short = AuditLogReader { first, _ in Self.page(first..<min(first + 1, 3), of: 5) }
        #expect(throws: OstiaryError(.unexpectedAnswer, "")) { try indexes(short) }
    }
}
