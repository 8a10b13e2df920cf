import AccessControl
import ExactNames
import OstiaryMessages
import Refusals
import StoreTestSupport
import Synchronization
import Testing

@testable import Auditing
@testable import BrokerTestSupport

@Suite("The rate of records")
struct RecordRateTests {
    private final class Disk: Sendable {
        let free = Mutex<UInt64?>(0)
        let seconds = Mutex(0.0)
    }

    private let disk = Disk()
    private let one: ProgramOfOwner = "/usr/bin/one"
    private let other: ProgramOfOwner = "/usr/bin/other"
    private let sameOfOtherOwner = ProgramOfOwner(owner: .numbered(1), program: "/usr/bin/one")

    private func rate(isOfSeveral: Bool = false) -> RecordRate {
        RecordRate(
            isOfSeveral: isOfSeveral,
            space: { [disk] in disk.free.withLock { $0 }.map { DiskSpace(free: $0, all: .max) } },
            now: { [disk] in .seconds(disk.seconds.withLock { $0 }) })
    }

    /// How many of `count` records the program may make.
    private func admitted(
        _ program: ProgramOfOwner, _ count: Int, byteCount: Int = 100, by rate: RecordRate
    ) -> Int {
        (0..<count).count { _ in (try? rate.admit(program, byteCount: byteCount)) != nil }
    }

    private func refusal(_ program: ProgramOfOwner, byteCount: Int = 100, by rate: RecordRate) -> Refusal? {
        do throws(Refusal) { try rate.admit(program, byteCount: byteCount) } catch {
            #expect(error.code == .tooMany)
            return error
        }
        return nil
    }

    @Test func `a program in a loop is stopped where space is scarce, and others are not`() {
        let rate = rate()
        #expect(admitted(one, 1000, by: rate) == Int(RecordRate.burst))
        #expect(throws: Refusal.self) { try rate.admit(one, byteCount: 100) }
        #expect(refusal(one, by: rate)?.cause == "log.rate")
        #expect(admitted(other, 10, by: rate) == 10)
        disk.seconds.withLock { $0 += 2 }
        #expect(admitted(one, 1000, by: rate) == 10)
    }

    @Test func `another owner's program of the same name is not held up`() {
        let rate = rate()
        #expect(admitted(one, 1000, by: rate) == Int(RecordRate.burst))
        #expect(admitted(sameOfOtherOwner, 1000, by: rate) == Int(RecordRate.burst))
    }

    @Test func `many names of one owner have one share together, and another owner is not stopped`() {
        let rate = rate()
        let copies = (0..<3000).map { ProgramOfOwner(owner: nil, program: "/tmp/\($0)") }
        #expect(copies.count { admitted($0, 1, by: rate) == 1 } == Int(RecordRate.burstOfOwner))
        #expect(refusal(other, by: rate)?.cause == "log.rate")
        #expect(admitted(other, 10, by: rate) == 0)
        #expect(admitted(sameOfOtherOwner, 10, by: rate) == 10)
        disk.seconds.withLock { $0 += 2 }
        #expect(copies.count { admitted($0, 1, by: rate) == 1 } == Int(2 * RecordRate.perSecondOfOwner))
    }

    @Test func `a record that the program's own share refuses does not count against its owner's`() {
        let rate = rate()
        #expect(admitted(one, 5000, by: rate) == Int(RecordRate.burst))
        let rest = Int(RecordRate.burstOfOwner - RecordRate.burst)
        let copies = (0..<rest).map { ProgramOfOwner(owner: nil, program: "/tmp/\($0)") }
        #expect(copies.count { admitted($0, 1, by: rate) == 1 } == rest)
        #expect(admitted(other, 1, by: rate) == 0)
    }

    @Test func `large records of one of several owners have a share of each day, and another owner is not stopped`() {
        let rate = rate(isOfSeveral: true)
        let byteCount = 1_048_576 - 96
        // A record has 1 MiB with what surrounds its entry.
        #expect(admitted(one, 20, byteCount: byteCount, by: rate) == 8)
        #expect(refusal(one, byteCount: byteCount, by: rate)?.cause == "log.rate")
        #expect(admitted(other, 1, byteCount: byteCount, by: rate) == 0, "another program of the same owner")
        #expect(admitted(sameOfOtherOwner, 20, byteCount: byteCount, by: rate) == 8)
        disk.seconds.withLock { $0 += 86_400 / 4 + 1 }
        #expect(admitted(one, 20, byteCount: byteCount, by: rate) == 2)
        disk.seconds.withLock { $0 += 10 * 86_400 }
        #expect(admitted(one, 20, byteCount: byteCount, by: rate) == 8, "days of silence are not saved up")
    }

    @Test func `bytes of the only owner are not counted`() {
        #expect(admitted(one, 100, byteCount: 1_048_576, by: rate()) == 100)
    }

    @Test func `a pause gives no more than the first share`() {
        let rate = rate()
        #expect(admitted(one, 1000, by: rate) == Int(RecordRate.burst))
        disk.seconds.withLock { $0 += 1_000_000 }
        #expect(admitted(one, 1000, by: rate) == Int(RecordRate.burst))
    }

    @Test func `there is no limit with space, or where nobody knows the space`() {
        for free: UInt64? in [64 << 20, nil] {
            disk.free.withLock { $0 = free }
            #expect(admitted(one, 5000, by: rate()) == 5000)
        }
    }

    @Test func `little space is a tenth of a small disk, and less than 64 MiB of a large one`() {
        #expect(DiskSpace(free: 99, all: 1000).isScarce)
        #expect(!DiskSpace(free: 100, all: 1000).isScarce)
        #expect(DiskSpace(free: (64 << 20) - 1, all: 1 << 40).isScarce)
        #expect(!DiskSpace(free: 64 << 20, all: 1 << 40).isScarce)
    }

    // MARK: what counts

    /// What `body` is refused with in the end; nil when it never is.
    private func refusalInLoop(_ body: () throws -> Void) throws -> Refused? {
        for _ in 0..<2000 { do { try body() } catch let refused as Refused { return refused } }
        return nil
    }

    @Test func `a grant that nothing was proved for counts, and a person's proof does not`() throws {
        let fixture = try BrokerFixture(space: { DiskSpace(free: 0, all: .max) })
        try fixture.setPasscode()
        try fixture.create("free", .unrestricted, .always)
        try fixture.create("bound", Requirement(anyOf: [.passcode]), .whenUnlocked)
        let client = try fixture.client()
        let (free, bound) = (try client.find("free"), try client.find("bound"))
        let (context, keeping) = (try client.openContext(), try client.openContext(keepingFactors: true))
        func prove(in context: UInt64) throws {
            fixture.prompter.prepare([.text(BrokerFixture.passcode)])
            _ = try client.authorize(bound, in: context)
            #expect(fixture.prompter.unusedAnswers.isEmpty)
        }
        try prove(in: keeping)

        #expect(try refusalInLoop { _ = try client.authorize(free, in: context) }?.cause == "log.rate")
        #expect(try refusalInLoop { _ = try client.authorize(bound, in: keeping) }?.cause == "log.rate", "it is kept")
        #expect(try refusalInLoop { _ = try client.authorize(.unrestricted, in: context) }?.cause == "log.rate")
        for _ in 0..<3 { try prove(in: context) }
    }

    @Test func `the disk is looked at again`() {
        disk.free.withLock { $0 = nil }
        let rate = rate()
        #expect(admitted(one, 500, by: rate) == 500)
        disk.free.withLock { $0 = 1 }
        #expect(admitted(one, 5000, by: rate) < 2000)
        disk.free.withLock { $0 = .max }
        #expect(admitted(one, 5000, by: rate) == 5000)
    }
}
