import Foundation
import SecretMemory
import StoreTestSupport
import Testing

@testable import AuditLog

@Suite("An audit log after a crash")
struct AuditLogRecoveryTests {
    @Test func `records behind the anchor are taken up, and the log goes on`() throws {
        let fixture = try LogFixture(entries: 2)
        for number in 2..<5 { try fixture.log.append(LogFixture.entry(number), durability: .soon) }
        let log = try fixture.reopened()
        #expect(log.state == .intact && log.recordCount == 6)
        try log.append(LogFixture.entry(5), durability: .beforeUse)
        let verdict = try log.verify(seeds: LogFixture.seeds)
        #expect(verdict.isIntact && verdict.sealsChecked && verdict.recordCount == 7)
    }

    @Test func `a torn last record behind the anchor is cut off at every length`() throws {
        let fixture = try LogFixture(entries: 2)
        let whole = try fixture.bytes()
        try fixture.log.append(LogFixture.entry(2), durability: .soon)
        let torn = try fixture.bytes()
        for count in (whole.count + 1)..<torn.count {
            try fixture.replace(torn.prefix(count))
            let log = try fixture.reopened()
            #expect(log.state == .recovered(lostBytes: count - whole.count) && log.recordCount == 3)
            #expect(try fixture.bytes() == whole)
        }
        let log = try fixture.reopened()
        try log.append(LogFixture.entry(3), durability: .soon)
        #expect(try log.verify(seeds: LogFixture.seeds).isIntact)
    }

    @Test(arguments: [1, 4, 100, 70_000]) func `zeros at the end are what a power failure leaves`(count: Int) throws {
        let fixture = try LogFixture(entries: 2)
        try fixture.replace(fixture.bytes() + Data(count: count))
        #expect(try fixture.reopened().state == .recovered(lostBytes: count))
    }

    @Test func `zeros with something behind them are damage`() throws {
        let fixture = try LogFixture(entries: 2)
        try fixture.replace(fixture.bytes() + Data(count: 100) + Data([1]))
        guard case .damaged(let damage) = try fixture.reopened().state else { throw NotDamaged() }
        #expect(damage.firstMisfit == 3)
    }

    @Test func `a torn record that was anchored is damage`() throws {
        let fixture = try LogFixture(entries: 2)
        try fixture.replace(fixture.bytes().dropLast(1))
        guard case .damaged(let damage) = try fixture.reopened().state else { throw NotDamaged() }
        #expect(damage.firstMisfit == 2 && damage.kind == .cut)
    }

    @Test func `an epoch that was not anchored has not begun`() throws {
        let fixture = try LogFixture(entries: 2)
        fixture.anchors.fails = true
        #expect(throws: TestAnchorStore.Failure()) {
            try fixture.log.startEpoch(2, seed: testSeed(epoch: 2), time: 0)
        }
        // Nothing may be appended under a key that nobody could find again.
        #expect(throws: AuditLogError.notDurable) {
            try fixture.log.append(LogFixture.entry(2), durability: .soon)
        }
        fixture.anchors.fails = false
        let log = try fixture.reopened()
        guard case .recovered = log.state else { throw NotDamaged() }
        #expect(log.epoch == 1 && log.recordCount == 3)
        try log.startEpoch(2, seed: testSeed(epoch: 2), time: 0)
        try log.append(LogFixture.entry(2), durability: .soon)
        #expect(try log.verify(seeds: LogFixture.seeds).isIntact)
        #expect(try fixture.reopened().state == .intact)
    }

    @Test func `an epoch number is never used twice`() throws {
        let fixture = try LogFixture(entries: 4)
        for number in 0...2 as ClosedRange<UInt32> {
            #expect(throws: AuditLogError.epochOutOfOrder) {
                try fixture.log.startEpoch(number, seed: testSeed(epoch: number), time: 0)
            }
        }
    }

    @Test func `an anchor that cannot be saved is an error, and the log goes on`() throws {
        let fixture = try LogFixture(entries: 2)
        try fixture.log.append(LogFixture.entry(2), durability: .soon)
        fixture.anchors.fails = true
        #expect(throws: TestAnchorStore.Failure()) { try fixture.log.anchor() }
        fixture.anchors.fails = false
        try fixture.log.anchor()
        #expect(fixture.anchors.anchor?.count == 4)
    }

    @Test func `another enclave's anchor does not open`() throws {
        let fixture = try LogFixture(entries: 2)
        #expect(throws: (any Error).self) {
            try AuditLog(
                folder: fixture.folder.path, ownedBy: geteuid(), anchors: fixture.anchors, sealer: TestSealer(number: 2)
            )
        }
    }

    // MARK: Beginning anew

    @Test func `a damaged log takes no records but can be read up to the misfit`() throws {
        let fixture = try LogFixture(entries: 5)
        var bytes = try fixture.bytes()
        bytes[bytes.count - 1] ^= 1
        try fixture.replace(bytes)
        let log = try fixture.reopened()
        #expect(throws: AuditLogError.damaged) { try log.append(LogFixture.entry(9), durability: .soon) }
        #expect(throws: AuditLogError.damaged) { try log.anchor() }
        #expect(throws: AuditLogError.damaged) { try log.startEpoch(3, seed: testSeed(epoch: 3), time: 0) }
        #expect(log.recordCount == 6)
        #expect(log.epoch == nil)
        #expect(try log.page(from: 0, limit: 100).records.count == 6)
        #expect(try fixture.bytes() == bytes)
    }

    @Test func `beginning anew keeps the old file and says so first`() throws {
        let fixture = try LogFixture(entries: 5)
        let kept = try fixture.bytes().dropLast(1)
        try fixture.replace(kept)
        let log = try fixture.reopened()
        #expect(throws: AuditLogError.epochOutOfOrder) {
            try log.beginAnew(epoch: 2, seed: testSeed(epoch: 2), time: 0)
        }
        try log.beginAnew(epoch: 3, seed: testSeed(epoch: 3), time: 77)
        #expect(log.state == .intact)
        #expect(
            try log.page(from: 0, limit: 9).records.map(\.content)
                == [.beganAnew(epoch: 3, time: 77, formerCount: 7, firstMisfit: 6)])
        try log.append(LogFixture.entry(1), durability: .beforeUse)
        #expect(try log.verify(seeds: LogFixture.seeds).isIntact)
        #expect(try fixture.reopened().recordCount == 2)
        #expect(try Data(contentsOf: URL(fileURLWithPath: fixture.path + ".damaged.1")) == kept)
    }

    @Test func `an intact log is not replaced`() throws {
        let fixture = try LogFixture(entries: 1)
        #expect(throws: AuditLogError.exists) {
            try fixture.log.beginAnew(epoch: 3, seed: testSeed(epoch: 3), time: 0)
        }
    }

    @Test func `every interrupted replacement ends with the old or the new log`() throws {
        let fixture = try LogFixture(entries: 2)
        let (before, old) = (fixture.anchors.anchor, try fixture.bytes().dropLast(1))
        try fixture.replace(old)
        try fixture.reopened().beginAnew(epoch: 3, seed: testSeed(epoch: 3), time: 0)
        let (after, new) = (fixture.anchors.anchor, try fixture.bytes())

        func state(anchor: Anchor?, log: Data?, replacement: Data?) throws -> LogState {
            let manager = FileManager.default
            for name in try manager.contentsOfDirectory(atPath: fixture.folder.path) {
                try manager.removeItem(atPath: fixture.folder.path(name))
            }
            try log?.write(to: URL(fileURLWithPath: fixture.path))
            try replacement?.write(to: URL(fileURLWithPath: fixture.path + ".new"))
            fixture.anchors.anchor = anchor
            return try fixture.reopened().state
        }
        let damaged = LogState.damaged(Damage(firstMisfit: 2, kind: .cut))
        #expect(try state(anchor: before, log: old, replacement: new.prefix(20)) == damaged)
        #expect(try state(anchor: before, log: old, replacement: new) == damaged)
        #expect(!FileManager.default.fileExists(atPath: fixture.path + ".new"))
        #expect(try state(anchor: after, log: old, replacement: new) == .intact)
        #expect(try Data(contentsOf: URL(fileURLWithPath: fixture.path + ".damaged.1")) == old)
        #expect(try state(anchor: after, log: nil, replacement: new) == .intact)
        #expect(try state(anchor: after, log: new, replacement: nil) == .intact)
    }

    @Test func `an unfinished first log is no log`() throws {
        let folder = try TestFolder()
        try Data([1, 2]).write(to: URL(fileURLWithPath: folder.path("audit.log.new")))
        #expect(throws: AuditLogError.missing) {
            try AuditLog(folder: folder.path, ownedBy: geteuid(), anchors: TestAnchorStore(), sealer: TestSealer())
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty)
    }

    struct NotDamaged: Error {}
}
