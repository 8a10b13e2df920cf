import Crypto
import FingerprintTestSupport
import Foundation
import StoreTestSupport
import TerminalTestSupport
import Testing

/// What only the current set of fingers opens, through Apple's calls: a right whose key signs, and an item of the keychain. The
/// program, the daemon, fprintd, `ostiary-templates` and the sheet are real ones.
@Suite(.timeLimit(.minutes(10))) struct CurrentSetTests {
    private let desk: FingerDesk
    private let copy: TestFolder

    init() throws {
        desk = try FingerDesk()
        copy = try TestFolder()
        try #require(try desk.run("current-set-make") == ["save: ok", "add: 0"])
    }

    private static let challenge = Data("a server's challenge".utf8)

    /// The right is authorized by a touch, and its key's signature verifies, for the program and for a library that is not ours.
    private func expectSigns(_ location: SourceLocation = #_sourceLocation) throws {
        let lines = try desk.run("current-set-sign", touching: "owner")
        #expect(Array(lines.prefix(3)) == ["authorize: ok", "sign: ok", "verify: ok"], sourceLocation: location)
        let key = try P256.Signing.PublicKey(x963Representation: data("key", in: lines))
        let signature = try P256.Signing.ECDSASignature(derRepresentation: data("signature", in: lines))
        #expect(key.isValidSignature(signature, for: Self.challenge), sourceLocation: location)
        #expect(!key.isValidSignature(signature, for: Data("another challenge".utf8)), sourceLocation: location)
    }

    private func data(_ name: String, in lines: [String]) throws -> Data {
        let line = try #require(lines.first { $0.hasPrefix(name + ": ") }, "\(lines)")
        return try #require(Data(base64Encoded: String(line.dropFirst(name.count + 2))), "\(line)")
    }

    private func expectReads(_ location: SourceLocation = #_sourceLocation) throws {
        let lines = try desk.run("current-set-read", touching: "owner")
        #expect(lines == ["read: 0", "data: what only a finger opens"], sourceLocation: location)
    }

    /// Both are refused without a question: the right with this error, the item with `errSecAuthFailed`, the keychain's only
    /// status for it.
    private func expectRefused(_ error: String, _ location: SourceLocation = #_sourceLocation) throws {
        let grants = try desk.grantCount()
        #expect(
            try desk.run("current-set-sign") == ["authorize: \(error)", "sign: LAError -1"], sourceLocation: location)
        #expect(try desk.run("current-set-read") == ["read: -25293"], sourceLocation: location)
        #expect(try !desk.stack.isArmed(), sourceLocation: location)
        #expect(!desk.server.hasSheet && desk.sheets.isEmpty, sourceLocation: location)
        #expect(try desk.grantCount() == grants, sourceLocation: location)
    }

    @Test func `a saved right is authorized by a touch, and its key signs`() throws {
        let grants = try desk.grantCount()
        try expectSigns()
        #expect(try desk.grantCount() == grants + 1)
    }

    @Test func `an item of the keychain is read by a touch`() throws { try expectReads() }

    @Test func `a finger replaced under its name opens neither, and the former one put back opens both`() throws {
        try expectSigns()
        try desk.stack.saveTemplates(in: copy.path("original"))
        try desk.replaceFinger()
        try expectRefused("LAError -6 biometry.set-changed")
        // The passcode accepts the new finger, but not for these two.
        try desk.enterPasscode()
        try expectRefused("LAError -6 biometry.set-changed")
        try desk.stack.restoreTemplates(from: copy.path("original"))
        try expectRefused("LAError -8 biometry.rests")
        try desk.enterPasscode()
        try expectSigns()
        try expectReads()
    }
}
