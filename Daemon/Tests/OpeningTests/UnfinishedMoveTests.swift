import Foundation
import GRDB
import Logging
import Opening
import OwnerKeys
import Owners
import SecretMemory
import Settings
import TPMTestSupport
import Testing
import Vault

@testable import Broker
@testable import BrokerTestSupport

/// A store in software whose copy into a TPM fails in the middle.
@Suite(.timeLimit(.minutes(10))) struct UnfinishedMoveTests {
    @Test func `a move that fails leaves nothing in the chip and no folder`() throws {
        let tpm = try SoftwareTPM()
        defer { withExtendedLifetime(tpm) {} }
        var prompts = PromptConfiguration()
        prompts.enclave.tpm = tpm.configuration
        let fixture = try BrokerFixture(prompts: prompts)
        try fixture.setPasscode()
        let proved = try fixture.account.keeper.prove(SecretBytes(text: BrokerFixture.passcode))
        let halves = try fixture.account.life.privateHalves(openedBy: proved)
        // The items of the former store are read, and refused, after counter and passcode of the new one were made.
        try DatabaseQueue(path: fixture.stateDirectory + "/vault.sqlite").write {
            try $0.execute(sql: "UPDATE roots SET generation = generation + 1")
        }
        let before = try tpm.permanentState()
        let log = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let move = EnclaveMove(fixture.broker.configuration, to: .tpm, log: log, say: { _ in })
        #expect(throws: VaultError.changedByOthers) {
            try move.make(
                fixture.account, passcode: EnclaveMove.SharedPasscode(SecretBytes(text: BrokerFixture.passcode)),
                openedWith: halves, fixture.broker.opened)
        }
        #expect(try tpm.permanentState() != before, "the chip was used")
        let indexes = try tpm.tool("tpm2_getcap", "handles-nv-index")
        #expect(!indexes.contains("0x"), "\(indexes)")
        let names = try FileManager.default.contentsOfDirectory(
            atPath: URL(fileURLWithPath: fixture.stateDirectory).deletingLastPathComponent().path)
        #expect(!names.contains { $0.contains(".tpm") }, "\(names)")
    }
}
