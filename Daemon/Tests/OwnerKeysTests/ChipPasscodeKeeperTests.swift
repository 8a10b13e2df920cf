import AccessControl
import Dispatch
import Enclave
import Foundation
import KeySlots
import Logging
import OstiaryMessages
import Owners
import PasscodeKeeperContract
import PromptProtocol
import SecretMemory
import Settings
import StoreTestSupport
import Synchronization
import TPMTestSupport
import TerminalTestSupport
import Testing
import Vault

@testable import Authenticators
@testable import Broker
@testable import BrokerTestSupport
@testable import OwnerKeys
@testable import Refusals

/// The keeper of a store whose keys are in a real TPM in software.
@Suite(.serialized) struct ChipPasscodeKeeperTests {
    @Test(arguments: PasscodeKeeperContract.checks)
    func `it keeps the contract of a keeper`(check: PasscodeKeeperContract.Check) throws {
        try check(on: KeeperStage(in: SoftwareTPM(), Self.keeper))
    }

    @Test func `an older store gives no try back`() throws {
        let tpm = try SoftwareTPM()
        let stage = try KeeperStage(in: tpm, Self.keeper)
        let (vault, keeper) = try stage.start()
        try Self.setPasscode(keeper, vault, stage.owner)
        for _ in 1...3 { #expect(throws: WrongSecret.self) { try keeper.prove(Self.wrong) } }
        // The store counts nothing any more, as an older one does.
        try vault.write("older") { try $0.removeAttempts(owner: stage.owner, subject: AttemptCounters.passcode) }
        let (_, next) = try stage.start()
        #expect(try next.attempts().failedCount == 3)
        #expect(throws: WrongSecret.self) { try next.prove(Self.wrong) }
        #expect(try next.attempts().failedCount == 4)
    }

    @Test func `the last tries before the chip refuses for good are said to be the last`() throws {
        let tpm = try SoftwareTPM()
        let stage = try KeeperStage(in: tpm, Self.keeper)
        let (vault, keeper) = try stage.start()
        try Self.setPasscode(keeper, vault, stage.owner)
        for count in 1...9 {
            let wrong = #expect(throws: WrongSecret.self) { try keeper.prove(Self.wrong) }
            #expect(wrong?.triesBeforeLoss == (count < 6 ? nil : 10 - count), "\(count)")
            // The store counts nothing any more, as an older one does, so no delay comes first.
            try vault.write("older") { try $0.removeAttempts(owner: stage.owner, subject: AttemptCounters.passcode) }
        }
        #expect(
            WrongSecret(freeTriesLeft: 1, triesBeforeLoss: 1).outlook.consequence.string
                == "After the next wrong one the TPM refuses every passcode for good, even the right one.")
        #expect(
            WrongSecret(freeTriesLeft: 2, triesBeforeLoss: 2).outlook.consequence.string
                == "After 2 more wrong ones the TPM refuses every passcode for good, even the right one.")
    }

    @Test func `an entry that a context keeps opens no further right after a wrong one, and the next call asks`() throws
    {
        let tpm = try SoftwareTPM()
        let fixture = try BrokerFixture(prompts: PromptConfiguration(keysIn: tpm))
        try fixture.setPasscode()
        for name in ["one", "two"] { try fixture.create(name, .passcode, .whenUnlocked) }
        let client = try fixture.client()
        let context = try client.openContext(keepingFactors: true)
        fixture.prompter.prepare([.text(BrokerFixture.passcode)])
        #expect(try client.authorize(client.find("one"), in: context) == ["passcode"])
        fixture.prompter.prepare([.text("wrong"), .cancel])
        #expect(try refusal { _ = try client.authorize(client.find("one"), in: client.openContext()) } == .userCancel)
        fixture.prompter.prepare([])
        let refused = #expect(throws: Refused.self) { _ = try client.authorize(client.find("two"), in: context) }
        #expect(refused?.code == .authenticationFailed && refused?.cause == "passcode.tried-meanwhile")
        #expect(fixture.prompter.asked.isEmpty)
        fixture.prompter.prepare([.text(BrokerFixture.passcode)])
        #expect(try client.authorize(client.find("two"), in: context) == ["passcode"])
        #expect(fixture.prompter.unusedAnswers.isEmpty)
    }

    // MARK: faults of the chip

    @Test func `a chip that is gone costs no try, and the right passcode is good when it is back`() throws {
        let tpm = try SoftwareTPM()
        let stage = try KeeperStage(in: tpm, Self.keeper)
        let (vault, keeper) = try stage.start()
        defer { withExtendedLifetime(stage) {} }
        try Self.setPasscode(keeper, vault, stage.owner)
        tpm.kill()
        for _ in 1...6 {
            // TSS2_TCTI_RC_IO_ERROR
            #expect(throws: EnclaveError.unavailable(code: 0xa000a)) { try keeper.prove(Self.right) }
        }
        try tpm.start()
        #expect(try keeper.attempts().failedCount == 0)
        _ = try keeper.prove(Self.right)
    }

    /// A keeper whose chip fails as `faults` says.
    private func unreliable(
        _ faults: ChipFaults, log: WarningLog = WarningLog()
    ) throws -> (stage: KeeperStage, keeper: any PasscodeKeeper) {
        let stage = try KeeperStage(in: SoftwareTPM()) { place in
            Self.chipKeeper(UnreliableChip(enclave: place.enclave, faults: faults), in: place, log: log)
        }
        let (vault, keeper) = try stage.start()
        try Self.setPasscode(keeper, vault, stage.owner)
        return (stage, keeper)
    }

    @Test(arguments: [
        EnclaveError.noAnswer(within: .seconds(30)), .unavailable(code: 0x902), .lockedOut(remaining: .seconds(600)),
        .slotsTaken(.sessions), .ownerPassword, .deviceLost,
    ])
    func `a chip that gives no verdict costs no try`(error: EnclaveError) throws {
        let faults = ChipFaults()
        let (stage, keeper) = try unreliable(faults)
        defer { withExtendedLifetime(stage) {} }
        #expect(throws: WrongSecret.self) { try keeper.prove(Self.wrong) }
        faults.fail(.open, with: error)
        for _ in 1...6 { #expect(throws: error) { try keeper.prove(Self.right) } }
        faults.end()
        #expect(try keeper.attempts().failedCount == 1)
        _ = try keeper.prove(Self.right)
    }

    @Test func `a chip whose answers are lost has counted, and ends the guesses`() throws {
        let faults = ChipFaults()
        let (stage, keeper) = try unreliable(faults)
        let error = EnclaveError.noAnswer(within: .seconds(30))
        faults.fail(.open, with: error, isLate: true)
        for _ in 1...10 { #expect(throws: error) { try keeper.prove(Self.wrong) } }
        faults.end()
        #expect(try keeper.attempts().failedCount == 10)
        #expect(throws: Refusal.passcodeBlocked) { try keeper.prove(Self.right) }
        #expect(throws: Refusal.passcodeBlocked) { try stage.start().keeper.requireNoDelay() }
    }

    @Test func `after an entry, right or wrong, nobody waits for the chip to learn its count`() throws {
        let faults = ChipFaults()
        let (stage, keeper) = try unreliable(faults)
        defer { withExtendedLifetime(stage) {} }
        #expect(try keeper.attempts().failedCount == 0)
        #expect(throws: WrongSecret.self) { try keeper.prove(Self.wrong) }
        let asked = faults.count(of: .countOfTries)
        faults.fail(.countOfTries, with: .noAnswer(within: .seconds(30)))
        for _ in 1...2 { #expect(try keeper.attempts().failedCount == 1) }
        _ = try keeper.prove(Self.right)
        for _ in 1...2 { #expect(try keeper.attempts().failedCount == 0) }
        #expect(faults.count(of: .countOfTries) == asked)
    }

    @Test func `while the chip looks at a passcode, nobody who asks for the delays waits for it`() throws {
        let faults = ChipFaults()
        let (stage, keeper) = try unreliable(faults)
        defer { withExtendedLifetime(stage) {} }
        #expect(throws: WrongSecret.self) { try keeper.prove(Self.wrong) }
        let known = Mutex<AttemptStatus?>(nil)
        for (isRight, before, after) in [(false, 1, 2), (true, 2, 0)] {
            faults.during(.open) {
                let isRead = DispatchSemaphore(value: 0)
                Thread.detachNewThread {
                    do {
                        let status = try keeper.attempts()
                        known.withLock { $0 = status }
                    } catch { Issue.record(error) }
                    isRead.signal()
                }
                #expect(isRead.wait(timeout: .now() + 120) == .success)
            }
            do { _ = try keeper.prove(isRight ? Self.right : Self.wrong) } catch is WrongSecret {}
            // The try under way was not counted for others. It was on disk all the same: see `AttemptTests`.
            #expect(known.withLock { $0 }.map { Int($0.failedCount) } == before)
            #expect(try keeper.attempts().failedCount == after)
        }
    }

    @Test func `a wrong passcode is wrong, even if the chip does not tell its count then`() throws {
        let faults = ChipFaults()
        let (stage, keeper) = try unreliable(faults)
        defer { withExtendedLifetime(stage) {} }
        faults.fail(.countOfTries, with: .noAnswer(within: .seconds(30)))
        #expect(throws: WrongSecret.self) { try keeper.prove(Self.wrong) }
        faults.end()
        #expect(try keeper.attempts().failedCount == 1)
    }

    @Test func `tries of another program at the chip are told when the chip is asked`() throws {
        let faults = ChipFaults()
        let (stage, keeper) = try unreliable(faults)
        defer { withExtendedLifetime(stage) {} }
        _ = try keeper.attempts()
        try faults.tryFromAnotherProgram()
        #expect(try keeper.attempts().failedCount == 0)
        #expect(try (keeper as? ChipPasscodeKeeper)?.chipTries()?.count == 1)
        #expect(try keeper.attempts().failedCount == 1)
    }

    /// The right passcode sets the chip's count to zero, also that of tries which nobody here made.
    @Test func `tries of another program are in the log before the right passcode forgives them`() throws {
        let (faults, log) = (ChipFaults(), WarningLog())
        let (stage, keeper) = try unreliable(faults, log: log)
        defer { withExtendedLifetime(stage) {} }
        func ask() throws {
            let asked = faults.count(of: .countOfTries)
            // While the chip is asked already it is not asked once more.
            try eventually("the chip was asked") {
                keeper.personIsAsked()
                return faults.count(of: .countOfTries) > asked
            }
            // This waits for that look.
            _ = try (keeper as? ChipPasscodeKeeper)?.chipTries()
        }
        // The daemon's own tries are none of another program.
        for isRight in [false, false, true, false, true] {
            try ask()
            do { _ = try keeper.prove(isRight ? Self.right : Self.wrong) } catch is WrongSecret {}
        }
        faults.fail(.open, with: .noAnswer(within: .seconds(30)), isLate: true)
        #expect(throws: EnclaveError.noAnswer(within: .seconds(30))) { try keeper.prove(Self.wrong) }
        faults.end()
        try ask()
        #expect(log.warnings.isEmpty)
        for _ in 1...2 { try faults.tryFromAnotherProgram() }
        for _ in 1...2 { try ask() }
        let told = "counted 2 wrong passcodes that were not entered here"
        #expect(log.warnings.count == 1 && log.warnings[0].contains(told))
        _ = try keeper.prove(Self.right)
        try ask()
        #expect(log.warnings.count == 1)
        // After a start the store's count tells the daemon's own.
        #expect(throws: WrongSecret.self) { try keeper.prove(Self.wrong) }
        try faults.tryFromAnotherProgram()
        let next = try stage.start().keeper
        #expect(try next.attempts().failedCount == 2)
        #expect(log.warnings.count == 2 && log.warnings[1].contains("counted 1 wrong passcodes"))
    }

    @Test func `however often a person is asked, one look at a time waits for the chip, and no check waits for all`()
        throws
    {
        let faults = ChipFaults()
        let (stage, keeper) = try unreliable(faults)
        defer { withExtendedLifetime(stage) {} }
        let (isAsked, mayAnswer) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        faults.during(.countOfTries) {
            isAsked.signal()
            _ = mayAnswer.wait(timeout: .now() + 120)
        }
        let asked = faults.count(of: .countOfTries)
        keeper.personIsAsked()
        #expect(isAsked.wait(timeout: .now() + 120) == .success)
        for _ in 1...100 { keeper.personIsAsked() }
        // Work without the chip does not wait.
        keeper.exclusively {}
        mayAnswer.signal()
        _ = try (keeper as? ChipPasscodeKeeper)?.chipTries()
        #expect(faults.count(of: .countOfTries) == asked + 2)
    }

    // MARK: removal and change

    /// A whole broker whose chip fails as `faults` says.
    private func fixture(_ tpm: SoftwareTPM, _ faults: ChipFaults) throws -> BrokerFixture {
        let fixture = try BrokerFixture(
            prompts: PromptConfiguration(keysIn: tpm), around: { UnreliableChip(enclave: $0, faults: faults) })
        try fixture.setPasscode()
        return fixture
    }

    private func indexCount(_ tpm: SoftwareTPM) throws -> Int {
        try tpm.tool("tpm2_getcap", "handles-nv-index").matches(of: /0x[0-9A-F]+/).count
    }

    private func events(_ fixture: BrokerFixture) throws -> [String] {
        try fixture.client().log().map { "\($0.event) \($0.result)" }
    }

    @Test func `a passcode is removed even if its index stays in the chip, and the next one replaces that`() throws {
        let (tpm, faults) = (try SoftwareTPM(), ChipFaults())
        let fixture = try fixture(tpm, faults)
        defer { withExtendedLifetime(tpm) {} }
        try fixture.create("bound", .passcode, .whenUnlocked)
        let old = try OldWraps(in: fixture.stateDirectory)
        faults.fail(.remove, with: .noAnswer(within: .seconds(30)))
        try fixture.removePasscode()
        #expect(try !fixture.client().status().passcode.isSet && fixture.client().list().isEmpty)
        #expect(try events(fixture).suffix(2) == ["log-epoch begun", "passcode-remove done"])
        #expect(try old.withoutThose(in: fixture.stateDirectory).traces(in: fixture.stateDirectory) == 0)
        // The store's counter, and the index.
        #expect(try indexCount(tpm) == 2)
        faults.end()
        try fixture.setPasscode("another battery 8")
        #expect(try indexCount(tpm) == 2)
        try fixture.create("new", .passcode, .whenUnlocked)
        #expect(try fixture.opens("new", answers: [.text(BrokerFixture.passcode), .text("another battery 8")]))
    }

    @Test func `a change that the chip does not follow leaves the former passcode over the new keys`() throws {
        let (tpm, faults) = (try SoftwareTPM(), ChipFaults())
        let fixture = try fixture(tpm, faults)
        defer { withExtendedLifetime(tpm) {} }
        try fixture.create("bound", .passcode, .whenUnlocked)
        let former = fixture.account.ring.publicHalf(.passcode)
        let epochs = try events(fixture).count { $0 == "log-epoch begun" }
        faults.fail(.change, with: .unavailable(code: 0x902))
        #expect(try refusal { try fixture.changePasscode(to: "another battery 8") } == .internal)
        #expect(fixture.account.ring.publicHalf(.passcode) != former)
        #expect(try !events(fixture).contains("passcode-change done"))
        #expect(try events(fixture).count { $0 == "log-epoch begun" } == epochs + 1)
        faults.end()
        #expect(try fixture.opens("bound", answers: [.text("another battery 8"), .text(BrokerFixture.passcode)]))
        fixture.prompter.prepare([.text(BrokerFixture.passcode)])
        #expect(try fixture.client().verifyLog(interactive: true).sealsChecked)
    }

    // MARK: material

    private static func setPasscode(_ keeper: any PasscodeKeeper, _ vault: Vault, _ owner: VaultID) throws {
        let half = try PrivateHalf(generating: .passcode, epoch: 1)
        let transition = try keeper.exclusively.withStretchTurn(as: .daemon) { turn in
            try keeper.set(Self.right, opening: half, in: turn, as: nil)
        }
        try vault.write("transition") { writer in
            try writer.setKeyPair(
                KeyPairRecord(
                    owner: owner, role: KeyRole.passcode.code, epoch: 1, publicHalf: half.publicHalf.encoded,
                    wrappedPrivateHalf: nil))
            try transition.store(in: writer)
        }
        try transition.finish()
    }

    private static var right: SecretBytes { SecretBytes(Data("correct horse 9".utf8)) }
    private static var wrong: SecretBytes { SecretBytes(Data("wrong".utf8)) }

    private static func keeper(in place: KeeperStage.Place) -> any PasscodeKeeper {
        chipKeeper(place.enclave as! any PasscodeEnclave, in: place)
    }

    private static func chipKeeper(
        _ chip: any PasscodeEnclave, in place: KeeperStage.Place, log: WarningLog = WarningLog()
    ) -> any PasscodeKeeper {
        let log = Logger(label: "test") { _ in log }
        let exclusively = ExclusiveAccess()
        return ChipPasscodeKeeper(
            vault: place.vault, enclave: chip,
            storage: KeyPairStorage(enclave: chip, owner: place.owner, storeID: place.vault.storeID),
            counters: AttemptCounters(
                vault: place.vault, owner: place.owner, clock: place.clock, exclusively: exclusively),
            exclusively: exclusively, stretching: place.meeting.stretching,
            eraser: JournalEraser(vault: place.vault, log: log))
    }
}
