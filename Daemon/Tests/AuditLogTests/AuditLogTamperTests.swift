import Foundation
import SecretMemory
import StoreTestSupport
import Testing

@testable import AuditLog

@Suite("An audit log that somebody changes")
struct AuditLogTamperTests {
    /// Which record a byte of the file belongs to; the header counts as the first.
    private func record(at offset: Int, in records: [Data]) -> UInt64 {
        var end = 28
        for (index, record) in records.enumerated() {
            end += record.count
            if offset < end { return UInt64(index) }
        }
        return UInt64(records.count)
    }

    @Test func `each changed byte is found and its record named, with and without seeds`() throws {
        let fixture = try LogFixture(entries: 4)
        let original = try fixture.bytes()
        let records = try fixture.pieces().records
        #expect(records.count == 6)
        for offset in original.indices {
            var bytes = original
            bytes[offset] ^= 0x40
            try fixture.replace(bytes)
            let expected = record(at: offset, in: records)
            for withSeeds in [true, false] {
                let verdict = try fixture.log.verify(seeds: { withSeeds ? LogFixture.seeds($0) : nil })
                #expect(!verdict.isIntact && verdict.firstMisfit == expected && verdict.isExact, "byte \(offset)")
            }
        }
    }

    private func expectFound(_ byte: Int, of original: Data, in fixture: LogFixture, readingAll: Bool) throws {
        var bytes = original
        // Another version is refused as such; the low byte of a version cannot become a lower one.
        bytes[byte] ^= byte == 9 ? 1 : 0x40
        try fixture.replace(bytes)
        if byte == 8 {
            #expect(throws: AuditLogError.tooNew(found: 0x4001, supported: 2)) { try fixture.reopened() }
            return
        }
        guard case .damaged(let damage) = try fixture.reopened(readingAll: readingAll).state else {
            Issue.record("byte \(byte) was not noticed")
            return
        }
        try fixture.replace(original)
        let expected = record(at: byte, in: try fixture.pieces().records)
        #expect(damage.firstMisfit == expected && damage.isExact, "byte \(byte)")
    }

    @Test func `each changed byte behind the anchor is found at opening`() throws {
        let fixture = try LogFixture(entries: 2)
        let anchored = try fixture.bytes().count
        for number in 2..<5 { try fixture.log.append(LogFixture.entry(number), durability: .soon) }
        let original = try fixture.bytes()
        for offset in anchored..<original.count {
            try expectFound(offset, of: original, in: fixture, readingAll: false)
        }
    }

    @Test func `each changed byte is found at opening when the whole log is read`() throws {
        let fixture = try LogFixture(entries: 2)
        let original = try fixture.bytes()
        for offset in original.indices { try expectFound(offset, of: original, in: fixture, readingAll: true) }
    }

    @Test func `the anchored end and the file's kind are looked at by every opening`() throws {
        let fixture = try LogFixture(entries: 4)
        let original = try fixture.bytes()
        for offset in Array(0..<12) + Array(original.count - 32..<original.count) {
            try expectFound(offset, of: original, in: fixture, readingAll: false)
        }
    }

    @Test func `a record before the anchor that was changed is found by verification, not by opening`() throws {
        let fixture = try LogFixture(entries: 4)
        var bytes = try fixture.bytes()
        bytes[100] ^= 1
        try fixture.replace(bytes)
        let log = try fixture.reopened()
        #expect(log.state == .intact)
        #expect(throws: AuditLogError.damaged) { try log.page(from: 0, limit: 1) }
        try log.append(LogFixture.entry(4), durability: .soon)
        let verdict = try log.verify()
        #expect(!verdict.isIntact && verdict.firstMisfit == 0 && verdict.isExact)
        let misfit = Damage(firstMisfit: 0, kind: .altered)
        #expect(try fixture.reopened(readingAll: true).state == .damaged(misfit))
    }

    @Test func `an untouched log is intact, and says whether seals were checked`() throws {
        let fixture = try LogFixture(entries: 5)
        let keyed = try fixture.log.verify(seeds: LogFixture.seeds)
        #expect(keyed.isIntact && keyed.sealsChecked && keyed.firstMisfit == nil && keyed.recordCount == 7)
        let unkeyed = try fixture.log.verify()
        #expect(unkeyed.isIntact && !unkeyed.sealsChecked)
        let partly = try fixture.log.verify(seeds: { $0 == 2 ? testSeed(epoch: 2) : nil })
        #expect(partly.isIntact && !partly.sealsChecked)
        #expect(try fixture.reopened().state == .intact)
    }

    @Test func `a wrong seed is a misfit at the epoch's first record`() throws {
        let fixture = try LogFixture(entries: 5)
        #expect(try fixture.log.verify(seeds: { _ in testSeed(epoch: 1) }).firstMisfit == 5)
        #expect(try fixture.log.verify(seeds: { _ in testSeed(epoch: 9) }).firstMisfit == 0)
    }

    enum Change: CaseIterable, Sendable {
        case cutLast, cutSome, cutAll, swap, remove, insertCopy, replayAtEnd

        func apply(to records: inout [Data]) -> UInt64 {
            switch self {
            case .cutLast: records.removeLast(); return 6
            case .cutSome: records.removeLast(4); return 3
            case .cutAll: records = []; return 0
            case .swap: records.swapAt(2, 3); return 2
            case .remove: records.remove(at: 2); return 2
            case .insertCopy: records.insert(records[1], at: 4); return 4
            case .replayAtEnd: records.append(records[2]); return 7
            }
        }
    }

    @Test(arguments: Change.allCases) func `moved, missing and repeated records are found`(change: Change) throws {
        let fixture = try LogFixture(entries: 5)
        var (header, records) = try fixture.pieces()
        let expected = change.apply(to: &records)
        try fixture.replace(header: header, records: records)
        if change != .replayAtEnd {
            // What lies behind the end that the running log knows is not part of it.
            let verdict = try fixture.log.verify()
            #expect(!verdict.isIntact && verdict.firstMisfit == expected && verdict.isExact)
        }
        let kind: Damage.Kind = [.cutLast, .cutSome, .cutAll].contains(change) ? .cut : .altered
        let damage = LogState.damaged(Damage(firstMisfit: expected, kind: kind))
        #expect(try fixture.reopened(readingAll: true).state == damage)
        // Two records of one length that changed places leave the anchored end where it was.
        if change != .swap { #expect(try fixture.reopened().state == damage) }
    }

    private func rechained(_ fixture: LogFixture, changing index: Int) throws -> Data {
        try fixture.rechained(changing: index) { $0[$0.count - 1] ^= 1 }
    }

    @Test(arguments: 1..<7) func `recomputed hashes are found, and with seeds the record is named`(index: Int) throws {
        let fixture = try LogFixture(entries: 5)
        try fixture.replace(rechained(fixture, changing: index))
        let unkeyed = try fixture.log.verify()
        #expect(!unkeyed.isIntact && !unkeyed.isExact && unkeyed.firstMisfit == 6)
        let keyed = try fixture.log.verify(seeds: LogFixture.seeds)
        #expect(!keyed.isIntact && keyed.isExact && keyed.firstMisfit == UInt64(index))
        #expect(
            try fixture.reopened().state == .damaged(Damage(firstMisfit: 6, isExact: false, kind: .altered)))
    }

    @Test func `recomputed hashes behind the anchor are named at opening`() throws {
        let fixture = try LogFixture(entries: 2)
        for number in 2..<6 { try fixture.log.append(LogFixture.entry(number), durability: .soon) }
        try fixture.replace(rechained(fixture, changing: 4))
        #expect(try fixture.reopened().state == .damaged(Damage(firstMisfit: 4, kind: .altered)))
    }

    @Test func `a missing file is cut off, not a new log`() throws {
        let fixture = try LogFixture(entries: 2)
        try FileManager.default.removeItem(atPath: fixture.path)
        let log = try fixture.reopened()
        #expect(log.state == .damaged(Damage(firstMisfit: 0, kind: .cut)))
        #expect(try log.verify().firstMisfit == 0)
        #expect(throws: AuditLogError.exists) {
            try AuditLog.create(
                folder: fixture.folder.path, ownedBy: geteuid(), anchors: fixture.anchors, sealer: TestSealer(),
                epoch: 2,
                seed: testSeed(epoch: 2), time: 0)
        }
    }

    @Test func `a log without an anchor is damaged`() throws {
        let fixture = try LogFixture(entries: 2)
        fixture.anchors.anchor = nil
        let log = try fixture.reopened()
        #expect(log.state == .damaged(Damage(firstMisfit: 0, kind: .notAnchored)))
        #expect(try !log.verify().isIntact)
    }

    @Test func `a symbolic link in the log's place is refused`() throws {
        let fixture = try LogFixture(entries: 2)
        let elsewhere = fixture.folder.path("elsewhere")
        try FileManager.default.moveItem(atPath: fixture.path, toPath: elsewhere)
        try FileManager.default.createSymbolicLink(atPath: fixture.path, withDestinationPath: elsewhere)
        #expect(throws: AuditLogError.damaged) { try fixture.reopened() }
    }

    @Test func `the anchor's key cannot make an earlier record`() throws {
        let fixture = try LogFixture(entries: 2)
        let stolen = try TestSealer().unseal(try #require(fixture.anchors.anchor).sealedKey)
        let (header, records) = try fixture.pieces()
        var head = HashChain.initialHead(header: Array(header))
        var epoch = SealKey(epochSeed: testSeed(epoch: 1))
        for (number, record) in records.enumerated() {
            let payload = Array(record[4..<record.count - 64])
            let code = Array(record[(record.count - 64)..<(record.count - 32)])
            let raw = RawRecord(index: UInt64(number), payload: payload, code: code, head: [], end: 0)
            // Neither the stolen key nor any key that follows from it seals a record that is there.
            var key = SealKey(SecretBytes(copying: stolen))
            for _ in 0..<8 {
                var isAccepted = key.accepts(raw, after: head)
                #expect(!isAccepted)
                key.markUsed()
                isAccepted = key.accepts(raw, after: head)
                #expect(!isAccepted)
                key.markUsed()
                key.advanceIfUsed()
            }
            let isAuthentic = epoch.accepts(raw, after: head)
            #expect(isAuthentic)
            head = HashChain.head(after: head, payload: payload, code: code)
        }
        epoch.advanceIfUsed()
        let isCurrentKey = epoch.copy().isEqual(to: stolen)
        #expect(isCurrentKey)
    }
}
