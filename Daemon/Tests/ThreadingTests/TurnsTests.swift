import Dispatch
import Foundation
import Synchronization
import Testing
import Threading

@Suite("Turns", .timeLimit(.minutes(10)))
struct TurnsTests {
    private func waitUntil(_ holds: () -> Bool) { while !holds() { usleep(1_000) } }

    @Test func `are given in the order of asking, also to one that asks again and again`() {
        let (turns, done) = (Turns<String>(), DispatchGroup())
        let order = Mutex<[Int]>([])
        turns.take(for: "one")
        for thread in 1...32 {
            done.enter()
            Thread.detachNewThread {
                for _ in 0..<(thread == 1 ? 8 : 1) {
                    turns.take(for: "one")
                    order.withLock { $0.append(thread) }
                    turns.passOn()
                }
                done.leave()
            }
            waitUntil { turns.waitingCount == thread }
        }
        #expect(turns.isTaken)
        turns.passOn()
        done.wait()
        #expect(order.withLock { Array($0.prefix(32)) } == Array(1...32))
        #expect(order.withLock { $0.count } == 39)
        #expect(!turns.isTaken && turns.waitingCount == 0)
    }

    @Test func `go from owner to owner, however many threads one owner has`() {
        let (turns, done) = (Turns<String>(), DispatchGroup())
        let order = Mutex<[String]>([])
        turns.take(for: "flooding")
        var count = 0
        func ask(_ owner: String?) {
            done.enter()
            Thread.detachNewThread {
                turns.take(for: owner)
                order.withLock { $0.append(owner ?? "nobody") }
                turns.passOn()
                done.leave()
            }
            count += 1
            let asked = count
            waitUntil { turns.waitingCount == asked }
        }
        for _ in 1...20 { ask("flooding") }
        for owner in ["a", nil, "b", "a"] { ask(owner) }
        turns.passOn()
        done.wait()
        #expect(
            order.withLock { Array($0.prefix(6)) } == ["a", "nobody", "b", "flooding", "a", "flooding"])
        #expect(order.withLock { $0.count } == 24 && !turns.isTaken)
    }

    @Test func `are not given to a thread that has stopped waiting`() {
        let (turns, done) = (Turns<String>(), DispatchGroup())
        #expect(turns.take(for: "one", within: .zero), "it is free")
        #expect(!turns.take(for: "two", within: .zero))
        #expect(turns.waitingCount == 0)
        done.enter()
        Thread.detachNewThread {
            #expect(turns.take(for: "two", within: .seconds(600)))
            turns.passOn()
            done.leave()
        }
        waitUntil { turns.waitingCount == 1 }
        #expect(!turns.take(for: "two", within: .zero))
        #expect(turns.waitingCount == 1, "the other thread of the owner keeps its place")
        turns.passOn()
        done.wait()
        #expect(!turns.isTaken && turns.waitingCount == 0)
    }

    /// In many of the rounds the end of the wait and the turn come at about the same time. A turn that nobody took would stay taken.
    @Test func `are not lost when the wait ends as they come`() {
        let (turns, done) = (Turns<String>(), DispatchGroup())
        for owner in ["one", "two", "three", "four"] {
            done.enter()
            Thread.detachNewThread {
                for _ in 1...200 {
                    guard turns.take(for: owner, within: .milliseconds(1)) else { continue }
                    usleep(1_000)
                    turns.passOn()
                }
                done.leave()
            }
        }
        done.wait()
        #expect(!turns.isTaken && turns.waitingCount == 0)
    }

    @Test func `never belong to two`() {
        let (turns, done) = (Turns<String>(), DispatchGroup())
        let holders = Mutex((now: 0, most: 0))
        for _ in 1...8 {
            done.enter()
            Thread.detachNewThread {
                for _ in 1...200 {
                    turns.take(for: "one")
                    holders.withLock { $0 = ($0.now + 1, max($0.most, $0.now + 1)) }
                    holders.withLock { $0.now -= 1 }
                    turns.passOn()
                }
                done.leave()
            }
        }
        done.wait()
        #expect(holders.withLock { $0.most } == 1)
    }
}
