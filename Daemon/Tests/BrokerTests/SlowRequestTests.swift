import Dispatch
import ExactNames
import OstiaryMessages
import Refusals
import Testing
import Threading

@testable import Broker

/// Slow requests where the system gives no thread.
@Suite("Slow requests without threads") struct SlowRequestTests {
    private let quota = SlowRequestQuota(ofProgram: 2, total: 2)

    @Test func `a request without a thread is refused, and takes the place of none`() throws {
        let requests = SlowRequests(quota: quota, program: "a")
        for id in 1...50 as ClosedRange<UInt64> {
            #expect(throws: Refusal.threadShortage) {
                try Threads.$areRefused.withValue(true) { try requests.start(id) { _ in } }
            }
            #expect(!requests.isRunning(id))
        }
        let (gate, begun) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        for id in 1...2 as ClosedRange<UInt64> {
            try requests.start(id) { _ in
                begun.signal()
                gate.wait()
                requests.finish(id)
            }
        }
        for _ in 1...2 { begun.wait() }
        for _ in 1...2 { gate.signal() }
        requests.wait()
    }

    @Test func `a wait for a change without a thread is refused, and the next one begins`() throws {
        let requests = SlowRequests(quota: quota, program: "a")
        #expect(throws: Refusal.threadShortage) {
            try Threads.$areRefused.withValue(true) { try requests.startWaiting(1) { _ in } }
        }
        try requests.startWaiting(2) { _ in requests.finish(2) }
        requests.wait()
    }
}
