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
        let half = try PrivateHalf(generating: .passcode, epoch: 1)
        let transition = try keeper.set(Self.right, opening: half)
        try vault.write("transition") { writer in
            try writer.setKeyPair(
                KeyPairRecord(
                    owner: stage.owner, role: KeyRole.passcode.code, epoch: 1, publicHalf: half.publicHalf.encoded,
                    wrappedPrivateHalf: nil))
            try transition.store(in: writer)
        }
        try transition.finish()
        for _ in 1...3 { #expect(throws: WrongSecret.self) { try keeper.prove(Self.wrong) } }
        // The store counts nothing any more, as an older one does.
        try vault.write("older") { try $0.removeAttempts(owner: stage.owner, subject: AttemptCounters.passcode) }
        let (_, next) = try stage.start()
        #expect(try next.attempts().failedCount == 3)
        #expect(throws: WrongSecret.self) { try next.prove(Self.wrong) }
        #expect(try next.attempts().failedCount == 4)
    }

    private static var right: SecretBytes { SecretBytes(Data("correct horse 9".utf8)) }
    private static var wrong: SecretBytes { SecretBytes(Data("wrong".utf8)) }

    private static func keeper(in place: KeeperStage.Place) -> any PasscodeKeeper {
        let log = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let exclusively = ExclusiveAccess()
        return ChipPasscodeKeeper(
            vault: place.vault, enclave: place.enclave as! any PasscodeEnclave,
            storage: KeyPairStorage(enclave: place.enclave, owner: place.owner, storeID: place.vault.storeID),
            counters: AttemptCounters(
                vault: place.vault, owner: place.owner, clock: place.clock, exclusively: exclusively),
            exclusively: exclusively, stretching: place.meeting.stretching,
            eraser: JournalEraser(vault: place.vault, log: log))
    }
}
