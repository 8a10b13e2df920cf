import AccessControl
import BrokerTestSupport
import Foundation
import StoreTestSupport
import Testing

@testable import Broker
@testable import OwnerKeys

@Suite("What is left in the files")
struct ErasureTests {
    let fixture: BrokerFixture

    init() throws { fixture = try BrokerFixture() }

    /// Runs a change, and expects that what it replaced was there before and is nowhere after it.
    private func expectErased(atLeast count: Int, by change: () throws -> Void) throws {
        fixture.account.eraser.erase()
        let before = try OldWraps(in: fixture.stateDirectory).foundWhole(in: fixture.stateDirectory)
        try change()
        let replaced = try before.withoutThose(in: fixture.stateDirectory)
        #expect(replaced.count >= count)
        #expect(try replaced.traces(in: fixture.stateDirectory) == 0)
    }

    private func createRights(withPasscode: Bool) throws {
        try fixture.create("free", .unrestricted, .whenUnlocked)
        guard withPasscode else { return }
        try fixture.create("bound", Requirement(anyOf: [.passcode]), .whenUnlocked)
        try fixture.create("either", Requirement(anyOf: [.passcode, .biometry]), .whenPasscodeSet)
    }

    @Test func `after setting a passcode: no class key that the enclave alone opens`() throws {
        try createRights(withPasscode: false)
        try expectErased(atLeast: 20) { try fixture.setPasscode() }
    }

    @Test func `after changing it: nothing that the old one opens`() throws {
        try fixture.setPasscode()
        try createRights(withPasscode: true)
        try expectErased(atLeast: 100) { try fixture.changePasscode(to: "another battery 8") }
    }

    @Test func `after removing it: no key and no right that was bound to it`() throws {
        try fixture.setPasscode()
        try createRights(withPasscode: true)
        try expectErased(atLeast: 100) { try fixture.removePasscode() }
    }

    @Test func `after removing or replacing a right: neither slots nor key nor secret`() throws {
        try fixture.setPasscode()
        try createRights(withPasscode: true)
        let client = try fixture.client()
        try expectErased(atLeast: 30) { try client.remove("either") }
        try expectErased(atLeast: 30) {
            try client.create("bound", AccessControl(availability: .always, using: .unrestricted), replace: true)
        }
        try expectErased(atLeast: 30) { try client.removeAll() }
    }

    @Test func `names, secrets and passcodes never lie in the files as they are`() throws {
        try fixture.setPasscode()
        try createRights(withPasscode: true)
        let wanted = ["either", "secret of", BrokerFixture.passcode].map { Data($0.utf8) }
        let state = try fixture.crashCopy()
        for name in ["vault.sqlite", "vault.sqlite-wal"] {
            let bytes = try Data(contentsOf: URL(fileURLWithPath: state.path("state/" + name)))
            for text in wanted { #expect(bytes.range(of: text) == nil, "\(name)") }
        }
    }
}
