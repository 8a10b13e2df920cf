import BrokerTestSupport
import Logging
import Synchronization
import Testing

@testable import Auditing

@Suite("Lines of the log that programs cause")
struct CallerLinesTests {
    private final class Clock: Sendable {
        let seconds = Mutex(0.0)
    }

    private let clock = Clock()
    private let log = RecordedLog()

    private var lines: CallerLines {
        CallerLines(log.logger, now: { [clock] in .seconds(clock.seconds.withLock { $0 }) })
    }

    private func write(_ count: Int, of userID: UInt32?, to lines: CallerLines) -> Int {
        let before = log.lines.count
        for _ in 0..<count { lines.write(.notice, "a caller was refused", of: userID, ["cause": "a test"]) }
        return log.lines.count - before
    }

    @Test func `a user in a loop is stopped, and another user's lines are written`() {
        let lines = lines
        #expect(write(1000, of: 1, to: lines) == Int(CallerLines.burst))
        #expect(write(3, of: 2, to: lines) == 3)
        #expect(write(3, of: nil, to: lines) == 3)
        #expect(log.lines.allSatisfy { $0.metadata == ["cause": "a test"] })
    }

    @Test func `after a while a line is written again, and says how many were not`() throws {
        let lines = lines
        _ = write(Int(CallerLines.burst) + 7, of: 1, to: lines)
        clock.seconds.withLock { $0 += 1 / CallerLines.perSecond }
        #expect(write(2, of: 1, to: lines) == 1)
        #expect(try #require(log.lines.last).metadata["lines withheld before"] == "7")
        clock.seconds.withLock { $0 += 3600 }
        #expect(write(100, of: 1, to: lines) == Int(CallerLines.burst), "no more than at first")
        #expect(log.lines[log.lines.count - Int(CallerLines.burst)].metadata["lines withheld before"] == "1")
        #expect(log.lines.last?.metadata["lines withheld before"] == nil)
    }

    @Test func `one person with many user numbers is stopped, too`() {
        let lines = lines
        let written = (0..<UInt32(3000)).count { write(1, of: 100_000 + $0, to: lines) == 1 }
        #expect(written == Int(CallerLines.burstOfAll))
        #expect(write(1, of: 1, to: lines) == 0)
        clock.seconds.withLock { $0 += 10 }
        #expect(write(20, of: 1, to: lines) == Int(10 * CallerLines.perSecondOfAll))
    }

    @Test func `a user who is forgotten for others begins again`() {
        let lines = lines
        #expect(write(25, of: 1, to: lines) == Int(CallerLines.burst))
        for user in 0..<UInt32(CallerLines.userLimit) {
            clock.seconds.withLock { $0 += 1 }
            _ = write(1, of: 10 + user, to: lines)
        }
        #expect(write(25, of: 1, to: lines) == Int(CallerLines.burst))
    }
}
