import Foundation
import SecretMemory
import StoreTestSupport
import Testing

@testable import AuditLog

/// Bytes are counted where the file is read; no clock is looked at.
@Suite("What reading an audit log costs")
struct AuditLogOpeningTests {
    private static let headerAndHead = 28 + 32

    // The second log nearly fills a part.
    @Test(arguments: [10, 80_000]) func `opening reads what lies behind the anchor, however long the log is`(
        count: Int
    ) throws {
        let fixture = try LogFixture()
        for number in 0..<count { try fixture.log.append(LogFixture.entry(number), durability: .soon) }
        try fixture.log.close()
        let log = try fixture.reopened()
        #expect(log.state == .intact && log.recordCount == UInt64(count + 1))
        #expect(log.readByteCount == Self.headerAndHead)

        let anchored = try fixture.bytes().count
        for number in 0..<5 { try log.append(LogFixture.entry(number), durability: .soon) }
        let tail = try fixture.bytes().count - anchored
        let reopened = try fixture.reopened()
        #expect(reopened.state == .intact && reopened.recordCount == UInt64(count + 6))
        #expect(reopened.readByteCount == Self.headerAndHead + tail)
        // Told to, it reads all.
        #expect(try fixture.reopened(readingAll: true).readByteCount >= anchored)
    }

    @Test func `a page is found without reading from the beginning`() throws {
        let fixture = try LogFixture()
        for number in 1...3000 { try fixture.log.append(LogFixture.entry(number), durability: .soon) }
        try fixture.log.close()
        let size = try fixture.bytes().count
        let log = try fixture.reopened()
        for number in 3001...3200 { try log.append(LogFixture.entry(number), durability: .soon) }

        func bytesRead(_ first: UInt64) throws -> Int {
            let before = log.readByteCount
            let page = try log.page(from: first, limit: 2).records
            #expect(page.map(\.content) == [first, first + 1].map { .entry(LogFixture.entry(Int($0))) })
            return log.readByteCount - before
        }
        // Behind the anchor, and then once all before it.
        #expect(try bytesRead(3150) < 100_000)
        #expect(log.readByteCount < 110_000)
        let first = try bytesRead(1500)
        #expect(size..<size + 150_000 ~= first)
        for index in [1, 64, 1499, 2998, 3001, 3199] as [UInt64] { #expect(try bytesRead(index) < 150_000) }
    }

    @Test func `an anchor that names a wrong place is not believed`() throws {
        let fixture = try LogFixture(entries: 4)
        let anchor = try #require(fixture.anchors.anchor)
        let positions = [0, 1, 27, 28, 59, 100, UInt64(try fixture.bytes().count) + 1, .max, UInt64(Int.max)]
        for position in positions {
            fixture.anchors.anchor = Anchor(
                count: anchor.count, head: anchor.head, epoch: anchor.epoch, sealedKey: anchor.sealedKey,
                place: Anchor.Place(position: position, storeGeneration: 0))
            let log = try fixture.reopened()
            #expect(log.state == .intact && log.recordCount == 6, "\(position)")
            #expect(try log.verify(seeds: LogFixture.seeds).isIntact)
        }
        // Nor one that fits no record.
        fixture.anchors.anchor = Anchor(
            count: anchor.count, head: Data(count: 32), epoch: anchor.epoch, sealedKey: anchor.sealedKey,
            place: anchor.place)
        #expect(
            try fixture.reopened().state == .damaged(Damage(firstMisfit: 5, isExact: false, kind: .altered)))
    }

    @Test func `records before the anchor that do not lead to it are not shown`() throws {
        let fixture = try LogFixture(entries: 5)
        let length = try fixture.bytes().count
        let bytes = try fixture.rechained(changing: 1) { $0[$0.count - 1] ^= 1 }
        // The anchored head is left where it was, so that opening has nothing to complain about.
        try fixture.replace(bytes.dropLast(32) + fixture.bytes().suffix(32))
        #expect(try fixture.bytes().count == length)
        let log = try fixture.reopened()
        #expect(log.state == .intact)
        for index in 0..<7 as Range<UInt64> {
            #expect(throws: AuditLogError.damaged) { try log.page(from: index, limit: 1) }
        }
    }

    @Test func `places before the anchor are not taken from a file that was changed since the opening`() throws {
        let fixture = try LogFixture()
        for number in 1...200 { try fixture.log.append(LogFixture.entry(number), durability: .soon) }
        try fixture.log.close()
        let log = try fixture.reopened()
        let original = try fixture.bytes()
        try fixture.replace(fixture.rechained(changing: 10) { $0[$0.count - 1] ^= 1 })
        for first in [0, 10, 64, 130] as [UInt64] {
            #expect(throws: AuditLogError.damaged) { try log.page(from: first, limit: 1) }
        }
        try fixture.replace(original)
        #expect(try log.page(from: 10, limit: 1).records.count == 1)
    }

    @Test func `records that somebody changes with all hashes behind them are not shown`() throws {
        let fixture = try LogFixture()
        for number in 1...130 { try fixture.log.append(LogFixture.entry(number), durability: .soon) }
        try fixture.replace(fixture.rechained(changing: 70) { $0[$0.count - 1] ^= 1 })
        #expect(try fixture.log.page(from: 60, limit: 3).records.count == 3)
        for first in [65, 70, 100, 129] as [UInt64] {
            #expect(throws: AuditLogError.damaged) { try fixture.log.page(from: first, limit: 1) }
        }
    }

    @Test func `places in a log are few, however long it is`() throws {
        let start = Checkpoint(index: 0, position: 28, head: [])
        var index = LogIndex(base: start)
        let last = UInt64(64 * LogIndex.capacity * 5)
        for number in 1...last { index.add(number, Checkpoint(index: number, position: Int(number), head: [])) }
        #expect(index.checkpoints.count <= LogIndex.capacity && index.interval == 512)
        #expect(index.checkpoints.map(\.index) == (1...last / 512).map { $0 * 512 })
        #expect(index.place(before: 511) == start)
        #expect(index.place(before: 512)?.index == 512)
        #expect(index.place(before: last + 9)?.index == last / 512 * 512)
        #expect(index.place(after: 511)?.index == 512)
        #expect(index.place(after: last) == nil)
    }

    // MARK: keys

    @Test func `a key serves from one anchor to the next`() throws {
        let fixture = try LogFixture()
        for count in [3, 1, 2] {
            for number in 0..<count { try fixture.log.append(LogFixture.entry(number), durability: .soon) }
            try fixture.log.anchor()
            try fixture.log.anchor()
        }
        let uses = try fixture.pieces().records.map { PayloadStart(Array($0.dropFirst(4)))?.keyUse }
        #expect(uses == [.first, .first, .same, .same, .first, .first, .same])
        #expect(try fixture.log.verify(seeds: LogFixture.seeds).sealsChecked)
    }

    @Test func `an anchor that cannot be saved moves the key on once`() throws {
        let fixture = try LogFixture()
        try fixture.log.append(LogFixture.entry(0), durability: .soon)
        fixture.anchors.fails = true
        for _ in 0..<3 { #expect(throws: TestAnchorStore.Failure()) { try fixture.log.anchor() } }
        try fixture.log.append(LogFixture.entry(1), durability: .soon)
        #expect(throws: TestAnchorStore.Failure()) { try fixture.log.anchor() }
        fixture.anchors.fails = false
        let reopened = try fixture.reopened()
        #expect(reopened.state == .intact && reopened.recordCount == 3)
        try fixture.log.anchor()
        try fixture.log.append(LogFixture.entry(2), durability: .soon)
        let verdict = try fixture.reopened().verify(seeds: LogFixture.seeds)
        #expect(verdict.isIntact && verdict.sealsChecked && verdict.recordCount == 4)
    }

    /// A record whose seal fits the key, made by somebody who holds it.
    private func record(_ use: KeyUse, sealedWith key: borrowing SealKey, after head: [UInt8]) -> RawRecord {
        let payload = LogPayload(.entry(LogFixture.entry(1)), storeGeneration: 0, keyUse: use).bytes
        var code = [UInt8](repeating: 0, count: 32)
        let message = head + payload
        message.withUnsafeBytes { message in
            code.withUnsafeMutableBytes { key.writeCode(over: message, to: $0) }
        }
        return RawRecord(index: 1, payload: payload, code: code, head: [], end: 0)
    }

    @Test func `a record says truly whether it is the first under its key, or is refused`() throws {
        let head = [UInt8](repeating: 7, count: 32)
        var next = SealKey(epochSeed: testSeed(epoch: 1))
        next.markUsed()
        next.advanceIfUsed()
        for isUsed in [false, true] {
            for use in [KeyUse.first, .same] {
                for isNext in [false, true] {
                    var key = SealKey(epochSeed: testSeed(epoch: 1))
                    let record =
                        isNext
                        ? record(use, sealedWith: next, after: head) : record(use, sealedWith: key, after: head)
                    if isUsed { key.markUsed() }
                    let isAccepted = key.accepts(record, after: head)
                    // Unused: the first one, under this key. Used: another under this one, or the first under the next.
                    let isDue = isUsed ? (use == .same) != isNext : use == .first && !isNext
                    #expect(isAccepted == isDue, "used: \(isUsed), \(use), next: \(isNext)")
                }
            }
        }
    }
}
