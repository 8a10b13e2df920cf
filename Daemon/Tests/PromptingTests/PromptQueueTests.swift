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

    func ask(_ question: PromptQuestion, on caller: PromptCaller, live: LiveQuestion) -> PromptOutcome {
        live.noteShown()
        shown.withLock { $0.append(caller.program) }
        change.signal()
        answers.wait()
        switch next.withLock({ $0 }) {
        case .confirmed: return .confirmed
        case .timedOut: return .timedOut
        case .interrupted(let interruption): return .interrupted(by: interruption)
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
        // A caller's process id says on which terminal it is; 0 is none.
        queue = PromptQueue(
            prompter, now: clock.now,
            terminalDevice: { caller in caller.processID == 0 ? nil : UInt32(caller.processID) })
    }

    private func ask(_ program: String, terminal: Int32 = 0) throws -> Asking {
        let caller = PromptCaller(processID: terminal, startTime: 1, userID: 0, program: program, terminal: nil)
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

    @Test func `a question is visible only when it is its turn`() throws {
        let first = try ask("a")
        prompter.waitForQuestion()
        #expect(first.isShown)
        let second = try enqueue("b", waiting: 1)
        #expect(!second.isShown)
        prompter.answer(.confirmed)
        prompter.waitForQuestion()
        #expect(second.isShown)
        prompter.answer(.confirmed)
        #expect(second.wait() == .confirmed)
    }

    @Test func `a sensor's proof counts as an answer: cancellations before it are no longer in a row`() throws {
        for ending in [Ending.cancelled, .cancelled, .interrupted(.proved), .cancelled, .cancelled] {
            let asking = try ask("nag")
            prompter.waitForQuestion()
            prompter.answer(ending)
            #expect(asking.wait() == ending)
        }
        try cancel("nag", terminal: 0)
        #expect(try ask("nag").wait() == .unavailable(.coolingDown(remaining: .seconds(30))))
    }

    @Test func `a question beyond the limit is refused at once`() throws {
        let first = try ask("a")
        prompter.waitForQuestion()
        var waiting: [Asking] = []
        for count in 1...PromptQueue.maximumWaitingCount { waiting.append(try enqueue("\(count)", waiting: count)) }
        #expect(try ask("late").wait() == .unavailable(.tooManyWaiting))
        for asking in waiting {
            asking.cancellation.cancel(because: .lock)
            #expect(asking.wait() == .interrupted(.lock))
        }
        prompter.answer(.confirmed)
        #expect(first.wait() == .confirmed)
        #expect(prompter.programs == ["a"])
    }

    @Test func `a program beyond its own limit is refused at once, others are not`() throws {
        let first = try ask("nag")
        prompter.waitForQuestion()
        var waiting: [Asking] = []
        for count in 1...PromptQueue.maximumWaitingCountOfProgram { waiting.append(try enqueue("nag", waiting: count)) }
        #expect(try ask("nag").wait() == .unavailable(.tooManyWaiting))
        let other = try enqueue("other", waiting: 5)
        #expect(try ask("nag").wait() == .unavailable(.tooManyWaiting))
        // A place that becomes free can be taken again.
        waiting[0].cancellation.cancel(because: .clientGone)
        #expect(waiting[0].wait() == .interrupted(.clientGone))
        waiting[0] = try enqueue("nag", waiting: 5)
        for asking in waiting + [other] { asking.cancellation.cancel(because: .lock) }
        for asking in waiting + [other] { #expect(asking.wait() == .interrupted(.lock)) }
        prompter.answer(.confirmed)
        #expect(first.wait() == .confirmed)
    }

    private func cancel(_ program: String, terminal: Int32) throws {
        let asking = try ask(program, terminal: terminal)
        prompter.waitForQuestion()
        prompter.answer(.cancelled)
        #expect(asking.wait() == .cancelled)
    }

    private func expectAsked(_ program: String, terminal: Int32) throws {
        let asking = try ask(program, terminal: terminal)
        prompter.waitForQuestion()
        prompter.answer(.confirmed)
        #expect(asking.wait() == .confirmed)
    }

    @Test func `a program under many names is held back on its terminal, on others nobody is`() throws {
        for copy in ["a", "b", "c"] { try cancel(copy, terminal: 3) }
        #expect(try ask("d", terminal: 3).wait() == .unavailable(.coolingDown(remaining: .seconds(30))))
        try expectAsked("d", terminal: 4)
        try expectAsked("d", terminal: 0)
        clock.advance(by: .seconds(30))
        try expectAsked("d", terminal: 3)
    }

    @Test func `a program is held back on another terminal too`() throws {
        for terminal in Int32(1)...3 { try cancel("nag", terminal: terminal) }
        #expect(try ask("nag", terminal: 9).wait() == .unavailable(.coolingDown(remaining: .seconds(30))))
        #expect(try ask("nag").wait() == .unavailable(.coolingDown(remaining: .seconds(30))))
        for terminal in Int32(1)...3 { try expectAsked("other", terminal: terminal) }
    }

    @Test func `programs without a terminal do not hold each other back`() throws {
        for copy in ["a", "b", "c"] { try cancel(copy, terminal: 0) }
        try expectAsked("d", terminal: 0)
    }

    @Test func `after three cancellations a program's questions are refused for a while, other programs' are not`()
        throws
    {
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
        for second in seconds {
            cooldown.noteCancellation(of: [.program(program)], at: start.advanced(by: .seconds(second)))
        }
        return cooldown
    }

    @Test func `two cancellations bring no pause, the third does`() {
        #expect(cooldown([0, 1]).remaining(for: [.program("a")], at: start.advanced(by: .seconds(1))) == nil)
        #expect(
            cooldown([0, 1, 2]).remaining(for: [.program("a")], at: start.advanced(by: .seconds(2))) == .seconds(30))
    }

    @Test func `the pause ends after thirty seconds`() {
        #expect(
            cooldown([0, 0, 0]).remaining(for: [.program("a")], at: start.advanced(by: .seconds(29))) == .seconds(1))
        #expect(cooldown([0, 0, 0]).remaining(for: [.program("a")], at: start.advanced(by: .seconds(30))) == nil)
    }

    @Test(arguments: [([0, 30, 60], true), ([0, 30, 61], false), ([0, 61, 122], false)])
    func `only cancellations within a minute count`(_ seconds: [Int], _ pauses: Bool) {
        let now = start.advanced(by: .seconds(seconds.last!))
        #expect((cooldown(seconds).remaining(for: [.program("a")], at: now) != nil) == pauses)
    }

    @Test func `another program is not held back`() {
        #expect(cooldown([0, 0, 0]).remaining(for: [.program("b")], at: start) == nil)
    }

    @Test func `an answer in between begins the count anew`() {
        var cooldown = cooldown([0, 1])
        cooldown.noteAnswer(of: [.program("a")])
        cooldown.noteCancellation(of: [.program("a")], at: start.advanced(by: .seconds(2)))
        #expect(cooldown.remaining(for: [.program("a")], at: start.advanced(by: .seconds(2))) == nil)
    }

    @Test func `a program that has a terminal's name is not that terminal`() {
        var cooldown = CancellationCooldown()
        for _ in 0..<3 { cooldown.noteCancellation(of: [.terminal(7)], at: start) }
        #expect(cooldown.remaining(for: [.program("7")], at: start) == nil)
        #expect(cooldown.remaining(for: [.program("7"), .terminal(7)], at: start) == .seconds(30))
        #expect(cooldown.remaining(for: [], at: start) == nil)
    }
}
