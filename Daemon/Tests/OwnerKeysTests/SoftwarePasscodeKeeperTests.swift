import Enclave
import Foundation
import Logging
import PasscodeKeeperContract
import SecretMemory
import Testing
import Vault

@testable import Broker
@testable import BrokerTestSupport
@testable import OwnerKeys

@Suite struct SoftwarePasscodeKeeperTests {
    @Test(arguments: PasscodeKeeperContract.checks)
    func `it keeps the contract of a keeper`(check: PasscodeKeeperContract.Check) throws {
        try check(on: KeeperStage(Self.keeper))
    }

    private static func keeper(in place: KeeperStage.Place) -> any PasscodeKeeper {
        let log = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let exclusively = ExclusiveAccess()
        return SoftwarePasscodeKeeper(
            vault: place.vault, enclave: place.enclave,
            storage: KeyPairStorage(enclave: place.enclave, owner: place.owner, storeID: place.vault.storeID),
            counters: AttemptCounters(
                vault: place.vault, owner: place.owner, clock: place.clock, exclusively: exclusively),
            exclusively: exclusively, stretching: place.meeting.stretching,
            eraser: JournalEraser(vault: place.vault, log: log))
    }
}
