import Dispatch
import Foundation
import Synchronization
import Testing
import Threading

@Suite("A thread for work")
struct WorkThreadTests {
    /// The order in which work was done.
    private final class Order: Sendable {
        private let numbers = Mutex<[Int]>([])
        func note(_ number: Int) { numbers.withLock { $0.append(number) } }
        var noted: [Int] { numbers.withLock { $0 } }
    }

    @Test func `does work in the order of its coming, on one thread`() {
        let (thread, order) = (WorkThread(name: "test"), Order())
        let threads = Mutex<Set<UInt>>([])
        for number in 0..<100 {
            thread.run {
                order.note(number)
                threads.withLock { _ = $0.insert(UInt(pthread_self())) }
            }
        }
        thread.finish()
        #expect(order.noted == Array(0..<100))
        #expect(threads.withLock { $0.count } == 1)
    }

    @Test func `does later work when its time has come, and other work before it`() {
        let (thread, order) = (WorkThread(name: "test"), Order())
        let done = DispatchSemaphore(value: 0)
        let begin = DispatchTime.now()
        thread.run(after: .milliseconds(200)) {
            order.note(3)
            done.signal()
        }
        thread.run(after: .milliseconds(100)) { order.note(2) }
        thread.run { order.note(1) }
        done.wait()
        #expect(order.noted == [1, 2, 3])
        #expect(DispatchTime.now() >= begin + .milliseconds(200))
    }

    @Test func `work takes more work`() {
        let (thread, order) = (WorkThread(name: "test"), Order())
        let done = DispatchSemaphore(value: 0)
        thread.run {
            order.note(1)
            thread.run {
                order.note(2)
                done.signal()
            }
        }
        done.wait()
        #expect(order.noted == [1, 2])
    }

    @Test func `ends with its owner, after the work that is due`() {
        let (order, dropped) = (Order(), DispatchSemaphore(value: 0))
        /// Tells when the work that holds it is gone.
        final class Held: Sendable {
            let semaphore: DispatchSemaphore
            init(_ semaphore: DispatchSemaphore) { self.semaphore = semaphore }
            deinit { semaphore.signal() }
        }
        do {
            let thread = WorkThread(name: "test")
            let held = Held(dropped)
            for number in 1...3 { thread.run { order.note(number) } }
            thread.run(after: .seconds(3600)) { withExtendedLifetime(held) { order.note(4) } }
        }
        dropped.wait()
        #expect(order.noted == [1, 2, 3])
    }
}
