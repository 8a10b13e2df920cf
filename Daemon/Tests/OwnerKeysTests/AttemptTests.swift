import AccessControl
import OstiaryMessages
import PromptProtocol
import StoreTestSupport
import Synchronization
import Testing

@testable import BrokerTestSupport

@Suite("Wrong passcodes")
struct AttemptTests {
    let fixture: BrokerFixture

    init() throws {
        fixture = try BrokerFixture()
        try fixture.setPasscode()
        try fixture.create("right", Requirement(anyOf: [.passcode]), .whenUnlocked)
    }

    /// Enters wrong passcodes until the counter says so, waiting for each delay before.
    private func fail(times count: Int) throws {
        for _ in 0..<count {
            fixture.clock.advance(by: try waitingTime())
            #expect(try fixture.refusalOfAuthorizing("right", answers: [.text("wrong"), .cancel]) != nil)
        }
    }

    private func waitingTime() throws -> Duration {
        .seconds(try #require(try fixture.client().status().passcode.lockedOutSeconds))
    }

    private func failedAttempts() throws -> UInt32? { try fixture.client().status().passcode.failedAttempts }

    @Test func `three of them end an evaluation`() throws {
        let wrong = ScriptedPrompter.Answer.text("wrong")
        let refused = try fixture.refusalOfAuthorizing("right", answers: [wrong, wrong, wrong, wrong])
        #expect(refused?.code == .authenticationFailed)
        #expect(fixture.prompter.unusedAnswers.count == 1)
        #expect(fixture.prompter.asked.map(\.triesLeft) == [nil, 3, 2])
        #expect(
            fixture.prompter.asked.map { $0.missConsequence?.string } == [
                nil, "After 4 more wrong ones you wait 1 minute.", "After 3 more wrong ones you wait 1 minute.",
            ])
        #expect(try failedAttempts() == 3)
    }

    @Test func `the last one before a delay is not said to be none`() throws {
        try fail(times: 3)
        let wrong = ScriptedPrompter.Answer.text("wrong")
        #expect(try fixture.refusalOfAuthorizing("right", answers: [wrong, .cancel])?.code == .userCancel)
        let question = try #require(fixture.prompter.asked.last)
        #expect(question.missConsequence?.string == "After the next wrong one you wait 1 minute.")
        #expect(question.notice?.string == "Wrong passcode.")
    }

    @Test func `those of a former question are told by the next one, as the doctor tells them`() throws {
        try fail(times: 2)
        let words = "After 3 more wrong ones you wait 1 minute."
        let client = try fixture.client()
        let finding = try #require(client.diagnosis().findings.first { $0.check == "lockout" })
        #expect(finding.message == "Wrong passcodes since the last right one: 2. \(words)")
        _ = try fixture.refusalOfAuthorizing("right", answers: [.cancel])
        let question = try #require(fixture.prompter.asked.last)
        #expect(question.missConsequence?.string == words && question.notice == nil)
    }

    @Test(arguments: zip(5...9, ["5 minutes", "15 minutes", "1 hour", "3 hours", "8 hours"]))
    func `the next wait is told, however long`(failures: Int, wait: String) throws {
        try fail(times: failures)
        fixture.clock.advance(by: .seconds(24 * 3600))
        let client = try fixture.client()
        let words = "After the next wrong one you wait \(wait)."
        #expect(try client.diagnosis().findings.first { $0.check == "lockout" }?.message.hasSuffix(words) == true)
        _ = try fixture.refusalOfAuthorizing("right", answers: [.cancel])
        #expect(fixture.prompter.asked.last?.missConsequence?.string == words)
    }

    @Test func `the third one of a question that begins a delay is refused with it`() throws {
        try fail(times: 2)
        let wrong = ScriptedPrompter.Answer.text("wrong")
        let refused = try fixture.refusalOfAuthorizing("right", answers: [wrong, wrong, wrong])
        #expect(refused?.code == .lockedOut && refused?.retryAfter == .seconds(60))
        #expect(refused?.cause == "passcode.locked-out")
    }

    @Test func `one is on disk before the passcode is looked at`() throws {
        let meeting = Meeting()
        let fixture = try BrokerFixture(stretching: meeting.stretching)
        try fixture.setPasscode()
        let state = fixture.stateDirectory
        let copy = Mutex<TestFolder?>(nil)
        meeting.duringNextStretch { copy.withLock { $0 = try? BrokerFixture.copyOfState(state) } }
        try fixture.unlock()
        #expect(try fixture.client().status().passcode.failedAttempts == 0)
        let copied: TestFolder = try #require(copy.withLock { $0 })
        let killed = try BrokerFixture(in: copied)
        #expect(try killed.client().status().passcode.failedAttempts == 1)
    }

    @Test func `a success in between forgives them`() throws {
        #expect(try fixture.opens("right", answers: [.text("wrong"), .text("wrong"), .text(BrokerFixture.passcode)]))
        #expect(try failedAttempts() == 0)
    }

    @Test func `an empty entry and one of the largest size are wrong, not an accident`() throws {
        let entries = ["", String(repeating: "x", count: 1024), String(repeating: "x", count: 1025)]
        for entry in entries {
            let refused = try fixture.refusalOfAuthorizing("right", answers: [.text(entry), .cancel])
            #expect(refused?.code == .userCancel)
        }
        #expect(try failedAttempts() == 3)
    }

    @Test func `from the fifth on each brings a delay, and nobody is asked while it runs`() throws {
        try fail(times: 4)
        #expect(try waitingTime() == .zero)
        let refused = try fixture.refusalOfAuthorizing(
            "right", answers: [.text("wrong"), .text(BrokerFixture.passcode)])
        #expect(refused?.code == .lockedOut && refused?.retryAfter == .seconds(60))
        #expect(fixture.prompter.unusedAnswers.count == 1)

        fixture.clock.advance(by: .seconds(10))
        let early = try fixture.refusalOfAuthorizing("right", answers: [.text(BrokerFixture.passcode)])
        #expect(early?.code == .lockedOut && early?.retryAfter == .seconds(50))
        #expect(early?.cause == "passcode.locked-out")
        #expect(fixture.prompter.asked.isEmpty)
        #expect(try waitingTime() == .seconds(50))

        fixture.clock.advance(by: .seconds(50))
        #expect(try fixture.opens("right", answers: [.text(BrokerFixture.passcode)]))
        #expect(try failedAttempts() == 0)
    }

    @Test(arguments: zip(5...11, [60, 300, 900, 3600, 3 * 3600, 8 * 3600, 8 * 3600]))
    func `delays grow`(failures: Int, seconds: Int) throws {
        try fail(times: failures)
        #expect(try waitingTime() == .seconds(seconds))
    }

    @Test func `a restart keeps counter and delay`() throws {
        try fail(times: 5)
        fixture.clock.advance(by: .seconds(20))
        try fixture.restart()
        #expect(try waitingTime() == .seconds(40))
        #expect(try failedAttempts() == 5)
        #expect(try fixture.refusalOfAuthorizing("right", answers: [.text(BrokerFixture.passcode)])?.code == .lockedOut)
        #expect(fixture.prompter.asked.isEmpty)
    }

    @Test func `a reboot begins the delay again`() throws {
        try fail(times: 5)
        fixture.clock.advance(by: .seconds(59))
        fixture.clock.reboot(uptime: .seconds(100_000))
        try fixture.restart()
        #expect(try waitingTime() == .seconds(60))
        fixture.clock.advance(by: .seconds(30))
        try fixture.restart()
        #expect(try waitingTime() == .seconds(30))
        #expect(try fixture.refusalOfAuthorizing("right", answers: [.text(BrokerFixture.passcode)])?.code == .lockedOut)
        fixture.clock.advance(by: .seconds(29))
        #expect(try waitingTime() == .seconds(1))
        fixture.clock.advance(by: .seconds(1))
        #expect(try fixture.opens("right", answers: [.text(BrokerFixture.passcode)]))
    }

    @Test func `a delay that was over before a reboot stays over`() throws {
        try fail(times: 5)
        fixture.clock.advance(by: .seconds(60))
        #expect(try waitingTime() == .zero)
        fixture.clock.reboot(uptime: .seconds(5))
        try fixture.restart()
        #expect(try waitingTime() == .zero)
        #expect(try fixture.opens("right", answers: [.text(BrokerFixture.passcode)]))
    }

    @Test func `every way to the passcode is closed by the delay`() throws {
        try fail(times: 5)
        let client = try fixture.client()
        fixture.prompter.prepare([.text(BrokerFixture.passcode)])
        #expect(try refusal { try client.passcode(.change) } == .lockedOut)
        #expect(try refusal { try client.passcode(.remove) } == .lockedOut)
        #expect(try refusal { try client.evaluatePolicy(2, in: client.openContext()) } == .lockedOut)
        #expect(try refusal { _ = try client.verifyLog(interactive: true) } == .lockedOut)
        #expect(fixture.prompter.asked.isEmpty)
    }

    @Test func `what needs no passcode works during the delay`() throws {
        try fixture.create("free", .unrestricted, .always)
        try fail(times: 5)
        #expect(try fixture.opens("free"))
    }

    @Test func `application passwords are counted per right`() throws {
        let rule = try Requirement(anyOf: [.applicationPassword])
        try fixture.create("one", rule, .always)
        try fixture.create("two", rule, .always)
        let right = ScriptedPrompter.Answer.text(BrokerFixture.applicationPassword)
        let wrong = ScriptedPrompter.Answer.text("x")
        #expect(try fixture.refusalOfAuthorizing("one", answers: [wrong, wrong, wrong])?.code == .authenticationFailed)
        let refused = try fixture.refusalOfAuthorizing("one", answers: [wrong, wrong, right])
        #expect(refused?.code == .lockedOut && refused?.retryAfter == .seconds(60))
        #expect(fixture.prompter.unusedAnswers == [right])
        #expect(try fixture.refusalOfAuthorizing("one", answers: [right])?.code == .lockedOut)
        #expect(fixture.prompter.asked.isEmpty)
        #expect(try fixture.opens("two", answers: [right]))
        #expect(try failedAttempts() == 0)
        fixture.clock.advance(by: .seconds(60))
        #expect(try fixture.opens("one", answers: [right]))
    }

    /// What ends what an application password protects.
    enum Ending: CaseIterable { case remove, removeAll, replace, removePasscode, deleteItem }

    @Test(arguments: Ending.allCases)
    func `a counter goes with what is guessed at`(_ ending: Ending) throws {
        let rule = try Requirement(anyOf: [[.passcode, .applicationPassword]])
        let client = try fixture.client()
        let answers: [ScriptedPrompter.Answer] = [.text(BrokerFixture.passcode), .text("x"), .cancel]
        if ending == .deleteItem {
            fixture.prompter.prepare(Array(repeating: .text(BrokerFixture.applicationPassword), count: 2))
            try client.addItem(["acct": .text("guarded")], accessControl: .item(rule))
            fixture.prompter.prepare(answers)
            #expect(try refusal { _ = try client.itemData(TestClient.query()) } == .userCancel)
        } else {
            try fixture.create("guarded", rule, .whenPasscodeSet)
            #expect(try fixture.refusalOfAuthorizing("guarded", answers: answers)?.code == .userCancel)
        }
        #expect(try fixture.guessedSubjects().count == 1)
        switch ending {
        case .remove: try client.remove("guarded")
        case .removeAll: try client.removeAll()
        case .replace:
            try client.create("guarded", AccessControl(availability: .always, using: .unrestricted), replace: true)
        case .removePasscode: try fixture.removePasscode()
        case .deleteItem: try client.deleteItems(TestClient.query())
        }
        #expect(try fixture.guessedSubjects().isEmpty)
    }

    @Test func `what is removed while a guess is checked leaves no counter, and the right password opens nothing`()
        throws
    {
        let meeting = Meeting()
        let fixture = try BrokerFixture(stretching: meeting.stretching)
        try fixture.create("guarded", Requirement(anyOf: [.applicationPassword]), .always)
        let path = fixture.socketPath
        for entry in ["x", BrokerFixture.applicationPassword] {
            meeting.duringNextStretch {
                do { try TestClient(socketPath: path).remove("guarded") } catch { Issue.record(error) }
            }
            let refused = try fixture.refusalOfAuthorizing("guarded", answers: [.text(entry), .cancel])
            #expect(refused?.code == .notFound)
            #expect(try fixture.guessedSubjects().isEmpty)
            try fixture.create("guarded", Requirement(anyOf: [.applicationPassword]), .always)
        }
    }

    @Test func `what is removed while its password is asked for is not guessed at`() throws {
        try fixture.create("guarded", Requirement(anyOf: [.applicationPassword]), .always)
        let path = fixture.socketPath
        fixture.prompter.duringNextQuestion {
            do { try TestClient(socketPath: path).remove("guarded") } catch { Issue.record(error) }
        }
        let refused = try fixture.refusalOfAuthorizing(
            "guarded", answers: [.text(BrokerFixture.applicationPassword)])
        #expect(refused?.code == .notFound)
        #expect(try fixture.guessedSubjects().isEmpty)
    }

    @Test func `an application password from the program counts as one try, and is not tried twice`() throws {
        try fixture.create("guarded", Requirement(anyOf: [.applicationPassword]), .always)
        let client = try fixture.client()
        let context = try client.openContext()
        let right = try client.find("guarded")
        fixture.prompter.prepare([])
        try client.setApplicationPassword("wrong", in: context)
        for _ in 1...5 {
            #expect(try refusal { _ = try client.authorize(right, in: context) } == .authenticationFailed)
        }
        try client.setApplicationPassword(BrokerFixture.applicationPassword, in: context)
        #expect(try refusal { _ = try client.authorize(right, in: context) } == .lockedOut)
        fixture.clock.advance(by: .seconds(60))
        #expect(try client.authorize(right, in: context) == ["application-password"])
        #expect(fixture.prompter.asked.isEmpty)
    }
}
