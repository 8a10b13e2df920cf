import Foundation
import Glibc
import StoreTestSupport
import Testing

@testable import AuditLog

@Suite("An audit log in parts")
struct AuditLogPartTests {
    let fixture: PartFixture

    init() throws { fixture = try PartFixture() }

    private func indices(_ log: AuditLog, from first: UInt64 = 0, limit: Int = 100) throws -> [UInt64] {
        try log.page(from: first, limit: limit).records.map(\.index)
    }

    // MARK: closing

    @Test(arguments: [false, true]) func `the log goes on over its parts`(readingAll: Bool) throws {
        let log = try fixture.base.reopened(readingAll: readingAll)
        #expect(log.state == .intact && log.recordCount == 18 && log.epoch == 2)
        try log.append(LogFixture.entry(18), durability: .beforeUse)
        let page = try log.page(from: 0, limit: 100)
        #expect(page.recordCount == 19 && page.records.map(\.index) == Array(0..<19))
        #expect(page.records[6].content == .partStart(number: 2, time: 10))
        #expect(page.records[12].content == .partStart(number: 3, time: 20))
        #expect(page.records[17].content == .entry(LogFixture.entry(17)))
        let verdict = try log.verify(seeds: LogFixture.seeds)
        #expect(verdict.isIntact && verdict.sealsChecked && verdict.recordCount == 19)
        #expect(verdict.missingParts.isEmpty && verdict.explanation == "All records and seals fit.")
    }

    @Test func `a page spans parts`() throws {
        let log = try fixture.base.reopened()
        for first in 0..<18 as Range<UInt64> {
            for limit in 1...9 {
                #expect(try indices(log, from: first, limit: limit) == Array(first..<min(first + UInt64(limit), 18)))
            }
        }
    }

    @Test func `opening reads the header and what lies behind the anchor, however many parts there are`() throws {
        let starts = try fixture.starts(fixture.open)
        let log = try fixture.base.reopened()
        #expect(log.readByteCount == starts[0] + 32 + (starts[6] - starts[4]))
    }

    @Test func `a part is closed when it has reached its size`() throws {
        let folder = try TestFolder()
        let anchors = TestAnchorStore()
        let log = try AuditLog.create(
            folder: folder.path, ownedBy: geteuid(), anchors: anchors, sealer: TestSealer(), epoch: 1,
            seed: testSeed(epoch: 1), time: 1,
            partByteCount: 3000)
        let results = concurrently(4) { thread in
            for number in 0..<100 { try log.append(LogFixture.entry(thread * 100 + number), durability: .soon) }
        }
        for result in results { try result.get() }
        // Closing runs behind the writers; one more record gives it another turn.
        for _ in 0..<100 where !FileManager.default.fileExists(atPath: folder.path("audit.log.3")) {
            try log.append(LogFixture.entry(0), durability: .soon)
            usleep(20_000)
        }
        #expect(FileManager.default.fileExists(atPath: folder.path("audit.log.3")))
        try log.close()
        let verdict = try log.verify(seeds: LogFixture.seeds)
        #expect(verdict.isIntact && verdict.sealsChecked, "\(verdict.explanation)")
        let reopened = try AuditLog(folder: folder.path, ownedBy: geteuid(), anchors: anchors, sealer: TestSealer())
        #expect(reopened.state == .intact && reopened.recordCount == log.recordCount)
    }

    @Test func `a part whose anchor cannot be saved goes on`() throws {
        fixture.anchors.fails = true
        #expect(throws: TestAnchorStore.Failure()) { try fixture.log.cut(time: 30) }
        fixture.anchors.fails = false
        try fixture.log.append(LogFixture.entry(18), durability: .beforeUse)
        #expect(!fixture.exists(fixture.closed(3)))
        for log in [fixture.log, try fixture.base.reopened()] {
            let verdict = try log.verify(seeds: LogFixture.seeds)
            #expect(verdict.isIntact && verdict.sealsChecked && verdict.recordCount == 19)
        }
        #expect(!fixture.exists(fixture.open + ".new"))
        try fixture.log.cut(time: 31)
        #expect(fixture.exists(fixture.closed(3)))
        #expect(try fixture.base.reopened().state == .intact)
    }

    @Test func `what lies where a part belongs is not displaced`() throws {
        try fixture.write(Data([1]), to: fixture.closed(3))
        #expect(throws: AuditLogError.exists) { try fixture.log.cut(time: 30) }
        try fixture.log.append(LogFixture.entry(18), durability: .beforeUse)
        #expect(try fixture.bytes(fixture.closed(3)) == Data([1]))
        #expect(try fixture.base.reopened().recordCount == 19)
    }

    // MARK: parts that are not there

    @Test(arguments: [[1], [2], [1, 2]]) func `a closed part can be moved away, and the verdict names it`(
        numbers: [Int]
    ) throws {
        for number in numbers {
            try fixture.move(fixture.closed(number), to: fixture.base.folder.path("kept\(number)"))
        }
        let log = try fixture.base.reopened()
        #expect(log.state == .intact)
        try log.append(LogFixture.entry(18), durability: .beforeUse)
        let verdict = try log.verify(seeds: LogFixture.seeds)
        #expect(verdict.isIntact && !verdict.sealsChecked)
        let missing = numbers.map { MissingPart(number: $0, records: UInt64($0 - 1) * 6..<UInt64($0) * 6) }
        #expect(verdict.missingParts == missing && verdict.recordCount == 19 - UInt64(numbers.count) * 6)
        for part in missing {
            let (first, last) = (part.records.lowerBound, part.records.upperBound - 1)
            #expect(
                verdict.explanation.contains(
                    "Part \(part.number) is not there: records \(first) to \(last) were not checked."))
        }
        let there = (0..<19 as Range<UInt64>).filter { index in !missing.contains { $0.records.contains(index) } }
        #expect(try indices(log) == there)
        #expect(try indices(log, from: 3, limit: 1) == [there.first { $0 >= 3 }!])

        for number in numbers {
            try fixture.move(fixture.base.folder.path("kept\(number)"), to: fixture.closed(number))
        }
        let whole = try log.verify(seeds: LogFixture.seeds)
        #expect(whole.isIntact && whole.sealsChecked && whole.recordCount == 19)
        #expect(try indices(log) == Array(0..<19))
    }

    @Test func `a part that is write-protected is read`() throws {
        chmod(fixture.closed(1), 0o400)
        #expect(try fixture.log.verify(seeds: LogFixture.seeds).sealsChecked)
    }

    // MARK: parts that were changed

    private func misfit(_ log: AuditLog, withSeeds: Bool) throws -> UInt64? {
        let verdict = try withSeeds ? log.verify(seeds: LogFixture.seeds) : log.verify()
        #expect(!verdict.isIntact)
        return verdict.firstMisfit
    }

    @Test(arguments: [1, 2]) func `each changed byte of a closed part is found and its record named`(number: Int) throws
    {
        let path = fixture.closed(number)
        let (original, starts) = (try fixture.bytes(path), try fixture.starts(path))
        for byte in original.indices {
            var changed = original
            changed[byte] ^= 1
            try fixture.write(changed, to: path)
            let record = UInt64((number - 1) * 6 + max(starts.lastIndex { $0 <= byte } ?? 0, 0))
            #expect(try misfit(fixture.log, withSeeds: byte.isMultiple(of: 2)) == record, "byte \(byte)")
        }
    }

    @Test func `each changed byte of the list of parts is found, and not taken over when a part is closed`() throws {
        let (original, anchored) = (try fixture.bytes(fixture.open), fixture.anchors.anchor)
        for byte in 0..<(try fixture.starts(fixture.open)[0]) {
            var changed = original
            changed[byte] ^= 1
            try fixture.write(changed, to: fixture.open)
            let log: AuditLog
            do { log = try fixture.base.reopened() } catch AuditLogError.tooNew { continue }
            #expect(try !log.verify(seeds: LogFixture.seeds).isIntact)
            #expect(throws: AuditLogError.damaged) { try log.cut(time: 30) }
            if case .intact = log.state { #expect(throws: AuditLogError.damaged) { try log.page(from: 0, limit: 1) } }
            #expect(!fixture.exists(fixture.closed(3)) && fixture.anchors.anchor == anchored)
        }
    }

    @Test func `a closed part as it was while it was open is cut off`() throws {
        let (whole, starts) = (try fixture.bytes(fixture.closed(2)), try fixture.starts(fixture.closed(2)))
        for end in [starts[0], starts[1], starts[3], starts[5], starts[6] - 1] {
            try fixture.write(whole.prefix(end), to: fixture.closed(2))
            let verdict = try fixture.log.verify(seeds: LogFixture.seeds)
            #expect(verdict.firstMisfit == UInt64(6 + starts.lastIndex { $0 <= end }!))
            #expect(verdict.explanation == "Records have been cut off from part 2.")
            #expect(throws: AuditLogError.damaged) { try fixture.base.reopened().page(from: 6, limit: 1) }
        }
        try fixture.write(whole + Data([0]), to: fixture.closed(2))
        #expect(try misfit(fixture.log, withSeeds: true) == 11)
    }

    @Test func `another part in a part's place is not that part`() throws {
        let (first, second) = (try fixture.bytes(fixture.closed(1)), try fixture.bytes(fixture.closed(2)))
        try fixture.write(second, to: fixture.closed(1))
        #expect(try misfit(fixture.log, withSeeds: true) == 0)
        try fixture.write(first, to: fixture.closed(1))
        try fixture.write(first, to: fixture.closed(2))
        #expect(try misfit(fixture.log, withSeeds: true) == 6)
        // Of another log.
        try fixture.write(PartFixture().bytes(fixture.closed(2)), to: fixture.closed(2))
        #expect(try misfit(fixture.log, withSeeds: true) == 6)
        try fixture.remove(fixture.closed(2))
        try FileManager.default.createSymbolicLink(atPath: fixture.closed(2), withDestinationPath: fixture.closed(1))
        #expect(try misfit(fixture.log, withSeeds: true) == 6)
    }

    @Test(arguments: [false, true]) func `recomputed hashes of a closed part do not lead to its end`(
        withSeeds: Bool
    ) throws {
        let path = fixture.closed(2)
        let (whole, starts) = (try fixture.bytes(path), try fixture.starts(path))
        var head = HashChain.initialHead(header: Array(whole.prefix(starts[0])))
        var forged = whole.prefix(starts[0])
        for (number, (start, end)) in zip(starts, starts.dropFirst()).enumerated() {
            var payload = Array(whole[(start + 4)..<(end - 64)])
            if number == 1 { payload[18] ^= 1 }
            let code = Array(whole[(end - 64)..<(end - 32)])
            head = HashChain.head(after: head, payload: payload, code: code)
            forged += RecordBytes.joined(payload: payload, code: code, head: head)
        }
        try fixture.write(forged, to: path)
        let verdict = try withSeeds ? fixture.log.verify(seeds: LogFixture.seeds) : fixture.log.verify()
        #expect(verdict.firstMisfit == (withSeeds ? 7 : 11) && verdict.isExact == withSeeds)
    }

    // MARK: other times

    @Test(arguments: [false, true]) func `an open part of before it was closed is refused`(readingAll: Bool) throws {
        for number in 1...2 {
            try fixture.write(fixture.bytes(fixture.closed(number)), to: fixture.open)
            let state = try fixture.base.reopened(readingAll: readingAll).state
            #expect(state == .damaged(Damage(firstMisfit: UInt64(number * 6), kind: .cut)))
        }
    }

    @Test(arguments: [false, true]) func `a part that is closed during a verification is no damage`(
        anchoredAtEnd: Bool
    ) throws {
        if anchoredAtEnd { try fixture.log.anchor() }
        let before = fixture.anchors.anchor
        try fixture.log.cut(time: 30)
        // The anchor as the verification read it.
        fixture.anchors.anchor = before
        let verdict = try fixture.log.verify(seeds: LogFixture.seeds)
        #expect(verdict.isIntact && verdict.sealsChecked && verdict.recordCount == 19, "\(verdict.explanation)")
    }

    @Test(arguments: [false, true]) func `a store of before a part began is older than the log`(
        anchoredAtEnd: Bool
    ) throws {
        if anchoredAtEnd { try fixture.log.anchor() }
        let (before, generation) = (fixture.anchors.anchor, fixture.anchors.storeGeneration)
        try fixture.log.cut(time: 30)
        // With a change after that, so that a record names it.
        fixture.anchors.storeGeneration += 1
        try fixture.log.append(LogFixture.entry(19), durability: .soon)
        fixture.anchors.anchor = before
        fixture.anchors.storeGeneration = generation - 1
        guard case .olderStore(let store) = try fixture.base.reopened().state else {
            throw AuditLogError.damaged
        }
        #expect(store.storeGeneration == generation - 1)
        // A store that claims to have seen it all is not believed either.
        fixture.anchors.storeGeneration = generation + 9
        #expect(try fixture.base.reopened().state == .damaged(Damage(firstMisfit: 18, kind: .altered)))
    }

    @Test func `a copy of a part's beginning does not displace the part`() throws {
        try fixture.log.cut(time: 30)
        let beginning = try fixture.bytes(fixture.open)
        try fixture.log.append(LogFixture.entry(19), durability: .beforeUse)
        try fixture.write(beginning, to: fixture.open + ".new")
        let third = try fixture.bytes(fixture.closed(3))
        let log = try fixture.base.reopened()
        #expect(log.state == .intact && log.recordCount == 20)
        #expect(try fixture.bytes(fixture.closed(3)) == third && !fixture.exists(fixture.open + ".new"))
    }

    @Test func `a damaged log takes its closed parts along when it is replaced`() throws {
        let (whole, parts) = (
            try fixture.bytes(fixture.open), try (1...2).map { try fixture.bytes(fixture.closed($0)) }
        )
        try fixture.write(whole.prefix(fixture.starts(fixture.open)[2]), to: fixture.open)
        let log = try fixture.base.reopened()
        try log.beginAnew(epoch: 3, seed: testSeed(epoch: 3), time: 1)
        for number in 1...2 {
            #expect(try fixture.bytes("\(fixture.open).damaged.1.\(number)") == parts[number - 1])
            #expect(!fixture.exists(fixture.closed(number)))
        }
        try log.append(LogFixture.entry(1), durability: .soon)
        try log.cut(time: 5)
        #expect(fixture.exists(fixture.closed(1)))
        let verdict = try fixture.base.reopened().verify(seeds: LogFixture.seeds)
        #expect(verdict.isIntact && verdict.sealsChecked && verdict.recordCount == 3)
    }

    // MARK: crashes

    @Test func `a part that was being closed when the daemon ended is closed at the next start`() throws {
        let before = fixture.anchors.anchor
        try fixture.log.cut(time: 30)
        let replacement = fixture.open + ".new"
        // After the anchor, before the names.
        try fixture.move(fixture.open, to: replacement)
        try fixture.move(fixture.closed(3), to: fixture.open)
        var log = try fixture.base.reopened()
        #expect(log.state == .intact && log.recordCount == 19)
        // Between the names.
        try fixture.move(fixture.open, to: replacement)
        log = try fixture.base.reopened()
        #expect(log.state == .intact && log.recordCount == 19)
        #expect(try log.verify(seeds: LogFixture.seeds).sealsChecked)
        // Before the anchor.
        fixture.anchors.anchor = before
        try fixture.move(fixture.open, to: replacement)
        try fixture.move(fixture.closed(3), to: fixture.open)
        log = try fixture.base.reopened()
        #expect(log.state == .intact && log.recordCount == 18 && !fixture.exists(replacement))
        try log.append(LogFixture.entry(18), durability: .soon)
        #expect(try log.verify(seeds: LogFixture.seeds).sealsChecked)
    }

    /// The kernel ends the program at one call after the other that names, cuts or flushes a file.
    @Test(.enabled(if: TestProgram.isInstalled("strace"), "strace is not installed"))
    func `kill -9 while parts are closed loses no acknowledged record and is no tampering`() throws {
        let calls = "rename,renameat,renameat2,unlink,ftruncate,fsync,fdatasync"
        for call in 1...200 {
            let folder = try TestFolder()
            let result = try TestProgram(
                "log-writer", [folder.path, "23", "parts"],
                under: [
                    "strace", "-f", "-o", "/dev/null", "-e", "trace=\(calls)", "-e",
                    "inject=\(calls):signal=KILL:when=\(call)",
                ]
            ).run()
            let acknowledged = result.output.split(separator: "\n").compactMap { UInt64($0) }.last ?? 0
            let anchors = try FileAnchorStore(path: folder.path("anchor"))
            do {
                let log = try AuditLog(folder: folder.path, ownedBy: geteuid(), anchors: anchors, sealer: TestSealer())
                switch log.state {
                case .intact, .recovered: break
                case .damaged, .olderStore: Issue.record("call \(call): \(log.state)")
                }
                #expect(log.recordCount >= acknowledged)
                try log.append(LogFixture.entry(1), durability: .beforeUse)
                let verdict = try log.verify(seeds: LogFixture.seeds)
                #expect(verdict.isIntact && verdict.sealsChecked, "call \(call): \(verdict.explanation)")
                #expect(try log.page(from: 0, limit: 100).records.map(\.index) == Array(0..<log.recordCount))
            } catch AuditLogError.missing {
                #expect(acknowledged == 0)
            }
            guard result.code != 0 else {
                #expect(call > 30)
                return
            }
        }
        Issue.record("the program never came to its end")
    }
}
