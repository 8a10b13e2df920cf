import ExactNames
import Foundation
@testable import Prompting
import PromptProtocol
import Synchronization
import SecretMemory
import StoreTestSupport
import Testing

/// Shows nothing; answers when the test says so. A caller's process id says on which terminal it is; 0 is none.
private final class ScriptedPlacingPrompter: PlacingPrompter {
    private let shown = Mutex<[ExactName]>([])
    private let change = DispatchSemaphore(value: 0)
    private let answers = Mutex<[PromptPlace: Ending]>([:])
    private let unplaced = Mutex<[ExactName: PromptUnavailability]>([:])
    private let moved = Mutex<[ExactName: PromptPlace]>([:])

    func place(
        _ question: PromptQuestion, for caller: PromptCaller
    ) -> Result<PlacedQuestion, PromptUnavailability> {
        if let reason = unplaced.withLock({ $0[caller.program] }) { return .failure(reason) }
        let place = moved.withLock { $0[caller.program] } ?? .of(terminal: caller.processID, of: caller.owner)
        return .success(
            PlacedQuestion(at: place) { [self] live in
                live.noteShown()
                shown.withLock { $0.append(caller.program) }
                change.signal()
                return wait(at: place, live)
            })
    }

    private func wait(at place: PromptPlace, _ live: LiveQuestion) -> PromptOutcome {
        while true {
            if let interruption = live.cancellation.wait(milliseconds: 1) { return .interrupted(by: interruption) }
            guard let ending = answers.withLock({ $0.removeValue(forKey: place) }) else { continue }
            switch ending {
            case .confirmed: return .confirmed
            case .timedOut: return .timedOut
            case .interrupted(let interruption): return .interrupted(by: interruption)
            default: return .cancelled
            }
        }
    }

    var programs: [ExactName] { shown.withLock { $0 } }

    /// Waits until one more question is shown.
    func waitForQuestion() { #expect(change.wait(timeout: .now() + 120) == .success) }

    /// Answers the question that is visible, or the next one.
    func answer(_ ending: Ending, terminal: Int32 = 0, of owner: OwnerID? = nil) {
        answers.withLock { $0[.of(terminal: terminal, of: owner)] = ending }
    }

    /// From now on nobody can be asked for this program.
    func unplace(_ program: ExactName, because reason: PromptUnavailability) {
        unplaced.withLock { $0[program] = reason }
    }

    /// From now on this program is asked for on another terminal.
    func move(_ program: ExactName, toTerminal terminal: Int32) {
        moved.withLock { $0[program] = .of(terminal: terminal) }
    }
}

extension PromptPlace {
    fileprivate static func of(terminal: Int32, of owner: OwnerID? = nil) -> PromptPlace {
        terminal == 0 ? .dialog(of: owner) : .terminal(UInt32(terminal))
    }
}

private final class TestClock: Sendable {
    private let time = Mutex(ContinuousClock.now)
    func now() -> ContinuousClock.Instant { time.withLock { $0 } }
    func advance(by duration: Duration) { time.withLock { $0 = $0.advanced(by: duration) } }
}

@Suite(.timeLimit(.minutes(10))) struct PromptQueueTests {
    private let prompter = ScriptedPlacingPrompter()
    private let clock = TestClock()
    private let queue: PromptQueue

    init() {
        queue = PromptQueue(
            prompter, now: clock.now,
            terminalDevice: { caller in caller.processID == 0 ? nil : UInt32(caller.processID) })
    }

    private func ask(_ program: ExactName, of owner: OwnerID? = nil, terminal: Int32 = 0) throws -> Asking {
        let caller = PromptCaller(
            processID: terminal, process: nil, userID: 0, owner: owner, program: program, terminal: nil)
        return try Asking(queue, .passcode, on: caller)
    }

    /// Asks behind a question that is up, and waits until it is in the queue.
    private func enqueue(
        _ program: ExactName, of owner: OwnerID? = nil, terminal: Int32 = 0, waiting count: Int
    ) throws -> Asking {
        let asking = try ask(program, of: owner, terminal: terminal)
        let end = ContinuousClock.now.advanced(by: .seconds(120))
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

    @Test func `two owners have a dialog each at the same time, and a line each`() throws {
        let (one, other) = (OwnerID.numbered(1), OwnerID.numbered(2))
        let first = try ask("a", of: one)
        prompter.waitForQuestion()
        let second = try ask("a", of: other)
        prompter.waitForQuestion()
        #expect(first.isShown && second.isShown && queue.waitingCount == 0)
        let behind = try enqueue("b", of: one, waiting: 1)
        prompter.answer(.confirmed, of: other)
        #expect(second.wait() == .confirmed)
        #expect(behind.wait(seconds: 0) == .stillAsking && !behind.isShown)
        prompter.answer(.confirmed, of: one)
        #expect(first.wait() == .confirmed)
        prompter.waitForQuestion()
        prompter.answer(.confirmed, of: one)
        #expect(behind.wait() == .confirmed)
    }

    @Test func `a terminal is one line, whoever is asked there`() throws {
        let first = try ask("a", of: .numbered(1), terminal: 3)
        prompter.waitForQuestion()
        let second = try enqueue("a", of: .numbered(2), terminal: 3, waiting: 1)
        #expect(!second.isShown)
        prompter.answer(.confirmed, terminal: 3)
        #expect(first.wait() == .confirmed)
        prompter.waitForQuestion()
        prompter.answer(.confirmed, terminal: 3)
        #expect(second.wait() == .confirmed)
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
        for count in 1...PromptOrder.maximumWaitingCountOfOwner {
            waiting.append(try enqueue("\(count)", waiting: count))
        }
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
        for count in 1...PromptOrder.maximumWaitingCountOfProgram { waiting.append(try enqueue("nag", waiting: count)) }
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

    private func cancel(_ program: ExactName, terminal: Int32) throws {
        let asking = try ask(program, terminal: terminal)
        prompter.waitForQuestion()
        prompter.answer(.cancelled, terminal: terminal)
        #expect(asking.wait() == .cancelled)
    }

    private func expectAsked(_ program: ExactName, of owner: OwnerID? = nil, terminal: Int32) throws {
        let asking = try ask(program, of: owner, terminal: terminal)
        prompter.waitForQuestion()
        prompter.answer(.confirmed, terminal: terminal, of: owner)
        #expect(asking.wait() == .confirmed)
    }

    @Test func `a program under many names is held back on its terminal, on others nobody is`() throws {
        for copy in ["a", "b", "c"] as [ExactName] { try cancel(copy, terminal: 3) }
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

    @Test func `another owner's program of the same name is not held up, nor on the same terminal`() throws {
        for _ in 0..<3 { try cancel("nag", terminal: 3) }
        #expect(try ask("nag").wait() == .unavailable(.coolingDown(remaining: .seconds(30))))
        #expect(try ask("other", terminal: 3).wait() == .unavailable(.coolingDown(remaining: .seconds(30))))
        try expectAsked("nag", of: .numbered(1), terminal: 0)
        try expectAsked("nag", of: .numbered(1), terminal: 3)
    }

    @Test func `programs without a terminal do not hold each other back`() throws {
        for copy in ["a", "b", "c"] as [ExactName] { try cancel(copy, terminal: 0) }
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

    // MARK: places

    @Test func `a question on one terminal keeps none waiting on another terminal or in the dialog`() throws {
        let silent = try ask("silent", terminal: 1)
        prompter.waitForQuestion()
        try expectAsked("other", terminal: 2)
        try expectAsked("other", terminal: 0)
        try expectAsked("silent", terminal: 2)
        #expect(silent.wait(seconds: 0) == .stillAsking)
        prompter.answer(.timedOut, terminal: 1)
        #expect(silent.wait() == .timedOut)
    }

    @Test func `two questions on one terminal, or in the dialog, never are visible together`() throws {
        for terminal in Int32(0)...1 {
            let first = try ask("a", terminal: terminal)
            prompter.waitForQuestion()
            let second = try enqueue("b", terminal: terminal, waiting: 1)
            #expect(!second.isShown)
            prompter.answer(.confirmed, terminal: terminal)
            #expect(first.wait() == .confirmed)
            prompter.waitForQuestion()
            prompter.answer(.confirmed, terminal: terminal)
            #expect(second.wait() == .confirmed)
        }
    }

    @Test func `a program with many questions is asked for in turn with the others`() throws {
        var askings = [try ask("many")]
        prompter.waitForQuestion()
        for count in 1...3 { askings.append(try enqueue("many", waiting: count)) }
        askings.append(try enqueue("b", waiting: 4))
        askings.append(try enqueue("c", waiting: 5))
        for _ in 1...5 {
            prompter.answer(.confirmed)
            prompter.waitForQuestion()
        }
        prompter.answer(.confirmed)
        for asking in askings { #expect(asking.wait() == .confirmed) }
        #expect(prompter.programs == ["many", "b", "c", "many", "many", "many"])
    }

    @Test func `a question without a place is refused at once, also behind a waiting one`() throws {
        prompter.unplace("nowhere", because: .notInteractive)
        let first = try ask("a")
        prompter.waitForQuestion()
        #expect(try ask("nowhere").wait() == .unavailable(.notInteractive))
        prompter.answer(.confirmed)
        #expect(first.wait() == .confirmed)
    }

    @Test func `a place that is lost while a question waits is not used`() throws {
        let first = try ask("a", terminal: 1)
        prompter.waitForQuestion()
        let second = try enqueue("b", terminal: 1, waiting: 1)
        prompter.unplace("b", because: .terminalRefused(.callerInBackground))
        prompter.answer(.confirmed, terminal: 1)
        #expect(first.wait() == .confirmed)
        #expect(second.wait() == .unavailable(.terminalRefused(.callerInBackground)))
        try expectAsked("c", terminal: 1)
    }

    @Test func `a question whose place has changed while it waited waits for its turn there`() throws {
        let first = try ask("a", terminal: 1)
        prompter.waitForQuestion()
        let dialog = try ask("c")
        prompter.waitForQuestion()
        let second = try enqueue("b", terminal: 1, waiting: 1)
        prompter.move("b", toTerminal: 0)
        prompter.answer(.confirmed, terminal: 1)
        #expect(first.wait() == .confirmed)
        try expectAsked("d", terminal: 1)
        #expect(!second.isShown)
        prompter.answer(.confirmed)
        #expect(dialog.wait() == .confirmed)
        prompter.waitForQuestion()
        prompter.answer(.confirmed)
        #expect(second.wait() == .confirmed)
    }

    // MARK: questions that nobody answers

    private func leaveStanding(
        _ program: ExactName, seconds: Int, _ ending: Ending = .timedOut, terminal: Int32 = 0
    ) throws {
        let asking = try ask(program, terminal: terminal)
        prompter.waitForQuestion()
        clock.advance(by: .seconds(seconds))
        prompter.answer(ending, terminal: terminal)
        #expect(asking.wait() == ending)
    }

    @Test func `a program whose questions stand until their time limit pauses for as long as they stood`() throws {
        for _ in 0..<3 { try leaveStanding("silent", seconds: 120) }
        #expect(try ask("silent").wait() == .unavailable(.coolingDown(remaining: .seconds(360))))
        try expectAsked("other", terminal: 0)
        clock.advance(by: .seconds(360))
        try expectAsked("silent", terminal: 0)
    }

    @Test(arguments: [PromptInterruption.clientGone, .superseded, .background, .terminalGone])
    func `a program that withdraws its question shortly before the time limit pays like a silent one`(
        _ interruption: PromptInterruption
    ) throws {
        for _ in 0..<3 { try leaveStanding("sly", seconds: 119, .interrupted(interruption)) }
        #expect(try ask("sly").wait() == .unavailable(.coolingDown(remaining: .seconds(357))))
    }

    @Test(arguments: [
        (29, PromptInterruption.clientGone), (29, .superseded), (119, .lock), (119, .promptEnded),
    ]) func `a question that is soon withdrawn, or that others take away, costs nothing`(
        _ seconds: Int, _ interruption: PromptInterruption
    ) throws {
        for _ in 0..<5 { try leaveStanding("a", seconds: seconds, .interrupted(interruption)) }
        try expectAsked("a", terminal: 0)
    }

    @Test func `a silent program keeps others on its terminal from asking for thirty seconds only`() throws {
        for _ in 0..<3 { try leaveStanding("silent", seconds: 120, terminal: 1) }
        #expect(try ask("other", terminal: 1).wait() == .unavailable(.coolingDown(remaining: .seconds(30))))
        clock.advance(by: .seconds(30))
        try expectAsked("other", terminal: 1)
        #expect(try ask("silent", terminal: 1).wait() == .unavailable(.coolingDown(remaining: .seconds(330))))
    }

    @Test func `a program's waiting questions do not outlast its pause`() throws {
        for _ in 0..<2 { try leaveStanding("silent", seconds: 120) }
        let third = try ask("silent")
        prompter.waitForQuestion()
        let fourth = try enqueue("silent", waiting: 1)
        let other = try enqueue("other", waiting: 2)
        prompter.answer(.timedOut)
        #expect(third.wait() == .timedOut)
        prompter.waitForQuestion()
        prompter.answer(.confirmed)
        #expect(other.wait() == .confirmed)
        #expect(fourth.wait() == .unavailable(.coolingDown(remaining: .seconds(240))))
    }
}

@Suite struct PromptCooldownTests {
    private let start = ContinuousClock.now

    private func cooldown(_ seconds: [Int], _ program: ProgramOfOwner = "a") -> PromptCooldown {
        var cooldown = PromptCooldown()
        for second in seconds {
            cooldown.note(
                .unanswered(after: .zero), of: [.program(program)], at: start.advanced(by: .seconds(second)))
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

    @Test func `another owner's program of the same name is not held up, nor on the same terminal`() {
        let (one, other) = (OwnerID.numbered(1), OwnerID.numbered(2))
        func sources(of owner: OwnerID) -> [PromptCooldown.Source] {
            [.program(ProgramOfOwner(owner: owner, program: "a")), .terminal(7, of: owner)]
        }
        var cooldown = PromptCooldown()
        for _ in 0..<3 { cooldown.note(.unanswered(after: .zero), of: sources(of: one), at: start) }
        for source in sources(of: one) { #expect(cooldown.remaining(for: [source], at: start) == .seconds(30)) }
        #expect(cooldown.remaining(for: sources(of: other), at: start) == nil)
    }

    @Test func `an answer in between begins the count again`() {
        var cooldown = cooldown([0, 1])
        cooldown.note(.answered, of: [.program("a")], at: start.advanced(by: .seconds(2)))
        cooldown.note(.unanswered(after: .zero), of: [.program("a")], at: start.advanced(by: .seconds(2)))
        #expect(cooldown.remaining(for: [.program("a")], at: start.advanced(by: .seconds(2))) == nil)
    }

    @Test func `a program that has a terminal's name is not that terminal`() {
        var cooldown = PromptCooldown()
        for _ in 0..<3 { cooldown.note(.unanswered(after: .zero), of: [.terminal(7, of: nil)], at: start) }
        #expect(cooldown.remaining(for: [.program("7")], at: start) == nil)
        #expect(cooldown.remaining(for: [.program("7"), .terminal(7, of: nil)], at: start) == .seconds(30))
        #expect(cooldown.remaining(for: [], at: start) == nil)
    }

    /// Each question ends `gap` seconds before the next begins.
    @Test(arguments: [(30, Duration.seconds(360)), (31, nil)])
    func `the time that a question stands does not count as a gap`(_ gap: Int, _ pause: Duration?) {
        var (cooldown, now) = (PromptCooldown(), start)
        for _ in 0..<3 {
            now = now.advanced(by: .seconds(gap + 120))
            cooldown.note(.unanswered(after: .seconds(120)), of: [.program("a")], at: now)
            // Another program's question changes nothing.
            cooldown.note(.unanswered(after: .zero), of: [.program("\(now)")], at: now)
        }
        #expect(cooldown.remaining(for: [.program("a")], at: now) == pause)
    }

    @Test func `the longest questions are remembered until the last of them ends`() {
        var (cooldown, now) = (PromptCooldown(), start)
        for _ in 0..<3 {
            now = now.advanced(by: .seconds(30 + 600))
            cooldown.note(.unanswered(after: .zero), of: [.program("b")], at: now)
            cooldown.note(.unanswered(after: .seconds(600)), of: [.program("a")], at: now)
        }
        #expect(cooldown.remaining(for: [.program("a")], at: now) == .seconds(1800))
    }
}
