import BrokerTestSupport
import Enclave
import Foundation
import KeySlots
import Logging
import PasscodeKeeperContract
import SecretMemory
import TPMTestSupport
import Testing
import Vault

@testable import Broker
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

    // MARK: faults of the chip

    @Test func `a chip that is gone costs no try, and the right passcode is good when it is back`() throws {
        let tpm = try SoftwareTPM()
        let stage = try KeeperStage(in: tpm, Self.keeper)
        let (vault, keeper) = try stage.start()
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
    private func unreliable(_ faults: ChipFaults) throws -> (stage: KeeperStage, keeper: any PasscodeKeeper) {
        let stage = try KeeperStage(in: SoftwareTPM()) { place in
            Self.chipKeeper(UnreliableChip(enclave: place.enclave, faults: faults), in: place)
        }
        let (vault, keeper) = try stage.start()
        try Self.setPasscode(keeper, vault, stage.owner)
        return (stage, keeper)
    }

    @Test(arguments: [
        EnclaveError.noAnswer(within: .seconds(30)), .unavailable(code: 0x902), .lockedOut(remaining: .seconds(600)),
    ])
    func `a chip that gives no verdict costs no try`(error: EnclaveError) throws {
        let faults = ChipFaults()
        let (_, keeper) = try unreliable(faults)
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

    // MARK: material

    private static func setPasscode(_ keeper: any PasscodeKeeper, _ vault: Vault, _ owner: VaultID) throws {
        let half = try PrivateHalf(generating: .passcode, epoch: 1)
        let transition = try keeper.set(Self.right, opening: half)
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
        _ chip: any PasscodeEnclave, in place: KeeperStage.Place
    ) -> any PasscodeKeeper {
        let log = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
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
