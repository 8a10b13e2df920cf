import DaemonTestSupport
import Foundation
import IndependentTools
import Testing

/// The programs of `Examples`, on a terminal, against the real daemon.
@Suite("Examples, end to end", .serialized)
struct ExampleEndToEndTests {
    private static let passcode = PrivateDaemon.passcode
    static let wrong = ["wrong horse 1", "wrong horse 2", "wrong horse 3"]
    private let daemon: PrivateDaemon

    init() throws {
        daemon = try PrivateDaemon(.withPasscode)
    }

    private func run(_ name: String, _ arguments: String..., answers: [String] = []) throws -> PlayedTerminal {
        try PlayedTerminal(BuiltProgram.named(name), arguments, answers: answers, in: daemon)
    }

    @Test func `a challenge is signed by a persisted right`() throws {
        try Data("challenge".utf8).write(to: daemon.folder.appendingPathComponent("challenge"))
        let signed = try run("sign-challenge", "challenge", "signature", "key.pem", answers: [Self.passcode])
        #expect(signed.status == 0, "\(signed.screen)")
        #expect(signed.screen.contains("Authorized and signed."))
        #expect(try verify("challenge", "signature", "key.pem") == "Verified OK\n")
        try Data("Challenge".utf8).write(to: daemon.folder.appendingPathComponent("another"))
        #expect(try verify("another", "signature", "key.pem") == "Verification failure\n")
    }

    /// What OpenSSL says to a signature with SHA-256.
    private func verify(_ message: String, _ signature: String, _ key: String) throws -> String {
        let verification = try IndependentTool.run(
            "openssl",
            [
                "dgst", "-sha256", "-verify", daemon.path(key), "-signature", daemon.path(signature),
                daemon.path(message),
            ])
        return String(decoding: verification.output, as: UTF8.self)
    }

    @Test func `a key signs under the context that authorized it, and not after it`() throws {
        #expect(try run("enclave-key", "sign", "message").screen.contains("Refused: NSOSStatusErrorDomain -25300"))
        #expect(try run("enclave-key", "create").status == 0)
        let signed = try run("enclave-key", "sign", "message", answers: [Self.passcode])
        #expect(signed.status == 0, "\(signed.screen)")
        #expect(signed.screen.contains("sign the message"))
        #expect(signed.screen.components(separatedBy: "Signed and verified.").count == 3)
        #expect(signed.screen.contains("After the context: com.apple.LocalAuthentication -10"))
        #expect(try run("enclave-key", "remove").status == 0)
        #expect(try run("enclave-key", "remove").screen.contains("Refused: NSOSStatusErrorDomain -25300"))
    }

    // MARK: after the daemon was killed

    private func restart() throws {
        daemon.kill()
        try daemon.start()
    }

    @Test func `a persisted right signs again after the daemon was killed`() throws {
        try Data("challenge".utf8).write(to: daemon.folder.appendingPathComponent("challenge"))
        let arguments = ["challenge", "signature", "key.pem"]
        func sign(_ answers: [String]) throws -> PlayedTerminal {
            try PlayedTerminal(BuiltProgram.named("sign-challenge"), arguments, answers: answers, in: daemon)
        }
        #expect(try sign([Self.passcode]).status == 0)
        let key = try String(contentsOfFile: daemon.path("key.pem"), encoding: .utf8)
        try restart()
        let signed = try sign([Self.passcode])
        #expect(signed.status == 0, "\(signed.screen)")
        #expect(signed.screen.components(separatedBy: "Passcode: ").count == 2, "one question: \(signed.screen)")
        #expect(signed.shows(Self.opensStore), "\(signed.screen)")
        #expect(try verify("challenge", "signature", "key.pem") == "Verified OK\n")
        #expect(try String(contentsOfFile: daemon.path("key.pem"), encoding: .utf8) == key)
    }

    private static let opensStore = "The store is locked. Your passcode opens it for all your programs."

    @Test func `a key signs again after the daemon was killed`() throws {
        #expect(try run("enclave-key", "create").status == 0)
        #expect(try run("enclave-key", "sign", "message", answers: [Self.passcode]).status == 0)
        try restart()
        let signed = try run("enclave-key", "sign", "message", answers: [Self.passcode])
        #expect(signed.status == 0, "\(signed.screen)")
        #expect(signed.screen.components(separatedBy: "Passcode: ").count == 2, "one question: \(signed.screen)")
        #expect(signed.screen.components(separatedBy: "Signed and verified.").count == 3)
    }

    @Test func `a protected password is shown, saved and deleted after the daemon was killed`() throws {
        try Data("a secret".utf8).write(to: daemon.folder.appendingPathComponent("password"))
        let saved = try run("protected-password", "save", "password", answers: [Self.passcode])
        #expect(saved.status == 0 && saved.shows(Self.opensStore), "\(saved.screen)")
        try restart()
        let cancelled = try run("protected-password", "show", answers: ["\u{3}"])
        #expect(cancelled.status != 0 && !cancelled.screen.contains("a secret"), "\(cancelled.screen)")
        let refused = try run("protected-password", "show", answers: Self.wrong)
        #expect(refused.screen.contains("Status -25293") && !refused.screen.contains("a secret"))
        let shown = try run("protected-password", "show", answers: [Self.passcode])
        #expect(shown.status == 0 && shown.screen.contains("Password: a secret"), "\(shown.screen)")
        #expect(shown.screen.components(separatedBy: "Passcode: ").count == 2, "one question: \(shown.screen)")
        #expect(shown.shows(Self.opensStore) && shown.shows("org.ostiary.examples.protected-password"))
        #expect(shown.screen.contains("show the example's password"))
        try restart()
        let alone = try UnattendedRun(BuiltProgram.named("protected-password"), ["show"], in: daemon)
        #expect(alone.output.contains("Status -25308"), "\(alone.output)")
        #expect(try run("protected-password", "delete").status == 0)
    }

    @Test func `a key does not sign for who does not know the passcode`() throws {
        #expect(try run("enclave-key", "create").status == 0)
        let refused = try run("enclave-key", "sign", "message", answers: Self.wrong)
        #expect(refused.status == 1)
        #expect(refused.screen.contains("Refused: com.apple.LocalAuthentication -1"))
        #expect(!refused.screen.contains("Signed"))
    }

    @Test func `a protected password is shown to its owner only`() throws {
        try daemon.unlock()
        try Data("a secret".utf8).write(to: daemon.folder.appendingPathComponent("password"))
        #expect(try run("protected-password", "show").screen.contains("Status -25300"))
        #expect(try run("protected-password", "save", "password").status == 0)
        #expect(try run("protected-password", "save", "password").screen.contains("Status -25299"))
        let shown = try run("protected-password", "show", answers: [Self.passcode])
        #expect(shown.status == 0, "\(shown.screen)")
        #expect(shown.screen.contains("show the example's password"))
        #expect(shown.screen.contains("Password: a secret"))
        let refused = try run("protected-password", "show", answers: Self.wrong)
        #expect(refused.screen.contains("Status -25293"))
        #expect(!refused.screen.contains("a secret"))
        #expect(try run("protected-password", "delete").status == 0)
        #expect(try run("protected-password", "show").screen.contains("Status -25300"))
    }
}
