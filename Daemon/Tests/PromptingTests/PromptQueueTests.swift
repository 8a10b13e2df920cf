import Foundation
import Prompting
import Synchronization
import SecretMemory
import Testing

/// Shows nothing; answers when the test says so.
private final class ScriptedPrompter: Prompter {
    private let shown = Mutex<[String]>([])
    private let change = DispatchSemaphore(value: 0)
    private let answers = DispatchSemaphore(value: 0)
    private let next = Mutex<Ending>(.cancelled)

    func ask(
        _ question: PromptQuestion, on caller: PromptCaller, cancellation: PromptCancellation
    ) -> PromptOutcome {
        shown.withLock { $0.append(caller.program) }
        change.signal()
        answers.wait()
        switch next.withLock({ $0 }) {
        case .confirmed: return .confirmed
        case .timedOut: return .timedOut
        default: return .cancelled
        }
    }

    var programs: [String] { shown.withLock { $0 } }

    /// Waits until one more question is shown.
    func waitForQuestion() { #expect(change.wait(timeout: .now() + 10) == .success) }

    func answer(_ ending: Ending) {
        next.withLock { $0 = ending }
        answers.signal()
    }
}

private final class TestClock: Sendable {
    private let time = Mutex(ContinuousClock.now)
    func now() -> ContinuousClock.Instant { time.withLock { $0 } }
    func advance(by duration: Duration) { time.withLock { $0 = $0.advanced(by: duration) } }
}

@Suite(.timeLimit(.minutes(1))) struct PromptQueueTests {
    private let prompter = ScriptedPrompter()
    private let clock = TestClock()
    private let queue: PromptQueue

    init() {
        queue = PromptQueue(prompter, now: clock.now)
    }

    private func ask(_ program: String) throws -> Asking {
        let caller = PromptCaller(processID: 1, startTime: 1, userID: 0, program: program, terminal: nil)
        return try Asking(queue, .passcode, on: caller)
    }

    /// Asks behind a question that is up, and waits until it is in the queue.
    private func enqueue(_ program: String, waiting count: Int) throws -> Asking {
        let asking = try ask(program)
        let end = ContinuousClock.now.advanced(by: .seconds(10))
        while queue.waitingCount < count, ContinuousClock.now < end { sched_yield() }
        #expect(queue.waitingCount == count)
        return asking
    }

    @Test func `questions are shown one at a time, in the order in which they came`() throws {
        let first = try ask("a")
        prompter.waitForQuestion()
        let second = try enqueue("b", waiting: 1)
        let third = try enqueue("c", waiting: 2)
        #expect(prompter.programs == ["a"])
        prompter.answer(.confirmed)
        #expect(first.wait() == .confirmed)
        prompter.waitForQuestion()
        #expect(prompter.programs == ["a", "b"])
        prompter.answer(.timedOut)
        #expect(second.wait() == .timedOut)
        prompter.waitForQuestion()
        prompter.answer(.confirmed)
        #expect(third.wait() == .confirmed)
        #expect(prompter.programs == ["a", "b", "c"])
    }

    @Test func `a waiting question that is cancelled leaves without having been shown`() throws {
        let first = try ask("a")
        prompter.waitForQuestion()
        let second = try enqueue("b", waiting: 1)
        let third = try enqueue("c", waiting: 2)
        second.cancellation.cancel(because: .clientGone)
        #expect(second.wait() == .interrupted(.clientGone))
        #expect(first.wait(seconds: 0) == .stillAsking)
        prompter.answer(.confirmed)
        #expect(first.wait() == .confirmed)
        prompter.waitForQuestion()
        prompter.answer(.confirmed)
        #expect(third.wait() == .confirmed)
        #expect(prompter.programs == ["a", "c"])
    }

    @Test func `a question beyond the limit is refused at once`() throws {
        let first = try ask("a")
        prompter.waitForQuestion()
        var waiting: [Asking] = []
        for count in 1...PromptQueue.maximumWaitingCount { waiting.append(try enqueue("w", waiting: count)) }
        #expect(try ask("late").wait() == .unavailable(.tooManyWaiting))
        for asking in waiting {
            asking.cancellation.cancel(because: .lock)
            #expect(asking.wait() == .interrupted(.lock))
        }
        prompter.answer(.confirmed)
        #expect(first.wait() == .confirmed)
        #expect(prompter.programs == ["a"])
    }

    @Test func `after three cancellations a program's questions are refused for a while, other programs' are not`() throws {
        for _ in 0..<3 {
            let asking = try ask("nag")
            prompter.waitForQuestion()
            prompter.answer(.cancelled)
            #expect(asking.wait() == .cancelled)
        }
        clock.advance(by: .seconds(10))
        #expect(try ask("nag").wait() == .unavailable(.coolingDown(remaining: .seconds(20))))
        let other = try ask("other")
        prompter.waitForQuestion()
        prompter.answer(.confirmed)
        #expect(other.wait() == .confirmed)
        clock.advance(by: .seconds(20))
        let again = try ask("nag")
        prompter.waitForQuestion()
        prompter.answer(.confirmed)
        #expect(again.wait() == .confirmed)
    }
}

@Suite struct CancellationCooldownTests {
    private let start = ContinuousClock.now

    private func cooldown(_ seconds: [Int], _ program: String = "a") -> CancellationCooldown {
        var cooldown = CancellationCooldown()
        for second in seconds { cooldown.noteCancellation(of: program, at: start.advanced(by: .seconds(second))) }
        return cooldown
    }

    @Test func `two cancellations bring no pause, the third does`() {
        #expect(cooldown([0, 1]).remaining(for: "a", at: start.advanced(by: .seconds(1))) == nil)
        #expect(cooldown([0, 1, 2]).remaining(for: "a", at: start.advanced(by: .seconds(2))) == .seconds(30))
    }

    @Test func `the pause ends after thirty seconds`() {
        #expect(cooldown([0, 0, 0]).remaining(for: "a", at: start.advanced(by: .seconds(29))) == .seconds(1))
        #expect(cooldown([0, 0, 0]).remaining(for: "a", at: start.advanced(by: .seconds(30))) == nil)
    }

    @Test(arguments: [([0, 30, 60], true), ([0, 30, 61], false), ([0, 61, 122], false)])
    func `only cancellations within a minute count`(_ seconds: [Int], _ pauses: Bool) {
        let now = start.advanced(by: .seconds(seconds.last!))
        #expect((cooldown(seconds).remaining(for: "a", at: now) != nil) == pauses)
    }

    @Test func `another program is not held back`() {
        #expect(cooldown([0, 0, 0]).remaining(for: "b", at: start) == nil)
    }

    @Test func `an answer in between begins the count anew`() {
        var cooldown = cooldown([0, 1])
        cooldown.noteAnswer(of: "a")
        cooldown.noteCancellation(of: "a", at: start.advanced(by: .seconds(2)))
        #expect(cooldown.remaining(for: "a", at: start.advanced(by: .seconds(2))) == nil)
    }
}
