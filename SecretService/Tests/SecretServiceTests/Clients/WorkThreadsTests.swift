import DetachedThreads
import Dispatch
import Glibc
import MessageBus
import Synchronization
import Testing

@testable import SecretService

/// The threads that carry out the calls of all clients.
@Suite(.timeLimit(.minutes(10))) struct WorkThreadsTests {
    /// What was done, in its order, and by which threads.
    private final class Done: Sendable {
        private struct State {
            var pieces: [Int] = []
            var countsOfThreads: [UInt: Int] = [:]
        }

        private let state = Mutex(State())
        let each = DispatchSemaphore(value: 0)

        var pieces: [Int] { state.withLock { $0.pieces } }
        /// How many pieces each thread did.
        var counts: [Int] { state.withLock { Array($0.countsOfThreads.values) } }

        func note(_ piece: Int) {
            state.withLock { state in
                state.pieces.append(piece)
                state.countsOfThreads[UInt(pthread_self()), default: 0] += 1
            }
            each.signal()
        }
    }

    private let done = Done()

    private func expect(_ isTaken: Bool, _ location: SourceLocation = #_sourceLocation) {
        #expect(isTaken, sourceLocation: location)
    }

    private func refuse(_ isTaken: Bool, _ location: SourceLocation = #_sourceLocation) {
        #expect(!isTaken, sourceLocation: location)
    }

    @Test func `all work is done, each client's in its order, by so many threads at most`() {
        let threads = WorkThreads(limit: 3)
        for piece in 0..<3_000 {
            expect(threads.put(of: Int32(piece % 7)) { [done] in done.note(piece) })
        }
        for _ in 0..<3_000 { done.each.wait() }
        for client in 0..<7 {
            let own = done.pieces.filter { $0 % 7 == client }
            #expect(own == own.sorted())
        }
        #expect(Set(done.pieces).count == 3_000 && done.counts.count <= 3)
    }

    @Test func `work that comes one piece at a time, each when the former one is done, keeps to a thread`() {
        let threads = WorkThreads(limit: 4)
        let gate = DispatchSemaphore(value: 0)
        // Four threads, all of which wait then.
        for client in 0..<4 {
            expect(
                threads.put(of: Int32(client)) { [done] in
                    gate.wait()
                    done.note(client)
                })
        }
        for _ in 0..<4 { gate.signal() }
        for _ in 0..<4 { done.each.wait() }
        usleep(200_000)
        let later = Done()
        for piece in 0..<50 {
            expect(threads.put(of: 1) { later.note(piece) })
            later.each.wait()
            usleep(2_000)
        }
        #expect(later.counts.contains { $0 > 25 }, "the thread that waits last has at hand what it needs")
    }

    @Test func `what was added before the end is done, and nothing else`() {
        let threads = WorkThreads(limit: 1)
        let gate = DispatchSemaphore(value: 0)
        expect(threads.put(of: 1) { gate.wait() })
        expect(threads.put(of: 1) { [done] in done.note(1) })
        expect(threads.put(of: 2) { [done] in done.note(2) })
        threads.end()
        refuse(threads.put(of: 3) { [done] in done.note(3) })
        gate.signal()
        for _ in 0..<2 { done.each.wait() }
        #expect(done.each.wait(timeout: .now() + 0.1) == .timedOut && Set(done.pieces) == [1, 2])
    }

    @Test func `threads that wait end with the others`() throws {
        var threads: WorkThreads? = WorkThreads(limit: 2)
        // Each thread keeps it.
        weak let kept = threads
        for piece in 0..<2 { expect(threads?.put(of: Int32(piece)) { [done] in done.note(piece) } == true) }
        for _ in 0..<2 { done.each.wait() }
        usleep(100_000)
        threads?.end()
        threads = nil
        try eventually("the threads have ended") { kept == nil }
    }

    @Test func `memory is given back once after each time in which nothing is done, and not while something is`() throws
    {
        let given = Mutex(0)
        let threads = WorkThreads(limit: 2, quietTime: .milliseconds(50)) { given.withLock { $0 += 1 } }
        let gate = DispatchSemaphore(value: 0)
        expect(threads.put(of: 1) { gate.wait() })
        expect(threads.put(of: 2) { [done] in done.note(1) })
        done.each.wait()
        usleep(300_000)
        #expect(given.withLock { $0 } == 0, "a client's work is under way")
        gate.signal()
        try eventually("nothing was done for a while") { given.withLock { $0 } == 1 }
        usleep(300_000)
        #expect(given.withLock { $0 } == 1, "nobody wakes up any more")
        for count in 2...4 {
            expect(threads.put(of: 1) { [done] in done.note(count) })
            done.each.wait()
            try eventually("nothing was done for a while") { given.withLock { $0 } == count }
        }
    }

    @Test func `without any thread the caller is told, and with one it does all`() {
        let threads = WorkThreads(limit: 2)
        DetachedThread.$areRefused.withValue(true) {
            refuse(threads.put(of: 1) { [done] in done.note(1) })
        }
        let gate = DispatchSemaphore(value: 0)
        let others = WorkThreads(limit: 2)
        expect(others.put(of: 1) { gate.wait() })
        DetachedThread.$areRefused.withValue(true) {
            expect(others.put(of: 2) { [done] in done.note(2) })
        }
        gate.signal()
        done.each.wait()
        #expect(done.pieces == [2])
    }
}

extension WorkThreads {
    /// Work of a client by its number.
    fileprivate func put(of processID: Int32, _ work: @escaping @Sendable () -> Void) -> Bool {
        add(
            of: Holder(peer: ":1.\(processID)", processID: processID, program: nil),
            TurnWork {
                work()
                return nil
            })
    }
}
