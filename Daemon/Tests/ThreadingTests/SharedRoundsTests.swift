import Dispatch
import Foundation
import Synchronization
import Testing

@testable import Threading

@Suite("Shared rounds", .timeLimit(.minutes(10)))
struct SharedRoundsTests {
    private func waitUntil(_ holds: () -> Bool) { while !holds() { usleep(1_000) } }

    @Test func `work once for all who ask while another round is under way`() {
        let (rounds, done) = (SharedRounds<String, Int>(), DispatchGroup())
        let (begun, mayEnd) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let count = Mutex(0)
        let results = Mutex<[(value: Int, isOwn: Bool)]>([])
        @Sendable func ask(waiting: Bool) {
            let result = rounds.value(for: "file") {
                let number = count.withLock { count in
                    count += 1
                    return count
                }
                if waiting {
                    begun.signal()
                    mayEnd.wait()
                }
                return number
            }
            results.withLock { $0.append(result) }
            done.leave()
        }
        done.enter()
        Thread.detachNewThread { ask(waiting: true) }
        begun.wait()
        for _ in 1...16 {
            done.enter()
            Thread.detachNewThread { ask(waiting: false) }
        }
        waitUntil { rounds.waitingCount(for: "file") == 16 }
        mayEnd.signal()
        done.wait()
        // The first round is for the thread that asked before it; nobody who asked later gets its result.
        let found = results.withLock { $0 }
        #expect(found.filter { $0.value == 1 }.count == 1)
        #expect(found.filter { $0.value == 2 }.count == 16)
        #expect(found.filter(\.isOwn).count == 2)
        #expect(rounds.waitingCount(for: "file") == 0)
    }

    @Test func `keep keys apart, and keep no result for later`() {
        let rounds = SharedRounds<String, Int>()
        #expect(rounds.value(for: "a") { rounds.value(for: "b") { 1 }.value + 1 } == (2, true))
        #expect(rounds.value(for: "a") { 3 } == (3, true))
    }

    @Test func `serve threads that ask again and again`() {
        let (rounds, done) = (SharedRounds<Int, Int>(), DispatchGroup())
        let last = Mutex(0)
        for _ in 1...8 {
            done.enter()
            Thread.detachNewThread {
                for _ in 1...500 {
                    let before = last.withLock { $0 }
                    let value = rounds.value(for: 0) {
                        last.withLock { last in
                            last += 1
                            return last
                        }
                    }.value
                    #expect(value > before, "the work began before the thread asked")
                }
                done.leave()
            }
        }
        done.wait()
    }
}
