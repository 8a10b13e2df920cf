import ExactNames
import Foundation
import Glibc
import StoreTestSupport
import Testing

@testable import AuditLog

/// Each owner's view of a log that all owners of a store write.
@Suite("The records of one owner in a shared log")
struct OwnRecordTests {
    private static let (alice, bob, nobody) = (OwnerID.test(1), OwnerID.test(2), OwnerID.test(3))
    private let fixture: LogFixture
    private var log: AuditLog { fixture.log }

    init() throws { fixture = try LogFixture() }

    private func append(_ numbers: Range<Int>, of owner: OwnerID?) throws {
        for number in numbers { try log.append(LogFixture.entry(number, of: owner), durability: .soon) }
    }

    /// The times of an owner's entries are numbers of their own, so a page shows whether it is in order.
    private func times(_ page: LogPage) -> [UInt64] {
        page.records.map { if case .entry(let entry) = $0.content { entry.time } else { .max } }
    }

    private func page(_ log: AuditLog, from first: UInt64 = 0, limit: Int = 1000, of owner: OwnerID) throws -> LogPage {
        try log.page(from: first, limit: limit, for: .owner(owner))
    }

    /// Alice and Bob write in turns, Bob twice as much; the log has the daemon's records between them.
    private func fill() throws {
        for round in 0..<5 {
            try append(round * 10..<round * 10 + 10, of: Self.alice)
            try append(round * 20..<round * 20 + 20, of: Self.bob)
            try append(0..<1, of: nil)
        }
        try log.anchor()
    }

    // MARK: pages and counts

    @Test func `each owner has pages and a count of their own, from 0 on`() throws {
        try fill()
        for log in [log, try fixture.reopened()] {
            for (owner, count) in [(Self.alice, 50), (Self.bob, 100), (Self.nobody, 0)] as [(OwnerID, UInt64)] {
                #expect(try log.recordCount(for: .owner(owner)) == count)
                let whole = try page(log, of: owner)
                #expect(times(whole) == Array(0..<count) && whole.records.map(\.index) == Array(0..<count))
                #expect(whole.records.allSatisfy { $0.content.owner == owner })
                for first in 0..<count + 2 {
                    let part = try page(log, from: first, limit: 7, of: owner)
                    #expect(
                        times(part) == Array(first..<max(first, min(first + 7, count))) && part.recordCount == count)
                }
            }
            #expect(log.recordCount == 156)
        }
    }

    @Test func `the one owner of a log sees the daemon's records too, numbered as in the log`() throws {
        try append(0..<3, of: Self.alice)
        try log.startEpoch(2, seed: testSeed(epoch: 2), time: 2)
        try append(3..<5, of: Self.alice)
        let audience = LogAudience.ownerAndDaemon(Self.alice)
        #expect(try log.page(from: 0, limit: 9, for: audience) == log.page(from: 0, limit: 9, for: .everything))
        #expect(try log.recordCount(for: audience) == 7)
        let verdict = try log.verify(for: audience, seeds: LogFixture.seeds)
        #expect(try verdict == log.verify(seeds: LogFixture.seeds))
        #expect(verdict.isIntact && verdict.sealsChecked && verdict.recordCount == 7)
        #expect(try log.verify(for: audience) == log.verify())
    }

    @Test func `the one owner of a log sees no records of somebody else, and a page is not empty for them`() throws {
        try append(0..<2, of: Self.alice)
        try append(0..<30, of: Self.bob)
        try append(2..<3, of: Self.alice)
        let audience = LogAudience.ownerAndDaemon(Self.alice)
        #expect(try log.page(from: 0, limit: 9, for: audience).records.map(\.index) == [0, 1, 2])
        let page = try log.page(from: 3, limit: 9, for: audience)
        #expect(page.records.map(\.index) == [33] && times(page) == [2])
        #expect(try log.page(from: 34, limit: 9, for: audience).records.isEmpty)
    }

    @Test func `pages and counts are right while both owners write`() throws {
        let count = 400
        let results = concurrently(4) { thread in
            let owner = thread.isMultiple(of: 2) ? Self.alice : Self.bob
            if thread < 2 { return try append(0..<count, of: owner) }
            var seen: UInt64 = 0
            while seen < count {
                let page = try page(log, from: seen, limit: 50, of: owner)
                #expect(times(page) == Array(seen..<seen + UInt64(page.records.count)))
                #expect(page.recordCount >= seen + UInt64(page.records.count))
                seen += UInt64(page.records.count)
            }
        }
        for result in results { try result.get() }
        #expect(try log.recordCount(for: .owner(Self.bob)) == UInt64(count))
    }

    @Test func `a page of a large log reads little, also for who has few records in it`() throws {
        try append(0..<1, of: Self.alice)
        try append(0..<6000, of: Self.bob)
        try append(1..<2, of: Self.alice)
        try append(6000..<9000, of: Self.bob)
        _ = try log.recordCount(for: .owner(Self.alice))
        _ = try log.recordCount(for: .owner(Self.bob))
        func expectReading(atMost pieceCount: Int, _ body: () throws -> Void) throws {
            let before = log.readByteCount
            try body()
            // A stretch has some 12 KB here, and files are read in pieces of 64 KiB.
            #expect(log.readByteCount - before <= pieceCount * 65_536)
        }
        #expect(try fixture.bytes().count > 20 * 65_536)
        try expectReading(atMost: 2) {
            let read = try times(page(log, of: Self.alice))
            #expect(read == [0, 1])
        }
        try expectReading(atMost: 1) {
            let read = try times(page(log, from: 8000, limit: 2, of: Self.bob))
            #expect(read == [8000, 8001])
        }
        // Only the records since then are looked at.
        try append(2..<3, of: Self.alice)
        try expectReading(atMost: 1) {
            let count = try log.recordCount(for: .owner(Self.alice))
            #expect(count == 3)
        }
    }

    @Test func `there is at most one mark for each stretch`() {
        var places = OwnRecords.Places()
        #expect(places.marks(from: 0).isEmpty)
        for index in [5, 6, 63, 64, 200] as [UInt64] { places.add(index, inPart: 1) }
        for index in [201, 203, 260] as [UInt64] { places.add(index, inPart: 2) }
        #expect(places.marks.map(\.index) == [5, 64, 200, 201, 260] && places.marks.map(\.number) == [0, 3, 4, 5, 7])
        #expect(
            places.marks.indices.map(places.records(ofMark:)) == [5..<64, 64..<128, 200..<201, 201..<256, 260..<320])
        #expect(places.count == 8)
        for (number, place) in [(0, 0), (2, 0), (3, 1), (4, 2), (5, 3), (6, 3), (7, 4), (9, 4)] as [(UInt64, Int)] {
            #expect(places.marks(from: number) == place..<5)
        }
    }

    // MARK: parts

    /// Three parts, in each of which Alice has two records and Bob one.
    private func fillParts() throws {
        for round in 0..<3 {
            if round > 0 { try log.cut(time: 1) }
            try append(round * 2..<round * 2 + 2, of: Self.alice)
            try append(round..<round + 1, of: Self.bob)
        }
        try log.anchor()
    }

    @Test func `a page ends with a part, and the next one goes on`() throws {
        try fillParts()
        for log in [log, try fixture.reopened()] {
            #expect(try log.recordCount(for: .owner(Self.alice)) == 6)
            for (first, expected) in [(0, [0, 1]), (1, [1]), (2, [2, 3]), (4, [4, 5])] as [(UInt64, [UInt64])] {
                let page = try page(log, from: first, of: Self.alice)
                #expect(times(page) == expected && page.records.map(\.index) == expected)
            }
        }
    }

    @Test func `a part that is closed between two questions is looked at once`() throws {
        try append(0..<2, of: Self.alice)
        #expect(try log.recordCount(for: .owner(Self.alice)) == 2)
        try append(2..<3, of: Self.alice)
        try log.cut(time: 1)
        try append(3..<4, of: Self.alice)
        #expect(try log.recordCount(for: .owner(Self.alice)) == 4)
        #expect(try times(page(log, of: Self.alice)) == [0, 1, 2])
        #expect(try times(page(log, from: 3, of: Self.alice)) == [3])
    }

    @Test func `records of a part that is not there are not counted, and the verdict says so`() throws {
        try fillParts()
        try #require(rename(fixture.path + ".2", fixture.folder.path("kept")) == 0)
        let reopened = try fixture.reopened()
        #expect(try reopened.recordCount(for: .owner(Self.alice)) == 4)
        #expect(try times(page(reopened, of: Self.alice)) == [0, 1])
        #expect(try times(page(reopened, from: 2, of: Self.alice)) == [4, 5])
        let verdict = try reopened.verify(for: .owner(Self.alice), seeds: LogFixture.seeds)
        #expect(verdict.isIntact && !verdict.sealsChecked && verdict.recordCount == 4 && verdict.missingParts.isEmpty)
        #expect(
            verdict.explanation
                == "All of your records fit the chain and its anchor; not all of their seals were checked. Parts of the log "
                + "are not there; your records in them were not counted or checked.")
    }

    @Test func `no other records take the numbers of a part that goes after it was looked at`() throws {
        try fillParts()
        #expect(try log.recordCount(for: .owner(Self.alice)) == 6)
        try #require(rename(fixture.path + ".2", fixture.folder.path("kept")) == 0)
        #expect(try times(page(log, of: Self.alice)) == [0, 1])
        let later = try page(log, from: 2, of: Self.alice)
        #expect(later.records.map(\.index) == [4, 5] && times(later) == [4, 5])
    }

    @Test func `a log that replaced a damaged one has none of the former records`() throws {
        try fill()
        #expect(try log.recordCount(for: .owner(Self.alice)) == 50)
        try fixture.replace(fixture.bytes().dropLast(300))
        let damaged = try fixture.reopened()
        #expect(try damaged.recordCount(for: .owner(Self.alice)) == 50)
        try damaged.beginAnew(epoch: 2, seed: testSeed(epoch: 2), time: 3)
        #expect(try damaged.recordCount(for: .owner(Self.alice)) == 0)
        try damaged.append(LogFixture.entry(0, of: Self.alice), durability: .soon)
        #expect(try times(page(damaged, of: Self.alice)) == [0])
        #expect(try page(damaged, of: Self.bob).recordCount == 0)
    }

    // MARK: verdicts

    @Test func `a verdict counts the owner's records, and names none of others`() throws {
        try fill()
        for (owner, count) in [(Self.alice, 50), (Self.bob, 100)] as [(OwnerID, UInt64)] {
            let verdict = try log.verify(for: .owner(owner), seeds: LogFixture.seeds)
            #expect(verdict.isIntact && verdict.recordCount == count && verdict.firstMisfit == nil)
            #expect(verdict.sealsChecked && verdict.explanation == "All of your records and their seals fit.")
            #expect(try !log.verify(for: .owner(owner)).sealsChecked)
        }
    }

    @Test func `seals count as checked if those of the owner's records were`() throws {
        try append(0..<2, of: Self.alice)
        try log.startEpoch(2, seed: testSeed(epoch: 2), time: 2)
        try append(0..<2, of: Self.bob)
        try log.startEpoch(3, seed: testSeed(epoch: 3), time: 2)
        try append(2..<3, of: Self.bob)
        try append(2..<3, of: Self.alice)
        func isChecked(_ owner: OwnerID, without epochs: Set<UInt32>) throws -> Bool {
            let verdict = try log.verify(for: .owner(owner)) { epochs.contains($0) ? nil : testSeed(epoch: $0) }
            #expect(verdict.isIntact)
            return verdict.sealsChecked
        }
        #expect(try isChecked(Self.alice, without: [2]) && !isChecked(Self.bob, without: [2]))
        #expect(try !isChecked(Self.alice, without: [1]) && isChecked(Self.bob, without: [1]))
        #expect(try !isChecked(Self.alice, without: [3]) && !isChecked(Self.bob, without: [3]))
    }

    // MARK: forged files

    /// The offset of an entry's owner in a record.
    private static let ownerOffset = 4 + PayloadStart.byteCount

    private func changeOwner(ofRecord index: Int, to owner: OwnerID) throws {
        var (header, records) = try fixture.pieces()
        records[index].replaceSubrange(
            Self.ownerOffset..<Self.ownerOffset + OwnerID.byteCount, with: owner.bytes)
        try fixture.replace(header: header, records: records)
    }

    private func expectFound(_ log: AuditLog, at index: UInt64, own: [(OwnerID, UInt64)]) throws {
        for withSeeds in [false, true] {
            let verdict = try log.verify(seeds: { withSeeds ? LogFixture.seeds($0) : nil })
            #expect(!verdict.isIntact && verdict.firstMisfit == index && verdict.isExact)
            for (owner, count) in own {
                let verdict = try log.verify(for: .owner(owner)) { withSeeds ? LogFixture.seeds($0) : nil }
                #expect(!verdict.isIntact && verdict.recordCount == count && verdict.firstMisfit == count)
                #expect(verdict.explanation == "The store's log does not fit. Your records before this one do.")
            }
        }
    }

    @Test func `a record that somebody gives to another owner is found by both`() throws {
        try append(0..<3, of: Self.alice)
        try append(0..<3, of: Self.bob)
        try log.anchor()
        let whole = try fixture.bytes()
        for (index, owner, own) in [
            (2, Self.bob, [(Self.alice, 1), (Self.bob, 0)]), (5, Self.alice, [(Self.alice, 3), (Self.bob, 1)]),
            (5, Self.nobody, [(Self.alice, 3), (Self.bob, 1), (Self.nobody, 0)]),
        ] as [(Int, OwnerID, [(OwnerID, UInt64)])] {
            try changeOwner(ofRecord: index, to: owner)
            for log in [log, try fixture.reopened()] {
                try expectFound(log, at: UInt64(index), own: own)
                for owner in [Self.alice, Self.bob, Self.nobody] {
                    #expect(throws: AuditLogError.damaged) { try page(log, of: owner) }
                    #expect(throws: AuditLogError.damaged) { try log.recordCount(for: .owner(owner)) }
                }
            }
            try fixture.replace(whole)
            #expect(try fixture.reopened().verify(for: .owner(owner)).isIntact)
        }
    }

    @Test func `a record that somebody gives to the daemon is found`() throws {
        try append(0..<3, of: Self.alice)
        try log.anchor()
        try changeOwner(ofRecord: 2, to: .test(0))
        try expectFound(log, at: 2, own: [(Self.alice, 1)])
        let damage = LogState.damaged(Damage(firstMisfit: 2, kind: .altered))
        #expect(try fixture.reopened(readingAll: true).state == damage)
    }

    @Test func `a given record whose hashes were computed again is found, and with the seeds it is named`() throws {
        try append(0..<3, of: Self.alice)
        try append(0..<3, of: Self.bob)
        try log.anchor()
        let forged = try fixture.rechained(changing: 2) {
            $0.replaceSubrange(PayloadStart.byteCount..<PayloadStart.byteCount + 16, with: Self.bob.bytes)
        }
        try fixture.replace(forged)
        let unkeyed = try log.verify(for: .owner(Self.alice))
        #expect(!unkeyed.isIntact && !unkeyed.isExact)
        #expect(
            unkeyed.explanation
                == "The store's log is not the one that was anchored. Your records may be changed.")
        let keyed = try log.verify(for: .owner(Self.alice), seeds: LogFixture.seeds)
        #expect(!keyed.isIntact && keyed.isExact && keyed.firstMisfit == 1)
        for owner in [Self.alice, Self.bob] { #expect(throws: AuditLogError.damaged) { try page(log, of: owner) } }
        #expect(
            try fixture.reopened().state == .damaged(Damage(firstMisfit: 6, isExact: false, kind: .altered)))
    }

    @Test func `a record that somebody moves among those of another owner is found`() throws {
        try append(0..<3, of: Self.alice)
        try append(0..<3, of: Self.bob)
        try log.anchor()
        var (header, records) = try fixture.pieces()
        records.insert(records.remove(at: 1), at: 5)
        try fixture.replace(header: header, records: records)
        try expectFound(log, at: 1, own: [(Self.alice, 0), (Self.bob, 0)])
        #expect(throws: AuditLogError.damaged) { try page(log, of: Self.bob) }
    }

    @Test func `a page finds a record that is changed after it was looked at`() throws {
        try append(0..<3, of: Self.alice)
        try append(0..<3, of: Self.bob)
        #expect(try page(log, of: Self.alice).recordCount == 3)
        try changeOwner(ofRecord: 5, to: Self.alice)
        #expect(throws: AuditLogError.damaged) { try page(log, of: Self.alice) }
        #expect(throws: AuditLogError.damaged) { try page(log, of: Self.bob) }
    }

    @Test func `the store being older is told without numbers`() throws {
        try append(0..<3, of: Self.alice)
        fixture.anchors.storeGeneration += 5
        try append(3..<4, of: Self.alice)
        fixture.anchors.storeGeneration -= 5
        let verdict = try log.verify(for: .owner(Self.alice))
        #expect(!verdict.isIntact && verdict.olderStore != nil && verdict.recordCount == 3)
        #expect(verdict.explanation == "The store is older than its log.")
    }
}
