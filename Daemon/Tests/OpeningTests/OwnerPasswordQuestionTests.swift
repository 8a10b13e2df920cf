import AccessControl
import Enclave
import Foundation
import OstiaryMessages
import Owners
import PromptProtocol
import SecretMemory
import Settings
import StoreTestSupport
import Synchronization
import TPMTestSupport
import Testing

@testable import Broker
@testable import BrokerTestSupport
@testable import OwnerKeys

/// The question for the password of the TPM's owner, in a store that was made before the owner had one.
@Suite(.serialized) struct OwnerPasswordQuestionTests {
    private let tpm: SoftwareTPM
    private let fixture: BrokerFixture

    init() throws {
        tpm = try SoftwareTPM()
        fixture = try BrokerFixture(prompts: PromptConfiguration(keysIn: tpm))
    }

    private static let owner = ScriptedPrompter.Answer.text(SoftwareTPM.ownerPassword)
    private static let passcode = ScriptedPrompter.Answer.text(BrokerFixture.passcode)

    /// Sets the passcode with these answers to the question for the owner.
    private func set(_ answers: ScriptedPrompter.Answer...) throws {
        fixture.prompter.prepare([Self.passcode, Self.passcode] + answers)
        try fixture.client().passcode(.set)
    }

    private func refused(_ answers: ScriptedPrompter.Answer...) throws -> Refused? {
        fixture.prompter.prepare([Self.passcode, Self.passcode] + answers)
        do { try fixture.client().passcode(.set) } catch let refused as Refused { return refused }
        return nil
    }

    private var isSet: Bool { get throws { try fixture.client().status().passcode.isSet } }

    // MARK: when it is asked

    @Test func `nobody is asked where the owner has no password`() throws {
        try set()
        #expect(fixture.prompter.askedKinds == [.newPasscode, .repeatPasscode])
    }

    @Test func `a passcode is set with one question more, and daily work asks for the passcode alone`() throws {
        try tpm.setOwnerPassword()
        try set(Self.owner)
        #expect(fixture.prompter.askedKinds == [.newPasscode, .repeatPasscode, .ownerPassword])
        let question = try #require(fixture.prompter.asked.last)
        #expect(question.operation.string == "set the passcode" && question.reason?.string == "a test")
        #expect(question.notice == nil && question.objects == nil)
        try fixture.create("right", .passcode, .whenUnlocked)
        #expect(try fixture.opens("right", answers: [Self.passcode]))
        fixture.prompter.prepare([Self.passcode, .text("another battery 8"), .text("another battery 8")])
        try fixture.client().passcode(.change)
        #expect(fixture.prompter.askedKinds == [.enterPasscode, .newPasscode, .repeatPasscode])
        #expect(try fixture.opens("right", answers: [.text("another battery 8")]))
        #expect(try fixture.client().status().passcode.failedAttempts == 0)
    }

    @Test func `while the owner is asked, no progress is told that would be written over the question`() throws {
        try tpm.setOwnerPassword()
        let told = Mutex<[Bool]>([])
        let account = fixture.account
        fixture.prompter.always { question in
            guard question.kind == .ownerPassword else { return Self.passcode }
            told.withLock { $0.append(account.life.progress.current != nil) }
            return Self.owner
        }
        try fixture.client().passcode(.set)
        #expect(told.withLock { $0 } == [false])
    }

    @Test func `a removal asks nobody, and the next passcode asks once and takes the index's place`() throws {
        try set()
        try tpm.setOwnerPassword()
        let before = try tpm.lastingHandles()
        fixture.prompter.prepare([Self.passcode, .confirm])
        try fixture.client().passcode(.remove)
        #expect(fixture.prompter.askedKinds.count == 2 && fixture.prompter.unpreparedCount == 0)
        #expect(try !isSet && tpm.lastingHandles() == before)
        try set(Self.owner)
        #expect(try isSet && tpm.lastingHandles() == before)
    }

    // MARK: refusals

    @Test func `a wrong password is asked for three times, and nothing is made`() throws {
        try tpm.setOwnerPassword()
        let before = try tpm.lastingHandles()
        let refused = try refused(.text("wrong"), .text("worse"), .text(BrokerFixture.passcode), Self.owner)
        #expect(refused?.code == .authenticationFailed && refused?.cause == "enclave.owner-password-wrong")
        let questions = fixture.prompter.asked.filter { $0.kind == .ownerPassword }
        #expect(questions.map { $0.notice?.string } == [nil, "Wrong owner password.", "Wrong owner password."])
        #expect(fixture.prompter.unusedAnswers == [Self.owner])
        #expect(try !isSet && tpm.lastingHandles() == before)
        #expect(try tpm.lockoutCount() == "TPM2_PT_LOCKOUT_COUNTER: 0x0")
        #expect(try tpm.handles() == [0, 0, 0])
        try set(.text("wrong"), Self.owner)
        #expect(try isSet)
    }

    @Test func `a no, silence and nobody to ask are told apart, and leave nothing half-made`() throws {
        try tpm.setOwnerPassword()
        let before = try tpm.lastingHandles()
        let cancelled = try refused(.cancel)
        #expect(cancelled?.code == .userCancel && cancelled?.cause == "prompt.cancelled")
        let afterOne = try refused(.text("wrong"), .cancel)
        #expect(afterOne?.code == .userCancel)
        let nobody = try refused(.nobody)
        #expect(nobody?.code == .notInteractive && nobody?.cause == "enclave.owner-password")
        #expect(nobody?.explanation.contains("owner password of the TPM") == true, "\(String(describing: nobody))")
        #expect(try !isSet && tpm.lastingHandles() == before)
        #expect(try tpm.handles() == [0, 0, 0])
        // The machine keeps no storage key, so the next start asks too.
        fixture.prompter.prepare([Self.owner])
        try fixture.restart()
        #expect(fixture.prompter.askedKinds == [.ownerPassword])
        #expect(try !isSet && tpm.lastingHandles() == before + ["0x81000001"])
        fixture.prompter.prepare([])
        try fixture.restart()
        #expect(fixture.prompter.askedKinds.isEmpty)
    }

    // MARK: whose secret it is

    @Test func `neither secret is taken for the other`() throws {
        try tpm.setOwnerPassword(BrokerFixture.passcode + " of the owner")
        try set(.text(BrokerFixture.passcode), .text(BrokerFixture.passcode + " of the owner"))
        try fixture.create("right", .passcode, .whenUnlocked)
        fixture.prompter.prepare([.text(BrokerFixture.passcode + " of the owner"), .cancel])
        let client = try fixture.client()
        #expect(try refusal { _ = try client.authorize("right") } == .userCancel)
        #expect(fixture.prompter.asked.map(\.kind) == [.enterPasscode, .enterPasscode])
        #expect(fixture.prompter.asked.last?.notice?.string.contains("Wrong passcode") == true)
        #expect(try client.status().passcode.failedAttempts == 1)
    }

    @Test func `neither log nor answer holds the password`() throws {
        try tpm.setOwnerPassword()
        _ = try refused(.text("wrong owner 5"), .cancel)
        try set(Self.owner)
        let secrets = [SoftwareTPM.ownerPassword, "wrong owner 5"].map { Data($0.utf8) }
        let names = try FileManager.default.subpathsOfDirectory(atPath: fixture.stateDirectory)
        for name in names {
            let path = "\(fixture.stateDirectory)/\(name)"
            guard let bytes = FileManager.default.contents(atPath: path) else { continue }
            for secret in secrets { #expect(bytes.range(of: secret) == nil, "\(name)") }
        }
        #expect(names.contains("vault.sqlite"))
    }

    // MARK: the doctor

    @Test func `the doctor says whether the owner has a password, and the count stays known`() throws {
        try set()
        func finding(_ check: String) throws -> WireFinding {
            try #require(try fixture.client().diagnosis().findings.first { $0.check == check })
        }
        #expect(try finding("tpm owner").message == "The owner hierarchy has no password.")
        try tpm.setOwnerPassword()
        let owner = try finding("tpm owner")
        #expect(owner.verdict == .ok && owner.message.hasPrefix("The owner hierarchy has a password."))
        let tries = try finding("wrong tries in the TPM")
        #expect(tries.message == "The TPM has counted 0 of 10 wrong passcodes in a row.")
        tpm.kill()
        #expect(try finding("tpm owner").verdict == .problem)
        try tpm.start()
        #expect(try tpm.lockoutCount() == "TPM2_PT_LOCKOUT_COUNTER: 0x0")
    }
}
