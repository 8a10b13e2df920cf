import Dispatch
import Foundation
import Glibc
import OstiaryMessages
import OwnerKeys
import Owners
import SecretMemory
import Settings
import StoreTestSupport
import Synchronization
import TPMTestSupport
import TerminalTestSupport
import Testing
import Vault

@testable import Auditing
@testable import Broker
@testable import BrokerTestSupport
@testable import OwnerKeys
@testable import SignIns

/// What a login, and a change of the login password, do to the store.
@Suite(.timeLimit(.minutes(10)))
struct LoginTests {
    enum Keeper: CaseIterable { case software, chip }

    private static let another = "login password 8"

    private func stage(_ keeper: Keeper) throws -> (SignInStage, SoftwareTPM?) {
        guard keeper == .chip else { return (try SignInStage(), nil) }
        let tpm = try SoftwareTPM()
        return (try SignInStage(prompts: PromptConfiguration(keysIn: tpm)), tpm)
    }

    private func open(_ stage: SignInStage, with password: String) throws -> SignInResult? {
        let answer = try stage.answer(Message.open(with: password))
        return [SignInResult.done, .notBound, .wrong, .unavailable].first { answer == Message.done($0) }
    }

    private func followLogin(_ stage: SignInStage, with password: String) throws {
        stage.fixture.prompter.prepare([.text(BrokerFixture.passcode), .text(password), .text(password)])
        try stage.fixture.client(as: SignInStage.ada).passcode(.followLogin)
    }

    private func state(_ stage: SignInStage) throws -> LoginState { try stage.account().login.state() }

    // MARK: logins

    @Test(arguments: Keeper.allCases)
    func `a login whose password is the passcode opens the store`(keeper: Keeper) throws {
        let (stage, tpm) = try stage(keeper)
        defer { withExtendedLifetime(tpm) {} }
        stage.lock()
        #expect(try open(stage, with: BrokerFixture.passcode) == .done)
        #expect(stage.isUnlocked())
        #expect(try state(stage) == .trying(failed: false))
        #expect(try stage.records() == ["opened login open"])
    }

    @Test(arguments: Keeper.allCases)
    func `ten logins with another password burn one try`(keeper: Keeper) throws {
        let (stage, tpm) = try stage(keeper)
        defer { withExtendedLifetime(tpm) {} }
        stage.lock()
        #expect(try open(stage, with: Self.another) == .wrong)
        for _ in 2...10 { #expect(try open(stage, with: Self.another) == .notBound) }
        #expect(try stage.failedCount() == 1)
        #expect(try state(stage) == .trying(failed: true))
        #expect(try open(stage, with: BrokerFixture.passcode) == .notBound, "nothing is tried")
        #expect(!stage.isUnlocked())
    }

    @Test(arguments: Keeper.allCases)
    func `ten logins with another password burn one try of a store that follows`(keeper: Keeper) throws {
        let (stage, tpm) = try stage(keeper)
        defer { withExtendedLifetime(tpm) {} }
        try stage.account().login.set(.following)
        stage.lock()
        #expect(try open(stage, with: Self.another) == .wrong)
        for _ in 2...10 { #expect(try open(stage, with: Self.another) == .notBound) }
        #expect(try stage.failedCount() == 1)
        #expect(try state(stage) == .trying(failed: true))
    }

    @Test func `ten logins at once burn one try`() throws {
        let stage = try SignInStage()
        stage.lock()
        let modules = try (1...10).map { _ in try stage.module() }
        for module in modules { try module.send(Message.open(with: Self.another)) }
        let answers = try modules.map { try $0.next() }
        #expect(answers.count { $0 == Message.done(.wrong) } == 1)
        #expect(answers.count { $0 == Message.done(.notBound) } == 9)
        #expect(try stage.failedCount() == 1)
    }

    @Test(arguments: Keeper.allCases)
    func `the passcode forgives a wrong login password once it is entered`(keeper: Keeper) throws {
        let (stage, tpm) = try stage(keeper)
        defer { withExtendedLifetime(tpm) {} }
        stage.lock()
        #expect(try open(stage, with: Self.another) == .wrong)
        #expect(try stage.answer(Message.query(), typing: BrokerFixture.passcode) == Message.ok)
        #expect(try state(stage) == .trying(failed: false))
        stage.lock()
        #expect(try open(stage, with: BrokerFixture.passcode) == .done)
        #expect(try stage.failedCount() == 0)
    }

    @Test func `an open store, and one without a passcode, try nothing`() throws {
        let stage = try SignInStage()
        #expect(try open(stage, with: Self.another) == .done)
        stage.fixture.prompter.prepare([.text(BrokerFixture.passcode), .confirm])
        try stage.fixture.client(as: SignInStage.ada).passcode(.remove)
        #expect(try open(stage, with: Self.another) == .notBound)
        #expect(try stage.answer(Message.open("grace", with: Self.another)) == Message.done(.notBound))
    }

    @Test func `a login waits for no pause and brings none to an end`() throws {
        let stage = try SignInStage()
        stage.lock()
        for _ in 1...5 {
            _ = try? stage.account().keeper.prove(SecretBytes(text: "wrong"))
        }
        let count = try stage.failedCount()
        #expect(try open(stage, with: BrokerFixture.passcode) == .unavailable)
        #expect(try stage.failedCount() == count)
        #expect(try state(stage) == .trying(failed: false))
    }

    @Test func `a login that the owner does not want tries nothing`() throws {
        let stage = try SignInStage()
        try stage.fixture.client(as: SignInStage.ada).passcode(.ignoreLogin)
        stage.lock()
        #expect(try open(stage, with: BrokerFixture.passcode) == .notBound)
        #expect(try stage.answer(Message.query(), typing: BrokerFixture.passcode) == Message.ok)
        #expect(try state(stage) == .never)
        #expect(try stage.records(SignInStage.ada, "passcode-ignore-login").last?.hasPrefix("done") == true)
    }

    @Test func `a passcode entered meanwhile does not overrule an owner who wants no login to try`() throws {
        let stage = try SignInStage()
        let account = stage.account()
        try account.login.set(.trying(failed: true))
        let (begun, goOn, done) = (
            DispatchSemaphore(value: 0), DispatchSemaphore(value: 0), DispatchSemaphore(value: 0)
        )
        Thread {
            try? account.vault.write("test") { writer in
                begun.signal()
                goOn.wait()
                try writer.setAttempts(
                    AttemptRecord(
                        owner: account.id, subject: LoginBinding.subject, failedCount: 0,
                        delayState: Data(LoginState.never.encoded)))
            }
        }.start()
        begun.wait()
        Thread {
            try? account.login.passcodeWasEntered()
            done.signal()
        }.start()
        // It has looked at the state by now, and waits to write.
        usleep(200_000)
        goOn.signal()
        done.wait()
        #expect(try state(stage) == .never)
    }

    // MARK: changes

    @Test(arguments: Keeper.allCases)
    func `the passcode follows the login password`(keeper: Keeper) throws {
        let (stage, tpm) = try stage(keeper)
        defer { withExtendedLifetime(tpm) {} }
        try followLogin(stage, with: Self.another)
        #expect(try state(stage) == .following)
        stage.lock()
        #expect(try open(stage, with: Self.another) == .done)
        let changed = Message.change(from: Self.another, to: "third password 7")
        #expect(try stage.answer(changed) == Message.done(.done))
        #expect(try state(stage) == .following)
        stage.lock()
        #expect(try open(stage, with: "third password 7") == .done)
        #expect(try stage.failedCount() == 0)
        #expect(
            try stage.records(SignInStage.ada, "passcode-change") == ["begun  login password", "done  login password"])
    }

    @Test func `a store that follows nothing is not changed`() throws {
        let stage = try SignInStage()
        let changed = Message.change(from: BrokerFixture.passcode, to: Self.another)
        for state in [LoginState.never, .trying(failed: false), .trying(failed: true)] {
            try stage.account().login.set(state)
            #expect(try stage.answer(changed) == Message.done(.notBound))
            #expect(try self.state(stage) == state)
        }
        #expect(try stage.answer(Message.query(), typing: BrokerFixture.passcode) == Message.ok)
    }

    @Test func `a change from another password, or to a weak one, ends the following`() throws {
        let stage = try SignInStage()
        try stage.account().login.set(.following)
        #expect(try stage.answer(Message.change(from: "wrong", to: Self.another)) == Message.done(.wrong))
        #expect(try state(stage) == .trying(failed: true))
        #expect(try stage.answer(Message.change(from: "wrong", to: Self.another)) == Message.done(.notBound))
        #expect(try stage.failedCount() == 1)
        try stage.account().login.set(.following)
        let weak = Message.change(from: BrokerFixture.passcode, to: "12345678")
        #expect(try stage.answer(weak) == Message.done(.unavailable))
        #expect(try state(stage) == .trying(failed: true))
        #expect(try stage.answer(Message.query(), typing: BrokerFixture.passcode) == Message.ok)
    }

    @Test func `a change is made though the module leaves`() throws {
        let stage = try SignInStage()
        try stage.account().login.set(.following)
        let module = try stage.module()
        try module.send(Message.change(from: BrokerFixture.passcode, to: Self.another))
        module.hangUp()
        try eventually("the passcode is changed") {
            try stage.records(SignInStage.ada, "passcode-change").count == 2 && state(stage) == .following
        }
        #expect(try stage.answer(Message.query(), typing: Self.another) == Message.ok)
    }

    @Test func `a password that root set ends the following`() throws {
        let stage = try SignInStage()
        #expect(try stage.answer(Message.reset()) == Message.done(.notBound))
        try stage.account().login.set(.following)
        #expect(try stage.answer(Message.reset()) == Message.done(.done))
        #expect(try state(stage) == .trying(failed: true))
        stage.lock()
        #expect(try open(stage, with: Self.another) == .notBound)
        #expect(try stage.failedCount() == 0)
    }

    // MARK: the command

    @Test func `to follow the login needs the passcode and a strong login password`() throws {
        let stage = try SignInStage()
        let client = try stage.fixture.client(as: SignInStage.ada)
        stage.fixture.prompter.prepare(Array(repeating: .text("wrong"), count: 3))
        #expect(try refusal { try client.passcode(.followLogin) } == .authenticationFailed)
        stage.fixture.prompter.prepare([.text(BrokerFixture.passcode)] + Array(repeating: .text("12345678"), count: 3))
        #expect(try refusal { try client.passcode(.followLogin) } == .passcodeTooWeak)
        #expect(try state(stage) == .trying(failed: false))
    }

    @Test func `status says what a login does with its password`() throws {
        let stage = try SignInStage()
        let client = try stage.fixture.client(as: SignInStage.ada)
        func told() throws -> WireLoginUse { try client.status().passcode.login }
        #expect(try told() == .tries)
        stage.lock()
        #expect(try open(stage, with: Self.another) == .wrong)
        #expect(try told() == .waits)
        try followLogin(stage, with: Self.another)
        #expect(try told() == .follows)
        try client.passcode(.ignoreLogin)
        #expect(try told() == .never)
        #expect(try stage.fixture.client(as: SignInStage.eve).status().passcode.login == .tries, "another's")
        try writeStrangeState(in: stage.fixture)
        #expect(try told() == .unreadable)
        #expect(try stage.fixture.client(as: SignInStage.grace).status().passcode.login == .unspecified, "no passcode")
    }

    @Test func `a program in a loop fills no log with a state that cannot be read`() throws {
        let recorded = RecordedLog()
        let fixture = try BrokerFixture(serves: .anybody(closing: .never), log: recorded.logger)
        let client = try fixture.client(as: SignInStage.ada)
        fixture.prompter.prepare([.text(BrokerFixture.passcode), .text(BrokerFixture.passcode)])
        try client.passcode(.set)
        try writeStrangeState(in: fixture)
        for _ in 0..<(3 * Int(CallerLines.burst)) { #expect(try client.status().passcode.login == .unreadable) }
        #expect((1...Int(CallerLines.burst)).contains(recorded.count(of: "the state of a login cannot be read")))
    }

    @Test func `a daemon of one user has no logins`() throws {
        let fixture = try BrokerFixture()
        try fixture.setPasscode()
        for action in [WirePasscodeAction.followLogin, .ignoreLogin] {
            #expect(try refusal { try fixture.client().passcode(action) } == .operationNotPermitted)
        }
        #expect(try fixture.client().status().passcode.login == .unspecified)
    }

    // MARK: the row

    @Test func `the state has the bytes of its document, and others are refused`() throws {
        let states: [(LoginState, [UInt8])] = [
            (.never, [1, 0]), (.trying(failed: false), [1, 1]), (.trying(failed: true), [1, 2]), (.following, [1, 3]),
        ]
        for (state, bytes) in states {
            #expect(state.encoded == bytes)
            #expect(try LoginState(decoding: bytes) == state)
        }
        for bytes: [UInt8] in [[], [1], [2, 0], [1, 4], [1, 0, 0]] {
            #expect(throws: (any Error).self) { try LoginState(decoding: bytes) }
        }
    }

    private func writeStrangeState(in fixture: BrokerFixture) throws {
        let owner = try #require(fixture.account(of: SignInStage.ada)).id
        try fixture.broker.vault.write("strange") { writer in
            try writer.setAttempts(
                AttemptRecord(owner: owner, subject: LoginBinding.subject, failedCount: 0, delayState: Data([9])))
        }
    }

    @Test func `a state that cannot be read tries nothing`() throws {
        let stage = try SignInStage()
        try writeStrangeState(in: stage.fixture)
        stage.lock()
        #expect(try open(stage, with: BrokerFixture.passcode) == .unavailable)
        #expect(try stage.failedCount() == 0 && !stage.isUnlocked())
    }
}
