import Foundation
import SecretMemory
import StoreTestSupport
import Testing

@testable import AuditLog

/// Each record carries the number of changes that the store had seen, so the log tells an older store from its own.
@Suite("An audit log beside another store")
struct AuditLogStoreTests {
    /// Store and log at some moment, as somebody copies them.
    private struct Copy {
        let anchor: Anchor?
        let generation: UInt64
        let file: Data

        init(_ fixture: LogFixture) throws {
            anchor = fixture.anchors.anchor
            generation = fixture.anchors.storeGeneration
            file = try fixture.bytes()
        }
    }

    private let fixture: LogFixture

    init() throws { fixture = try LogFixture(entries: 2) }

    /// A change of the store, and the record that says that it was made.
    private func change(_ number: Int) throws {
        fixture.anchors.storeGeneration += 1
        try fixture.log.append(LogFixture.entry(number), durability: .soon)
    }

    private func putBack(_ copy: Copy) {
        fixture.anchors.anchor = copy.anchor
        fixture.anchors.storeGeneration = copy.generation
    }

    // MARK: what is in order

    @Test func `a record carries the number that the store had when it was written`() throws {
        fixture.anchors.storeGeneration = 0x0102_0304_0506_0708
        try fixture.log.append(LogFixture.entry(2), durability: .soon)
        #expect(try fixture.log.page(from: 3, limit: 1).records.map(\.storeGeneration) == [0x0102_0304_0506_0708])
        #expect(try fixture.pieces().records[3][4..<15] == Data([3, 1, 1, 1, 2, 3, 4, 5, 6, 7, 8]))
    }

    @Test func `a record without the anchor that should have followed opens`() throws {
        let before = try Copy(fixture)
        try fixture.log.append(LogFixture.entry(2), durability: .beforeUse)
        try fixture.log.anchor()
        putBack(before)
        let log = try fixture.reopened()
        #expect(log.state == .intact && log.recordCount == 4)
        #expect(try log.verify(seeds: LogFixture.seeds).isIntact)
    }

    @Test func `a change without the record that should have followed opens`() throws {
        fixture.anchors.storeGeneration += 5
        #expect(try fixture.reopened().state == .intact)
    }

    // MARK: an older store

    @Test(arguments: [false, true]) func `the store of before a change is refused beside the log of after it`(
        isAnchored: Bool
    ) throws {
        let before = try Copy(fixture)
        try change(2)
        if isAnchored { try fixture.log.anchor() }
        try change(3)
        let present = try fixture.bytes()
        putBack(before)
        let store = try #require(
            OlderStore(recordIndex: 3, recordGeneration: before.generation + 1, storeGeneration: before.generation))
        #expect(try fixture.reopened().state == .olderStore(store))
        #expect(try fixture.reopened(readingAll: true).state == .olderStore(store))
        #expect(try fixture.bytes() == present)
    }

    @Test func `a store that is older by one change is refused, and the one before the record is not`() throws {
        try change(2)
        let number = fixture.anchors.storeGeneration
        fixture.anchors.storeGeneration = number - 1
        guard case .olderStore(let store) = try fixture.reopened().state else { throw NotOlder() }
        #expect(store.recordIndex == 3 && store.recordGeneration == number && store.storeGeneration == number - 1)
        fixture.anchors.storeGeneration = number
        #expect(try fixture.reopened().state == .intact)
    }

    @Test func `an older store with the present anchor is refused`() throws {
        let before = fixture.anchors.storeGeneration
        try change(2)
        try fixture.log.anchor()
        fixture.anchors.storeGeneration = before
        let store = try #require(
            OlderStore(recordIndex: 3, recordGeneration: before + 1, storeGeneration: before))
        #expect(try fixture.reopened().state == .olderStore(store))
    }

    @Test func `an older store is told from damage also when epochs began since`() throws {
        let before = try Copy(fixture)
        for epoch in 2...3 as ClosedRange<UInt32> {
            fixture.anchors.storeGeneration += 1
            try fixture.log.startEpoch(epoch, seed: testSeed(epoch: epoch), time: 0)
            try change(Int(epoch))
        }
        putBack(before)
        guard case .olderStore(let store) = try fixture.reopened().state else { throw NotOlder() }
        #expect(store.recordIndex == 3)
    }

    @Test func `so is one from between an epoch's seed and its anchor`() throws {
        fixture.anchors.storeGeneration += 1
        let between = try Copy(fixture)
        try fixture.log.startEpoch(2, seed: testSeed(epoch: 2), time: 0)
        // As a crash leaves it.
        let present = try Copy(fixture)
        putBack(between)
        #expect(try fixture.reopened().state == .recovered(lostBytes: 91))
        // As somebody leaves it who took the store of then, after the epoch took records.
        putBack(present)
        try fixture.replace(present.file)
        let log = try fixture.reopened()
        fixture.anchors.storeGeneration += 1
        try log.append(LogFixture.entry(4), durability: .soon)
        putBack(between)
        guard case .olderStore(let store) = try fixture.reopened().state else { throw NotOlder() }
        #expect(store.recordIndex == 4)
    }

    // MARK: an older log

    @Test(arguments: [false, true]) func `an older log is refused beside the present store`(readingAll: Bool) throws {
        let before = try Copy(fixture)
        try change(2)
        try fixture.log.anchor()
        try fixture.replace(before.file)
        let damage = Damage(firstMisfit: 3, kind: .cut)
        #expect(try fixture.reopened(readingAll: readingAll).state == .damaged(damage))
    }

    @Test func `an older log with its anchor says nothing of the store, which refuses the anchor`() throws {
        // The store's root covers the anchor. To the log, this is a change whose record was never written.
        let before = try Copy(fixture)
        try change(2)
        try fixture.log.anchor()
        try fixture.replace(before.file)
        fixture.anchors.anchor = before.anchor
        #expect(try fixture.reopened().state == .intact)
    }

    // MARK: a forged number

    @Test func `a number is sealed like the rest of its record`() throws {
        let before = fixture.anchors.storeGeneration
        try change(2)
        for (bit, number) in [(0, before), (7, before + 1)] {
            // The present store beside a number that was made larger, an older one beside a number that was made smaller.
            fixture.anchors.storeGeneration = number
            let bytes = try fixture.rechained(changing: 3) { payload in
                if bit == 0 { payload[10] -= 1 } else { payload[3] |= 0x80 }
            }
            let original = try fixture.bytes()
            try fixture.replace(bytes)
            #expect(try fixture.reopened().state == .damaged(Damage(firstMisfit: 3, kind: .altered)))
            try fixture.replace(original)
        }
    }

    @Test func `a record cannot be given the form that names no number`() throws {
        let before = fixture.anchors.storeGeneration
        try change(2)
        fixture.anchors.storeGeneration = before
        try fixture.replace(fixture.rechained(changing: 3) { $0 = [1, $0[1]] + $0[11...] })
        #expect(try fixture.reopened().state == .damaged(Damage(firstMisfit: 3, kind: .altered)))
    }

    @Test(arguments: [false, true]) func `verification names an older store`(withSeeds: Bool) throws {
        try change(2)
        let number = fixture.anchors.storeGeneration
        fixture.anchors.storeGeneration = number - 1
        let verdict = try fixture.log.verify(seeds: { withSeeds ? LogFixture.seeds($0) : nil })
        #expect(!verdict.isIntact && verdict.firstMisfit == 3 && verdict.isExact && verdict.recordCount == 3)
        #expect(verdict.olderStore == OlderStore(recordIndex: 3, recordGeneration: number, storeGeneration: number - 1))
        #expect(verdict.explanation.hasPrefix("The store is older than the log"))
    }

    // MARK: beside an older store

    @Test func `a log beside an older store takes no records and can be verified`() throws {
        let before = try Copy(fixture)
        try change(2)
        putBack(before)
        let bytes = try fixture.bytes()
        let log = try fixture.reopened()
        #expect(throws: AuditLogError.damaged) { try log.append(LogFixture.entry(9), durability: .soon) }
        #expect(throws: AuditLogError.damaged) { try log.anchor() }
        #expect(throws: AuditLogError.damaged) { try log.startEpoch(3, seed: testSeed(epoch: 3), time: 0) }
        #expect(log.epoch == nil && log.recordCount == 3)
        #expect(try log.page(from: 0, limit: 9).records.count == 3)
        #expect(try log.verify().olderStore?.recordIndex == 3)
        #expect(try fixture.bytes() == bytes)
        #expect(fixture.anchors.anchor == before.anchor)
    }

    @Test func `the owner can take the older store for the present one, and the log says so`() throws {
        let before = try Copy(fixture)
        try change(2)
        putBack(before)
        let old = try fixture.bytes()
        let log = try fixture.reopened(readingAll: true)
        try log.beginAnew(epoch: 2, seed: testSeed(epoch: 2), time: 5)
        #expect(log.state == .intact)
        #expect(
            try log.page(from: 0, limit: 9).records.map(\.content)
                == [.beganAnew(epoch: 2, time: 5, formerCount: 3, firstMisfit: 3)])
        #expect(try fixture.reopened().state == .intact)
        #expect(try Data(contentsOf: URL(fileURLWithPath: fixture.path + ".damaged.1")) == old)
    }

    struct NotOlder: Error {}
}
