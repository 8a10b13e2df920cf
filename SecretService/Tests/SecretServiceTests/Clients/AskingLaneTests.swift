import Cancellations
import Dispatch
import SecretItems
import Synchronization
import Testing

@testable import SecretService

/// The questions of one client.
@Suite(.timeLimit(.minutes(10))) struct AskingLaneTests {
    /// What became of each question.
    private final class Outcomes: Sendable {
        private let state = Mutex<[String: StoreRefusal?]>([:])
        let begun = DispatchSemaphore(value: 0)

        func set(_ name: String, _ refusal: StoreRefusal?) { state.withLock { $0[name] = .some(refusal) } }
        subscript(_ name: String) -> StoreRefusal?? { state.withLock { $0[name] } }
        var count: Int { state.withLock { $0.count } }
    }

    private let lane = AskingLane()
    private let outcomes = Outcomes()
    private let id = SecretID.random()

    /// A question that waits until `answer` is signalled, or it is cancelled.
    private func question(
        _ name: String, of peer: String = ":1.1", about items: Set<SecretID> = [], ends answer: DispatchSemaphore,
        with refusal: StoreRefusal? = nil
    ) -> AskingLane.Question {
        AskingLane.Question(
            peer: peer, items: items,
            ask: { [outcomes] cancellation in
                outcomes.begun.signal()
                cancellation.whenCancelled { answer.signal() }
                answer.wait()
                let end: StoreRefusal? = cancellation.isCancelled ? .cancelled : refusal
                outcomes.set(name, end)
                return end
            }, refuse: { [outcomes] in outcomes.set(name, $0) })
    }

    @Test func `one question stands at a time`() throws {
        let (first, second) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        try lane.add(question("first", ends: first))
        try lane.add(question("second", ends: second))
        outcomes.begun.wait()
        #expect(outcomes.begun.wait(timeout: .now() + 0.1) == .timedOut)
        first.signal()
        outcomes.begun.wait()
        second.signal()
        try eventually("both are done") { outcomes.count == 2 }
        #expect(outcomes["first"] == .some(nil) && outcomes["second"] == .some(nil))
    }

    @Test func `a declined question declines those about the same items that came meanwhile, and no others`() throws {
        let (first, other, later) = (
            DispatchSemaphore(value: 0), DispatchSemaphore(value: 0), DispatchSemaphore(value: 0)
        )
        try lane.add(question("first", about: [id], ends: first, with: .declined("No.")))
        outcomes.begun.wait()
        try lane.add(question("again", about: [id], ends: DispatchSemaphore(value: 0)))
        try lane.add(question("other", about: [.random()], ends: other))
        first.signal()
        outcomes.begun.wait()
        #expect(outcomes["again"] == .some(.declined("No.")))
        other.signal()
        try lane.add(question("later", about: [id], ends: later))
        outcomes.begun.wait()
        later.signal()
        try eventually("all are done") { outcomes.count == 4 }
        #expect(outcomes["other"] == .some(nil) && outcomes["later"] == .some(nil))
    }

    @Test func `a question that was cancelled, or failed, declines no other one`() throws {
        let (first, second) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let number = try lane.add(question("first", about: [id], ends: first))
        try lane.add(question("second", about: [id], ends: second))
        outcomes.begun.wait()
        lane.cancel(number)
        outcomes.begun.wait()
        second.signal()
        try eventually("both are done") { outcomes.count == 2 }
        #expect(outcomes["first"] == .some(.cancelled) && outcomes["second"] == .some(nil))
    }

    @Test func `a connection's questions go with it, the one that stands and those that wait`() throws {
        let (first, other) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        try lane.add(question("first", of: ":1.1", ends: first))
        try lane.add(question("second", of: ":1.1", ends: DispatchSemaphore(value: 0)))
        try lane.add(question("other", of: ":1.2", ends: other))
        outcomes.begun.wait()
        lane.cancel(of: ":1.1")
        outcomes.begun.wait()
        other.signal()
        try eventually("all are done") { outcomes.count == 3 }
        #expect(outcomes["first"] == .some(.cancelled) && outcomes["second"] == .some(.cancelled))
        #expect(outcomes["other"] == .some(nil))
    }

    @Test func `so many questions wait, and none after the end`() throws {
        let first = DispatchSemaphore(value: 0)
        try lane.add(question("first", ends: first))
        outcomes.begun.wait()
        for number in 0..<ServiceLimits.questionCount {
            try lane.add(question("\(number)", ends: DispatchSemaphore(value: 0)))
        }
        let refused = #expect(throws: StoreRefusal.self) {
            try lane.add(question("more", ends: DispatchSemaphore(value: 0)))
        }
        guard case .tooMuch = refused else {
            Issue.record("refused as \(String(describing: refused))")
            return
        }
        lane.end()
        try eventually("all are done") { outcomes.count == ServiceLimits.questionCount + 1 }
        let late = #expect(throws: StoreRefusal.self) {
            try lane.add(question("late", ends: DispatchSemaphore(value: 0)))
        }
        guard case .noClient = late else {
            Issue.record("refused as \(String(describing: late))")
            return
        }
    }
}
