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
            order.withLock { Array($0.prefix(6)) } == ["flooding", "a", "nobody", "b", "flooding", "a"])
        #expect(order.withLock { $0.count } == 24 && !turns.isTaken)
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
