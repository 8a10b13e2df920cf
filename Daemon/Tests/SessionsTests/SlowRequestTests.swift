import Authenticators
import DetachedThreads
import Dispatch
import ExactNames
import OstiaryMessages
import Refusals
import StoreTestSupport
import Synchronization
import Testing
import Threading

@testable import Broker
@testable import Sessions

/// Slow requests where the system gives no thread.
@Suite("Slow requests without threads") struct SlowRequestTests {
    private let quota = SlowRequestQuota(ShareLimits(ofProgram: 2, total: 2))
    private let readings = SlowRequestQuota(ShareLimits(ofProgram: 2, total: 2))

    @Test func `a request without a thread is refused, and takes the place of none`() throws {
        let requests = SlowRequests(quota: quota, readings: readings, program: "a")
        for id in 1...50 as ClosedRange<UInt64> {
            #expect(throws: Refusal.threadShortage) {
                try DetachedThread.$areRefused.withValue(true) { try requests.start(id) { _ in } }
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

    @Test func `another owner's program of the same name is not held up`() throws {
        let quota = SlowRequestQuota(ShareLimits(ofProgram: 1, total: 2))
        let requests = SlowRequests(quota: quota, readings: readings, program: "a")
        let others = SlowRequests(
            quota: quota, readings: readings, program: ProgramOfOwner(owner: .numbered(1), program: "a"))
        let gate = DispatchSemaphore(value: 0)
        for connection in [requests, others] {
            try connection.start(1) { _ in
                gate.wait()
                connection.finish(1)
            }
            #expect(throws: Refusal.self) { try connection.start(2) { _ in } }
        }
        for _ in 1...2 { gate.signal() }
        for connection in [requests, others] { connection.wait() }
    }

    @Test func `an owner with many programs leaves questions and readings to another owner`() throws {
        let limits = ShareLimits(ofProgram: 1, ofOwner: 2, total: 4)
        let (quota, readings) = (SlowRequestQuota(limits), SlowRequestQuota(limits))
        func connection(_ program: ProgramOfOwner) -> SlowRequests {
            SlowRequests(quota: quota, readings: readings, program: program)
        }
        let other = connection(ProgramOfOwner(owner: .numbered(1), program: "a"))
        let (served, refused) = ([connection("a"), connection("b"), other], connection("c"))
        let gate = DispatchSemaphore(value: 0)
        for connection in served {
            let work: @Sendable (UInt64) -> Void = { id in
                gate.wait()
                connection.finish(id)
            }
            try connection.start(1) { _ in work(1) }
            #expect(connection.startReading(2) { _ in work(2) })
        }
        var cause: String?
        do throws(Refusal) { try refused.start(1) { _ in } } catch { cause = error.cause }
        #expect(cause == "request.too-many-of-owner")
        #expect(!refused.startReading(2) { _ in }, "the connection's own thread reads")
        for _ in 1...2 * served.count { gate.signal() }
        for connection in served { connection.wait() }
        try refused.start(3) { _ in refused.finish(3) }
        refused.wait()
    }

    @Test func `a wait for a change without a thread is refused, and the next one begins`() throws {
        let requests = SlowRequests(quota: quota, readings: readings, program: "a")
        #expect(throws: Refusal.threadShortage) {
            try DetachedThread.$areRefused.withValue(true) { try requests.startWaiting(1) { _ in } }
        }
        try requests.startWaiting(2) { _ in requests.finish(2) }
        requests.wait()
    }

    @Test func `readings have places of their own, and a lock does not end them`() throws {
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
        for id in 4...5 as ClosedRange<UInt64> { try requests.start(id) { work(id, $0) } }
        requests.cancelQuestions(.locked)
        for _ in 1...4 { gate.signal() }
        requests.wait()
        #expect(ends.withLock { $0 } == [1: false, 2: false, 4: true, 5: true])
        // The places are free again.
        #expect(requests.startReading(6) { _ in requests.finish(6) })
        requests.wait()
    }

    @Test func `a reading that must ask takes the place of a question, and ends with a lock`() throws {
        let requests = SlowRequests(quota: quota, readings: readings, program: "a")
        let (asking, locked) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let ends = Mutex<[Bool]>([])
        for id in 1...2 as ClosedRange<UInt64> {
            #expect(
                requests.startReading(id) { cancellation in
                    try? requests.asking(id) {
                        asking.signal()
                        locked.wait()
                        ends.withLock { $0.append((try? cancellation.check()) == nil) }
                    }
                    requests.finish(id)
                })
        }
        for _ in 1...2 { asking.wait() }
        #expect(throws: Refusal.self) { try requests.start(3) { _ in } }
        requests.cancelQuestions(.locked)
        for _ in 1...2 { locked.signal() }
        requests.wait()
        #expect(ends.withLock { $0 } == [true, true])
        try requests.start(4) { _ in requests.finish(4) }
        requests.wait()
    }

    @Test func `a reading that must ask is refused when all places of questions are taken`() throws {
        let requests = SlowRequests(quota: quota, readings: readings, program: "a")
        let gate = DispatchSemaphore(value: 0)
        for id in 1...2 as ClosedRange<UInt64> {
            try requests.start(id) { _ in
                gate.wait()
                requests.finish(id)
            }
        }
        let refusal = Mutex<Refusal?>(nil)
        let done = DispatchSemaphore(value: 0)
        #expect(
            requests.startReading(3) { _ in
                do { try requests.asking(3) {} } catch let refused as Refusal {
                    refusal.withLock { $0 = refused }
                } catch {}
                requests.finish(3)
                done.signal()
            })
        done.wait()
        #expect(refusal.withLock { $0?.cause } == "request.too-many-of-program")
        for _ in 1...2 { gate.signal() }
        requests.wait()
    }
}
