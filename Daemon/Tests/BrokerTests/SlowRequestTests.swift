import Dispatch
import ExactNames
import OstiaryMessages
import Prompting
import Refusals
import Synchronization
import Testing
import Threading

@testable import Broker

/// Slow requests where the system gives no thread.
@Suite("Slow requests without threads") struct SlowRequestTests {
    private let quota = SlowRequestQuota(ofProgram: 2, total: 2)
    private let readings = SlowRequestQuota(ofProgram: 2, total: 2)

    @Test func `a request without a thread is refused, and takes the place of none`() throws {
        let requests = SlowRequests(quota: quota, readings: readings, program: "a")
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
        let requests = SlowRequests(quota: quota, readings: readings, program: "a")
        #expect(throws: Refusal.threadShortage) {
            try Threads.$areRefused.withValue(true) { try requests.startWaiting(1) { _ in } }
        }
        try requests.startWaiting(2) { _ in requests.finish(2) }
        requests.wait()
    }

    @Test func `readings have places of their own, and a lock ends them only when they have asked`() throws {
        let requests = SlowRequests(quota: quota, readings: readings, program: "a")
        let gate = DispatchSemaphore(value: 0)
        let ends = Mutex<[UInt64: Bool]>([:])
        let work: @Sendable (UInt64, RequestCancellation) -> Void = { id, cancellation in
            gate.wait()
            ends.withLock { $0[id] = (try? cancellation.check()) == nil }
            requests.finish(id)
        }
        for id in 1...2 as ClosedRange<UInt64> { #expect(requests.startReading(id) { work(id, $0) }) }
        #expect(!requests.startReading(3) { _ in }, "no third place")
        #expect(!requests.isRunning(3))
        try requests.start(4) { work(4, $0) }
        let asked = DispatchSemaphore(value: 0)
        try requests.start(5) { cancellation in
            _ = try? cancellation.endingQuestion { (_) throws(Refusal) in asked.signal() }
            work(5, cancellation)
        }
        asked.wait()
        requests.cancelQuestions(.locked)
        for _ in 1...4 { gate.signal() }
        requests.wait()
        #expect(ends.withLock { $0 } == [1: false, 2: false, 4: true, 5: true])
        // The places are free again.
        #expect(requests.startReading(6) { _ in requests.finish(6) })
        requests.wait()
    }

    @Test func `a reading that has asked the person ends with a lock`() throws {
        let requests = SlowRequests(quota: quota, readings: readings, program: "a")
        let (asked, ended) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        #expect(
            requests.startReading(1) { cancellation in
                _ = try? cancellation.endingQuestion { (question) throws(Refusal) in
                    asked.signal()
                    if question.wait(milliseconds: 60_000) == .lock { ended.signal() }
                }
                requests.finish(1)
            })
        asked.wait()
        requests.cancelQuestions(.locked)
        requests.wait()
        #expect(ended.wait(timeout: .now()) == .success)
    }
}
