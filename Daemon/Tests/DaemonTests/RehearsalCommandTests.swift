import Foundation
import StoreTestSupport
import TPMTestSupport
import Testing

/// `ostiary doctor --rehearse` on a store in a TPM.
@Suite(.timeLimit(.minutes(10))) struct RehearsalCommandTests {
    private struct Diagnosis: Decodable {
        struct Finding: Decodable { let check, verdict, message: String }
        let findings: [Finding]

        subscript(check: String) -> Finding? { findings.first { $0.check == check } }
    }

    private let stage: TPMStage
    private let command: CommandStage

    init() throws {
        stage = try TPMStage()
        try stage.setPasscode()
        command = try CommandStage(in: stage.folders, withVerifier: false)
        try command.write(Data("a secret".utf8), named: "secret")
        try FileManager.default.createDirectory(atPath: command.path("keys"), withIntermediateDirectories: false)
        expect(try command.alone("right", "create", "2fa", "--require", "passcode"), 0)
        expect(try command.alone("right", "create", "mail", "--require", "passcode", "--secret", "secret"), 0)
    }

    private func rehearse(_ more: String...) throws -> (status: CInt, Diagnosis) {
        let run = try command.alone(["doctor", "--rehearse", "--json"] + more)
        return (run.status, try JSONDecoder().decode(Diagnosis.self, from: run.output))
    }

    /// The public half of a key that is elsewhere.
    private func makeKey(_ name: String) throws {
        let path = command.path("keys/\(name).pem")
        try stage.tpm.tool("openssl", "ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", "elsewhere")
        try stage.tpm.tool("openssl", "ec", "-in", "elsewhere", "-pubout", "-out", path)
    }

    @Test func `the loss of the chip is named, and each right's second key`() throws {
        let (status, plain) = try rehearse()
        #expect(status == 0)
        #expect(plain["loss"]?.message.hasPrefix("The TPM is replaced or cleared") == true)
        #expect(plain["right 2fa"]?.verdict == "notice" && plain["right mail"]?.message.contains("secret") == true)
        #expect(plain["items"] != nil && plain["begin again"]?.verdict == "ok")

        try makeKey("2fa")
        let (partly, missing) = try rehearse("--recovery-keys", "keys")
        #expect(partly == 1)
        #expect(missing["right 2fa"]?.verdict == "ok" && missing["right mail"]?.verdict == "problem")
        try makeKey("mail")
        let (all, found) = try rehearse("--recovery-keys", "keys")
        #expect(all == 0 && found["right mail"]?.verdict == "notice")
        let text = try command.alone("doctor", "--rehearse", "--recovery-keys", "keys")
        #expect(text.status == 0 && text.text.contains("Its second key takes over."))
    }

    @Test func `a key of this same store, and a file that is no key, are problems`() throws {
        try makeKey("mail")
        expect(try command.alone("right", "public-key", "2fa", "--output", "keys/2fa.pem"), 0)
        let (own, same) = try rehearse("--recovery-keys", "keys")
        #expect(own == 1)
        #expect(same["right 2fa"]?.message.contains("is a key of this store") == true)
        for text in ["", "x", "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n"] {
            try command.write(Data(text.utf8), named: "keys/2fa.pem")
            let (status, unusable) = try rehearse("--recovery-keys", "keys")
            #expect(status == 1)
            #expect(unusable["right 2fa"]?.message.contains("is no public key of P-256") == true)
        }
        let (status, absent) = try rehearse("--recovery-keys", "missing")
        #expect(status == 1)
        #expect(absent["right mail"]?.message.contains("does not exist") == true)
    }

    @Test func `nothing changes, neither in the store nor in the chip`() throws {
        // The first look at the items writes their list.
        _ = try rehearse()
        let (store, chip, handles) = try (stage.folders.snapshot(), stage.tpm.permanentState(), stage.tpm.handles())
        for _ in 0..<3 { #expect(try rehearse("--recovery-keys", "keys").status == 1) }
        #expect(try stage.folders.snapshot() == store)
        #expect(try stage.tpm.permanentState() == chip)
        #expect(try stage.tpm.handles() == handles)
        _ = try stage.makeRight("later")
        #expect(try stage.folders.snapshot() != store, "a change would be seen")
    }

    @Test func `it repairs nothing, and a folder alone is a wrong command line`() throws {
        expect(try command.alone("doctor", "--rehearse", "--repair"), 2, "--rehearse changes nothing")
        expect(try command.alone("doctor", "--recovery-keys", "keys"), 2, "--recovery-keys belongs to --rehearse")
    }
}
