import Foundation
import OstiaryMessages
import Synchronization
import Testing

@testable import OwnerKeys
@testable import Refusals

extension PasscodeKeeperContract {
    /// Wrong tries until the keeper looks at none any more; the refusal that says so.
    private static func exhaust(_ start: Start) throws -> Refusal {
        for _ in 1...32 {
            if let refusal = try start.refusal(of: "wrong") { return refusal }
        }
        throw NeverRefused()
    }

    private struct NeverRefused: Error {}

    static let countingChecks = [
        Check("a wrong passcode is counted, over restarts, and the right one forgives") { bench in
            try Start(bench).set()
            for count in UInt32(1)...3 {
                let start = try Start(bench)
                #expect(try start.opened(by: "wrong") == nil)
                #expect(try start.keeper.attempts().failedCount == count)
            }
            let start = try Start(bench)
            #expect(try start.opened(by: passcode) != nil)
            #expect(try start.keeper.attempts().failedCount == 0)
            #expect(try Start(bench).keeper.attempts().failedCount == 0)
        },
        Check("a try is counted before the passcode is looked at, so that a kill gives none back") { bench in
            try Start(bench).set()
            let free = try Start(bench).keeper.attempts().freeTriesLeft
            for entry in [passcode, "wrong"] {
                let start = try Start(bench)
                let copy = Mutex<(any KeeperBench)?>(nil)
                bench.duringNextCheck {
                    do { try copy.withLock { $0 = try bench.copy() } } catch { Issue.record(error) }
                }
                _ = try start.opened(by: entry)
                let killed = try Start(#require(copy.withLock { $0 }))
                let counted = try killed.keeper.attempts()
                #expect(counted.failedCount == 1 && counted.freeTriesLeft == free - 1, "\(entry)")
                #expect(try start.keeper.attempts().failedCount == (entry == passcode ? 0 : 1))
            }
        },
        Check("a wrong try says how many are left that cost nothing") { bench in
            let start = try Start(bench)
            try start.set()
            var left = try start.keeper.attempts().freeTriesLeft
            #expect(left > 0)
            while left > 0 {
                left -= 1
                let wrong = #expect(throws: WrongSecret.self) { try start.keeper.prove(secret("wrong")) }
                #expect(wrong?.freeTriesLeft == left)
                #expect(try start.keeper.attempts().freeTriesLeft == left)
            }
        },
        Check("looking at the count changes nothing") { bench in
            let start = try Start(bench)
            try start.set()
            #expect(try start.opened(by: "wrong") == nil)
            let status = try start.keeper.attempts()
            for _ in 1...5 { #expect(try start.keeper.attempts() == status) }
            #expect(try Start(bench).keeper.attempts() == status)
        },
        Check("tries that are made at once are all counted") { bench in
            let start = try Start(bench)
            try start.set()
            DispatchQueue.concurrentPerform(iterations: 3) { _ in
                do { _ = try start.opened(by: "wrong") } catch { Issue.record(error) }
            }
            #expect(try start.keeper.attempts().failedCount == 3)
        },
        Check("after many wrong tries even the right passcode is refused, and not looked at") { bench in
            try Start(bench).set()
            let start = try Start(bench)
            let refusal = try exhaust(start)
            let wait = try #require(refusal.retryAfter)
            #expect(refusal.code == .lockedOut && wait > .zero)
            #expect(try start.keeper.attempts().remaining == wait)
            let early = try #require(throws: Refusal.self) { try start.keeper.requireNoDelay() }
            // Where the chip counts, the end of its tries is no delay.
            #expect(early == .lockedOut(wait) || early == .passcodeBlocked)
            let failedCount = try start.keeper.attempts().failedCount
            // One after the other: a store has one daemon at a time.
            for next in [{ start }, { try Start(bench) }] as [() throws -> Start] {
                let start = try next()
                let isLookedAt = Mutex(false)
                bench.duringNextCheck { isLookedAt.withLock { $0 = true } }
                #expect(try start.refusal(of: passcode) == Refusal.lockedOut(wait))
                #expect(!isLookedAt.withLock { $0 })
                #expect(try start.keeper.attempts().failedCount == failedCount)
            }
        },
        Check("where a delay ends, the right passcode is good after it and not before") { bench in
            let start = try Start(bench)
            let half = try start.set()
            let wait = try #require(try exhaust(start).retryAfter)
            guard wait < .seconds(100 * 24 * 3600) else { return }  // A chip that is locked for good.
            bench.advance(by: wait - .seconds(1))
            #expect(try start.refusal(of: passcode) == Refusal.lockedOut(.seconds(1)))
            bench.advance(by: .seconds(1))
            try start.keeper.requireNoDelay()
            #expect(try start.opens(half))
            #expect(try start.keeper.attempts().failedCount == 0)
        },
    ]
}
