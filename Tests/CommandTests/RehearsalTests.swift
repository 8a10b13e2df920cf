import AccessControl
import ArgumentParser
import Foundation
import KeyAlgorithms
import Testing

@testable import OstiaryClient
@testable import ostiary

/// The losses with the enclave, and the replacements.
@Suite struct RehearsalTests {
    private let folder: URL

    init() throws {
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("rehearsal-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }

    /// Public keys of P-256 in PEM, made with OpenSSL, with their points.
    private static let pem = """
        -----BEGIN PUBLIC KEY-----
        MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEaxfR8uEsQkf4vOblY6RA8ncDfYEt
        6zOg9KE5RdiYwpZP40Li/hp/m47n60p8D54WK84zV2sxXs7LtkBoN79R9Q==
        -----END PUBLIC KEY-----

        """
    /// The base point of P-256 (SEC 2, 2.4.2). The text above is its key.
    private static let base = Data(
        hexadecimal: "046b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296"
            + "4fe342e2fe1a7f9b8ee7eb4a7c0f9e162bce33576b315ececbb6406837bf51f5")

    private func right(_ name: String, _ key: UInt8 = 1, secret: Bool = false) throws -> ListedRight {
        .intact(
            StoredRight(
                id: Data(repeating: key, count: 16), identifier: name,
                accessControl: AccessControl(availability: .whenUnlocked, using: .unrestricted),
                publicKey: Data([4]) + Data(repeating: key, count: 64), hasSecret: secret,
                createdAt: Date(timeIntervalSince1970: 0), enclaveKind: "tpm", application: "/bin/x",
                sshConstraints: nil))
    }

    private func rehearsal(_ rights: [ListedRight], recovery: Bool = true) -> Rehearsal {
        Rehearsal(
            enclave: "tpm", rights: rights, keyCount: 2, passkeys: ["example.org"], items: "3 items.",
            recovery: recovery ? RecoveryKeys(folder: folder.path) : nil)
    }

    private func finding(_ check: String, _ rights: [ListedRight], recovery: Bool = true) throws -> FindingDocument {
        try #require(rehearsal(rights, recovery: recovery).findings.first { $0.check == check })
    }

    private func write(_ text: String, _ name: String) throws {
        try Data(text.utf8).write(to: folder.appendingPathComponent(name))
    }

    @Test func `a right with a second key elsewhere is taken over, and one without is a problem`() throws {
        try write(Self.pem, "2fa.pem")
        #expect(try finding("right 2fa", [right("2fa")]).verdict == .ok)
        let alone = try finding("right alone", [right("alone")])
        #expect(alone.verdict == .problem && alone.message.contains("alone.pem does not exist"))
    }

    @Test func `a secret is lost even where a second key takes over`() throws {
        try write(Self.pem, "2fa.pem")
        let found = try finding("right 2fa", [right("2fa", secret: true)])
        #expect(found.verdict == .notice && found.message.contains("Its secret is lost too."))
    }

    @Test func `a second key in the same store is none`() throws {
        try write(Self.pem, "2fa.pem")
        let base = try #require(Self.base)
        let other = ListedRight.intact(
            StoredRight(
                id: Data(count: 16), identifier: "other",
                accessControl: AccessControl(availability: .whenUnlocked, using: .unrestricted), publicKey: base,
                hasSecret: false, createdAt: Date(timeIntervalSince1970: 0), enclaveKind: "tpm", application: "/bin/x",
                sshConstraints: nil))
        let found = try finding("right 2fa", [right("2fa"), other])
        #expect(found.verdict == .problem && found.message.contains("is a key of this store"))
    }

    @Test(arguments: [
        "", "no key", "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n",
        Self.pem.replacingOccurrences(of: "PUBLIC", with: "PRIVATE"),
        Self.pem.replacingOccurrences(of: "MFkw", with: "MFkx"),
        Self.pem + Self.pem, String(repeating: "A", count: 5000),
    ])
    func `a file that is no such key is said to be none`(text: String) throws {
        try write(text, "2fa.pem")
        let found = try finding("right 2fa", [right("2fa")])
        #expect(found.verdict == .problem && found.message.contains("is no public key of P-256"), "\(found)")
    }

    @Test func `a name that leads out of the folder finds nothing`() throws {
        try write(Self.pem, "outside.pem")
        let inner = RecoveryKeys(folder: folder.path + "/inner")
        try FileManager.default.createDirectory(atPath: inner.folder, withIntermediateDirectories: true)
        #expect(inner.key(for: "../outside") == .absent)
        #expect(RecoveryKeys(folder: folder.path).key(for: "outside") == .found(try #require(Self.base)))
    }

    @Test func `without a folder each right is a notice, and unreadable ones are counted`() throws {
        let rights: [ListedRight] = [
            try right("2fa"), .unreadable(id: Data(count: 16), reason: "altered"),
        ]
        #expect(try finding("right 2fa", rights, recovery: false).verdict == .notice)
        #expect(try finding("rights", rights).message.contains("1 rights cannot be read"))
        #expect(try finding("passkey example.org", rights).verdict == .notice)
        #expect(try finding("keys", rights).message.contains("2 keys"))
        #expect(try finding("items", rights).message.contains("3 items."))
        #expect(try finding("begin again", rights).verdict == .ok)
    }

    @Test func `it is given alone`() throws {
        #expect(throws: (any Error).self) { try DoctorCommand.parse(["--rehearse", "--repair"]) }
        #expect(throws: (any Error).self) { try DoctorCommand.parse(["--recovery-keys", "/tmp"]) }
        #expect(try DoctorCommand.parse(["--rehearse", "--recovery-keys", "/tmp"]).rehearse)
    }
}
