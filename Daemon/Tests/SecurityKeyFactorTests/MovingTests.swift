import AccessControl
import BrokerTestSupport
import Foundation
import Opening
import OstiaryMessages
import OwnerKeys
import Owners
import ProtectedObjects
import SecretMemory
import SecurityKeyTestSupport
import Settings
import Testing
import Vault

@testable import Broker

/// A store with an enrolled security key, and what of it comes into another store.
@Suite(.timeLimit(.minutes(10))) struct MovingTests {
    private let former: FactorFixture
    private let key: SoftwareKey

    init() throws {
        former = try FactorFixture()
        former.prompter.always(nil)
        try former.fixture.setPasscode()
        key = try former.plugIn()
        former.answer(passcode: BrokerFixture.passcode)
        try former.enroll()
        former.prompter.always(nil)
    }

    private func add(_ account: String, _ rule: [FactorSet], answers: [ScriptedPrompter.Answer] = []) throws {
        former.prompter.prepare(answers)
        try former.fixture.client().addItem(
            ["acct": .text(account)], accessControl: .item(Requirement(anyOf: rule)))
    }

    @Test func `an item whose rule names a key or a password stays behind, and the others come along`() throws {
        let password = ScriptedPrompter.Answer.text("application word 7")
        try add("key", [.securityKey, .passcode])
        try add("password", [.applicationPassword], answers: [password, password])
        try add("passcode", [.passcode])
        let account = former.fixture.account
        let proved = try account.keeper.prove(SecretBytes(text: BrokerFixture.passcode))
        let halves = try account.life.privateHalves(openedBy: proved)
        let next = try BrokerFixture()
        try next.setPasscode()
        let ids = try former.fixture.broker.vault.read { try $0.itemIDs(owner: account.id) }
        #expect(ids.count == 3)
        let copied = try ids.filter { try account.items.copy($0, into: next.account.items, openedWith: halves) }
        #expect(copied.count == 1)
        next.prompter.prepare([.text(BrokerFixture.passcode)])
        let found = try next.client().findItems(TestClient.query(), data: false)
        #expect(found.map { $0.item.values["acct"] } == [.text("passcode")])
        withExtendedLifetime(key) {}
    }

    @Test func `the person is told of enrolled keys before anything moves`() throws {
        let inventory = try MoveInventory(former.fixture.account, former.fixture.broker.vault)
        let words = inventory.words(folder: "/state", newFolder: "/state.tpm", .tpm)
        #expect(words.contains("Security keys: 1. They do not come along"), "\(words)")
        withExtendedLifetime(key) {}
    }
}
