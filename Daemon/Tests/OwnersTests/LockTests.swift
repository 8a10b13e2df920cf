import AccessControl
import Foundation
import OstiaryMessages
import Owners
import PromptProtocol
import SecretMemory
import Sessions
import StoreTestSupport
import Testing

@testable import Broker
@testable import BrokerTestSupport
@testable import OwnerKeys

/// A lock that comes while something else is going on holds afterwards.
@Suite("A lock", .timeLimit(.minutes(10)))
struct LockTests {
    static let new = "another battery 8"
    private let meeting = Meeting()
    private let fixture: BrokerFixture

    init() throws { fixture = try BrokerFixture(stretching: meeting.stretching) }

    private func expectLocked(_ passcode: String = BrokerFixture.passcode) throws {
        #expect(try !fixture.client().status().unlocked)
        let refused = try fixture.refusalOfAuthorizing("free", answers: [.cancel])
        #expect(refused?.code == .userCancel, "a question was needed")
        #expect(try fixture.opens("free", answers: [.text(passcode)]))
    }

    @Test func `opening an open store asks nobody, and opening a locked one asks the person`() throws {
        try fixture.setPasscode()
        let client = try fixture.client()
        let request = try WireAuthorizeRequest.with {
            ($0.contextID, $0.subject, $0.question) = (try client.openContext(), .store(.init()), TestClient.question)
        }
        let before = fixture.prompter.asked.count
        guard case .granted(let granted) = try client.call(.authorize(request)).body else {
            throw TestClient.UnexpectedAnswer()
        }
        #expect(granted.factors.isEmpty && fixture.prompter.asked.count == before)
        try client.lock()
        fixture.prompter.prepare([.text(BrokerFixture.passcode)])
        _ = try client.call(.authorize(request))
        #expect(fixture.prompter.asked.last?.operation.string == "open the store")
        #expect(try client.status().unlocked)
    }

    @Test(arguments: [false, true])
    func `while a passcode is checked grants nothing and leaves nothing open`(isUnlocked: Bool) throws {
        try fixture.create("free", .unrestricted, .whenUnlocked)
        try fixture.setPasscode()
        try fixture.create("bound", .passcode, .whenUnlocked)
        if !isUnlocked { try fixture.client().lock() }
        let path = fixture.socketPath
        meeting.duringNextStretch {
            do { try TestClient(socketPath: path).lock() } catch { Issue.record(error) }
        }
        let refused = try fixture.refusalOfAuthorizing("bound", answers: [.text(BrokerFixture.passcode)])
        #expect(refused?.code == .systemCancel && refused?.cause == "store.locked")
        try expectLocked()
    }

    /// What the person or the program gave was tried at nothing, whether it is right or wrong.
    @Test func `while an application password is checked costs no try`() throws {
        try fixture.setPasscode()
        try fixture.create("word", Requirement(anyOf: [.applicationPassword]), .whenUnlocked)
        let path = fixture.socketPath
        for entered in [BrokerFixture.applicationPassword, "wrong"] + [String](repeating: "wrong", count: 5) {
            try fixture.unlock()
            meeting.duringNextStretch {
                do { try TestClient(socketPath: path).lock() } catch { Issue.record(error) }
            }
            #expect(try fixture.refusalOfAuthorizing("word", answers: [.text(entered)])?.code == .systemCancel)
        }
        try fixture.unlock()
        #expect(try fixture.opens("word", answers: [.text(BrokerFixture.applicationPassword)]))
        #expect(try fixture.client().log().allSatisfy { $0.event != "attempt" })
        let wrong = [ScriptedPrompter.Answer](repeating: .text("wrong"), count: 3)
        #expect(try fixture.refusalOfAuthorizing("word", answers: wrong)?.code == .authenticationFailed)
    }

    /// Locks from another connection, and returns when nothing but the change that is under way is waited for.
    private func lockMeanwhile() -> @Sendable () -> Void {
        let (path, ring) = (fixture.socketPath, fixture.account.ring)
        return {
            let era = ring.era
            Thread {
                do { try TestClient(socketPath: path).lock() } catch { Issue.record(error) }
            }.start()
            while ring.era == era { usleep(1_000) }
        }
    }

    @Test func `while the passcode is being set closes the new keys`() throws {
        try fixture.create("free", .unrestricted, .whenUnlocked)
        meeting.duringNextStretch(lockMeanwhile())
        try fixture.setPasscode()
        try expectLocked()
    }

    @Test func `while the passcode is being changed closes the new keys`() throws {
        try fixture.create("free", .unrestricted, .whenUnlocked)
        try fixture.setPasscode()
        let lock = lockMeanwhile()
        // First the old passcode is stretched, before the change; then the new one, in its middle.
        meeting.duringNextStretch { [meeting] in meeting.duringNextStretch(lock) }
        try fixture.changePasscode(to: Self.new)
        try expectLocked(Self.new)
    }

    @Test func `since the person was asked closes the keys that a change makes`() throws {
        try fixture.create("free", .unrestricted, .whenUnlocked)
        let (life, ring) = (fixture.account.life, fixture.account.ring)
        let before = ring.era
        ring.lock()
        _ = try life.set(SecretBytes(text: BrokerFixture.passcode), life.prepareSetting(as: .daemon), since: before)
        #expect(ring.unlockState(of: .whenUnlocked) == .needsPasscode)
        let proved = try fixture.account.keeper.prove(SecretBytes(text: BrokerFixture.passcode))
        _ = try life.change(
            proved, to: SecretBytes(text: Self.new), life.prepareChange(of: proved, as: .daemon), since: before)
        #expect(ring.unlockState(of: .whenUnlocked) == .needsPasscode)
        try expectLocked(Self.new)
    }

    @Test func `ends with the passcode, and question and log say that it opens the store`() throws {
        try fixture.setPasscode()
        let client = try fixture.client()
        try client.lock()
        fixture.prompter.prepare([.text(BrokerFixture.passcode)])
        let context = try client.openContext()
        try client.call(
            .authorize(
                .with {
                    ($0.contextID, $0.subject) = (context, .store(.init()))
                    $0.question = TestClient.question
                }))
        #expect(fixture.prompter.asked.last?.operation.string == "open the store")
        #expect(fixture.account.ring.unlockState(of: .whenUnlocked) == .open)
        let record = try #require(try client.log().last { $0.event == "unlock" })
        #expect(record.factors == ["passcode"])
    }

    @Test func `while the passcode is asked for ends the change`() throws {
        try fixture.create("free", .unrestricted, .whenUnlocked)
        try fixture.setPasscode()
        let path = fixture.socketPath
        fixture.prompter.prepare([.text(BrokerFixture.passcode), .text(Self.new), .text(Self.new)])
        fixture.prompter.duringNextQuestion {
            do { try TestClient(socketPath: path).lock() } catch { Issue.record(error) }
        }
        #expect(try refusal { try fixture.client().passcode(.change) } == .systemCancel)
        #expect(fixture.prompter.askedKinds == [.enterPasscode])
        try expectLocked()
    }

    @Test(arguments: [WirePasscodeAction.set, .change, .remove])
    func `after the last answer and before the change ends it too`(action: WirePasscodeAction) throws {
        try fixture.create("free", .unrestricted, .whenUnlocked)
        if action != .set { try fixture.setPasscode() }
        let old = ScriptedPrompter.Answer.text(BrokerFixture.passcode)
        let answers: [ScriptedPrompter.Answer] =
            switch action {
            case .set: [.text(Self.new), .text(Self.new)]
            case .change: [old, .text(Self.new), .text(Self.new)]
            default: [old, .confirm]
            }
        fixture.prompter.prepare(answers)
        let ended = DispatchSemaphore(value: 0)
        let path = fixture.socketPath
        fixture.account.changing.lock()
        Thread {
            defer { ended.signal() }
            do {
                let code = try refusal { try TestClient(socketPath: path).passcode(action) }
                #expect(code == .systemCancel)
            } catch { Issue.record(error) }
        }.start()
        while !fixture.prompter.unusedAnswers.isEmpty { usleep(1_000) }
        fixture.account.ring.lock()
        fixture.broker.sessions.endAllGrants()
        fixture.account.changing.unlock()
        ended.wait()
        #expect(try fixture.client().status().passcode.isSet == (action != .set))
        if action != .set { try expectLocked() }
    }
}
