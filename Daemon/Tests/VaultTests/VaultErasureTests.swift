import ExactNames
import Foundation
import StoreTestSupport
import Testing
import Vault

@Suite("What can be read from a vault's files")
struct VaultErasureTests {
    let fixture: VaultFixture
    var vault: Vault { fixture.vault }
    var owner: VaultID { fixture.alice.id }

    init() throws { fixture = try VaultFixture() }

    private func files(contain marker: Data) throws -> Bool {
        try fixture.folder.allBytes().range(of: marker) != nil
    }

    private static func marker(_ number: UInt8) -> Data {
        Data("marker of an old wrap \(number) ".utf8) + Data(repeating: number, count: 40)
    }

    @Test func `names never appear, neither in the database nor in its journal`() throws {
        #expect(try !files(contain: Data(VaultFixture.marker.utf8)))
        #expect(try !files(contain: Data("group-in-clear-text".utf8)))
        try vault.compactAfterSecretsChanged()
        #expect(try !files(contain: Data(VaultFixture.marker.utf8)))
    }

    @Test func `removed and replaced wraps are gone after compaction`() throws {
        let user = fixture.alice
        func wrapped(_ role: UInt8, _ bytes: Data) -> KeyPairRecord {
            KeyPairRecord(
                owner: user.id, role: role, epoch: 1, publicHalf: Data([1]),
                wrappedPrivateHalf: WrappedSecret(kind: .passcode, bytes: bytes))
        }
        // Short ones inside a page, and a long one that spills to pages of its own.
        let long = Self.marker(3) + Data(repeating: 7, count: 20_000) + Self.marker(4)
        var object = VaultFixture.object(owner: user.id, identifier: "with payload")
        object.payload = long
        let stored = object
        try vault.write("old") { writer in
            try writer.setKeyPair(wrapped(7, Self.marker(1)))
            try writer.setKeyPair(wrapped(8, Self.marker(2)))
            try writer.insertObject(stored)
        }
        for number in 1...4 as ClosedRange<UInt8> { #expect(try files(contain: Self.marker(number))) }
        try vault.compactAfterSecretsChanged()
        for number in 1...4 as ClosedRange<UInt8> { #expect(try files(contain: Self.marker(number))) }

        try vault.write("new") { writer in
            try writer.removeKeyPair(owner: user.id, role: 7)
            try writer.setKeyPair(wrapped(8, Data(repeating: 1, count: 10)))
            try writer.removeObject(stored.id, owner: user.id)
        }
        try vault.compactAfterSecretsChanged()
        for number in 1...4 as ClosedRange<UInt8> { #expect(try !files(contain: Self.marker(number))) }
    }

    @Test func `removing a user erases their rows`() throws {
        let erased = KeyPairRecord(
            owner: fixture.bob.id, role: 3, epoch: 1, publicHalf: Self.marker(5), wrappedPrivateHalf: nil)
        try vault.write("old") { try $0.setKeyPair(erased) }
        try vault.compactAfterSecretsChanged()
        try vault.write("remove") { try $0.removeUser(fixture.bob.id) }
        try vault.compactAfterSecretsChanged()
        #expect(try !files(contain: Self.marker(5)))
    }

    @Test func `errors do not carry what was stored`() throws {
        do {
            try vault.write("") {
                try $0.insertObject(VaultFixture.object(owner: owner, identifier: ExactName(VaultFixture.marker)))
            }
            Issue.record("a duplicate was accepted")
        } catch {
            #expect(!"\(error)".contains(VaultFixture.marker))
        }
    }
}
