import AccessControl
import Crypto
import Foundation
import StoreTestSupport
import TPMTestSupport
import Testing

/// `ostiary attest`, `ostiary right attest` and `ostiary verify-attestation`, with the real daemon and swtpm.
@Suite(.timeLimit(.minutes(10))) struct AttestationCommandTests {
    private let maker: SoftwareTPMMaker
    private let stage: TPMStage
    private let command: CommandStage

    init() throws {
        maker = try SoftwareTPMMaker()
        stage = try TPMStage(SoftwareTPM(madeBy: maker))
        try stage.setPasscode()
        command = try Self.command(stage)
    }

    private static func command(_ stage: TPMStage) throws -> CommandStage {
        let command = try CommandStage(in: stage.folders)
        try command.write(Data("a challenge of the server".utf8), named: "challenge")
        return command
    }

    /// Makes the chip known to the server, as `known`.
    private func enroll(_ command: CommandStage, _ maker: SoftwareTPMMaker) throws {
        expect(try command.atTerminal("attest", "enroll", "--output", "enrollment", doing: [.passcode]), 0)
        expect(
            try command.alone(
                "verify-attestation", "challenge", "enrollment", "--anchor", maker.authority, "--intermediate",
                maker.intermediate, "--pending", "pending", "--output", "credential"), 0)
        expect(try command.alone("attest", "activate", "credential", "--output", "secret"), 0)
        expect(
            try command.alone("verify-attestation", "confirm", "secret", "--pending", "pending", "--output", "known"),
            0)
    }

    /// Makes a right, and the chip's statement on its key as `statement`.
    private func attest(_ right: String = "2fa") throws -> Data {
        expect(try command.alone("right", "create", right, "--require", "passcode"), 0)
        expect(
            try command.atTerminal(
                "right", "attest", right, "--challenge", "challenge", "--output", "statement", doing: [.passcode]), 0)
        return try command.read("statement")
    }

    private func verify(_ more: String...) throws -> CommandStage.Run {
        try command.alone(
            ["verify-attestation", "verify", "statement", "--challenge", "challenge", "--key", "known"] + more)
    }

    // MARK: the way through

    @Test func `a chip is enrolled and a key attested with the commands alone`() throws {
        try enroll(command, maker)
        _ = try attest()
        let run = try verify()
        #expect(run.status == 0)
        let parts = run.text.components(separatedBy: "Only the daemon says:")
        #expect(parts.count == 2 && parts[0].hasPrefix("The TPM proves:"), "\(run.text)")

        struct Attested: Decodable { let statement, publicKey: Data }
        struct Report: Decodable {
            let publicKey: Data
            let rule: String
            let passcodeIsRequired, confirmsEachSignature: Bool
        }
        let printed = try command.atTerminal(
            "right", "attest", "2fa", "--challenge", "challenge", "--json", doing: [.passcode])
        #expect(printed.status == 0)
        let attested = try JSONDecoder().decode(Attested.self, from: printed.output)
        try command.write(attested.statement, named: "statement")
        try command.write(attested.publicKey, named: "point")
        let report = try JSONDecoder().decode(Report.self, from: verify("--json").output)
        #expect(report.publicKey == attested.publicKey && report.rule == "passcode" && report.passcodeIsRequired)
        #expect(!report.confirmsEachSignature)
        #expect(try verify("--public-key", "point").status == 0)
        expect(try command.alone("right", "public-key", "2fa", "--format", "x963", "--output", "own"), 0)
        #expect(try command.read("own") == attested.publicKey)
    }

    @Test(arguments: SoftwareTPM.CertifiedKey.allCases)
    func `a chip with a certificate for one key alone is enrolled`(_ key: SoftwareTPM.CertifiedKey) throws {
        try stage.tpm.keepCertificate(of: key, by: maker)
        try enroll(command, maker)
        _ = try attest()
        #expect(try verify().status == 0)
        #expect(try stage.tpm.handles() == [0, 0, 0])
        // The chip opens no credential that was changed.
        var credential = try command.read("credential")
        for place in [12, 60, credential.count - 1] {
            credential[place] ^= 1
            try command.write(credential, named: "credential")
            expect(
                try command.alone("attest", "activate", "credential", "--output", "none"), 1,
                "The file is no credential for this TPM")
            credential[place] ^= 1
        }
        #expect(!command.exists("none"))
        #expect(try stage.tpm.handles() == [0, 0, 0])
    }

    @Test func `a right that confirms each signature is attested after its own question`() throws {
        try enroll(command, maker)
        expect(try command.alone("right", "create", "bank", "--require", "passcode", "--confirm-each"), 0)
        expect(
            try command.alone("right", "attest", "bank", "--challenge", "challenge", "--output", "none"), 3,
            "Nobody can be asked")
        #expect(!command.exists("none"))
        expect(
            try command.atTerminal(
                "right", "attest", "bank", "--challenge", "challenge", "--output", "statement", doing: [.passcode]), 0)
        #expect(try verify().text.contains("signs with the key only a digest that a second key"))
    }

    // MARK: on the machine

    @Test func `an enrolment that nobody agrees to writes nothing`() throws {
        let cancelled = try command.atTerminal("attest", "enroll", "--output", "none", doing: [.cancel])
        expect(cancelled, 3, "Cancelled; nothing was done.")
        let wrong = try command.atTerminal(
            "attest", "enroll", "--output", "none",
            doing: [.type("wrong one 1"), .type("wrong one 2"), .type("wrong one 3")])
        expect(wrong, 3, "The passcode or password is wrong.")
        expect(try command.alone("attest", "enroll", "--output", "none"), 3, "Nobody can be asked")
        #expect(!command.exists("none"))
        #expect(!FileManager.default.fileExists(atPath: stage.folders.state + "/attestation-key"))
        expect(try command.alone("attest", "enroll", "--challenge", "challenge"), 2)
    }

    @Test func `a chip without a certificate and a store in software are not enrolled`() throws {
        let bare = try TPMStage()
        try bare.setPasscode()
        let refused = try Self.command(bare).atTerminal("attest", "enroll", "--output", "none", doing: [.passcode])
        expect(refused, 1, "The TPM has no endorsement certificate")
        let software = try TPMStage(enclave: "software")
        try software.setPasscode()
        let command = try Self.command(software)
        expect(
            try command.alone("attest", "activate", "challenge", "--output", "none"), 1,
            "nothing vouches for software")
        expect(try command.alone("right", "create", "2fa", "--require", "passcode"), 0)
        let statement = try command.atTerminal(
            "right", "attest", "2fa", "--challenge", "challenge", "--output", "none", doing: [.passcode])
        expect(statement, 1, "nothing vouches for software")
        #expect(!command.exists("none"))
    }

    @Test func `a statement needs an enrolment, a right, a challenge and the person`() throws {
        expect(try command.alone("right", "create", "2fa", "--require", "passcode"), 0)
        func attest(
            _ right: String = "2fa", _ challenge: String = "challenge", doing acts: [CommandStage.Act] = []
        ) throws -> CommandStage.Run {
            try command.atTerminal(
                "right", "attest", right, "--challenge", challenge, "--output", "none", doing: acts)
        }
        expect(try attest(doing: [.passcode]), 1, "This store has no attestation key yet.")
        expect(try command.alone("attest", "activate", "challenge", "--output", "none"), 1, "no attestation key yet")
        expect(try command.atTerminal("attest", "enroll", "--output", "enrollment", doing: [.passcode]), 0)
        expect(
            try command.alone("attest", "activate", "challenge", "--output", "none"), 1,
            "The file is no credential for this TPM")
        try command.write(Data(count: 15), named: "short")
        try command.write(Data(count: 1025), named: "long")
        expect(try attest("2fa", "short", doing: [.passcode]), 1, "A challenge has 16 to 1024 bytes.")
        expect(try attest("2fa", "long"), 1, "long has more than 1024 bytes")
        expect(try attest("2fa", "missing"), 1, "The input cannot be read")
        expect(try attest("nobody"), 1, "There is no right of this name.")
        expect(try attest(doing: [.cancel]), 3, "Cancelled; nothing was done.")
        #expect(!command.exists("none"))
    }

    private struct Failure: Decodable {
        struct Reason: Decodable { let code: Int, name: String }

        let error: Reason
    }

    private func failure(_ run: CommandStage.Run) throws -> Failure.Reason {
        #expect(run.output.isEmpty)
        return try JSONDecoder().decode(Failure.self, from: Data(run.shown.utf8)).error
    }

    @Test func `refusals in JSON have a code and a name, and a wrong command line tries nothing`() throws {
        expect(try command.alone("right", "create", "2fa", "--require", "passcode"), 0)
        let unasked = try command.alone("right", "attest", "2fa", "--challenge", "challenge", "--json")
        #expect(unasked.status == 3)
        #expect(try failure(unasked).name == "notInteractive")
        let unknown = try command.alone("right", "attest", "nobody", "--challenge", "challenge", "--json")
        #expect(unknown.status == 1)
        #expect(try failure(unknown).name == "notFound")
        let both = try command.alone(
            "right", "attest", "2fa", "--challenge", "challenge", "--json", "--output", "-")
        #expect(both.status == 2)
        #expect(try failure(both).name == "usage")
        expect(try command.alone("right", "attest", "2fa"), 2, "Missing expected argument '--challenge <file>'")
    }

    // MARK: on the server

    @Test func `the server's program refuses every statement but the one that it asked for`() throws {
        try enroll(command, maker)
        let statement = try attest()
        func refuse(_ changed: Data, _ words: String, _ location: SourceLocation = #_sourceLocation) throws {
            try command.write(changed, named: "statement")
            let run = try verify()
            expect(run, 1, "Refused: \(words)", location)
            #expect(run.output.isEmpty, sourceLocation: location)
        }
        try command.write(Data("another challenge of it".utf8), named: "another")
        expect(
            try command.alone("verify-attestation", "verify", "statement", "--challenge", "another", "--key", "known"),
            1,
            "Refused: the statement answers another challenge.")
        try command.write(P256.Signing.PrivateKey().publicKey.x963Representation, named: "point")
        expect(try verify("--public-key", "point"), 1, "Refused: the statement is about another key")

        let rule = Data(AccessControl(availability: .whenUnlocked, using: try .passcode).canonicalBytes)
        let soft = Data(
            AccessControl(availability: .whenUnlocked, using: try Requirement(anyOf: [.biometry])).canonicalBytes)
        var edited = statement
        edited.replaceSubrange(try #require(edited.range(of: rule)), with: soft)
        try refuse(edited, "the rule is not the one that was fixed")
        var forged = statement
        let mark = try #require(forged.range(of: Data([0x63]) + Data("sig".utf8) + Data([0x58, 0x40])))
        forged.replaceSubrange(
            mark.upperBound..<(mark.upperBound + 64),
            with: try P256.Signing.PrivateKey().signature(for: Data("software".utf8)).rawRepresentation)
        try refuse(forged, "the statement is not signed by the known attestation key")
        try refuse(statement.dropLast(), "the file is no intact statement")
        try refuse(statement + [0], "the file is no intact statement")
        try refuse(Data(), "the file is no intact statement")
        try command.write(Data(count: 64 * 1024 + 1), named: "statement")
        expect(try verify(), 1, "statement is too large")
    }

    @Test func `chips of an unknown maker, and words of another chip, are refused`() throws {
        try enroll(command, maker)
        _ = try attest()
        let stranger = try SoftwareTPMMaker(isStranger: true)
        let other = try TPMStage(SoftwareTPM(madeBy: stranger))
        try other.setPasscode()
        let theirs = try Self.command(other)
        try enroll(theirs, stranger)
        try command.write(theirs.read("known"), named: "known")
        expect(try verify(), 1, "Refused: the statement is not signed by the known attestation key")
        try command.write(theirs.read("secret"), named: "secret")
        expect(
            try command.alone("verify-attestation", "confirm", "secret", "--pending", "pending", "--output", "none"), 1,
            "Refused: this is not the secret")
        expect(
            try command.alone("attest", "activate", theirs.path("credential"), "--output", "none"), 1,
            "The file is no credential for this TPM")
        expect(
            try command.alone(
                "verify-attestation", "challenge", "enrollment", "--anchor", stranger.authority, "--intermediate",
                stranger.intermediate, "--pending", "none", "--output", "none"), 1,
            "Refused: no chain leads from the TPM's certificate")
        #expect(!command.exists("none"))
    }

    @Test func `files that cannot be used, and a missing program, are errors with a status`() throws {
        try command.write(Data("no certificate".utf8), named: "text")
        func challenge(_ anchor: String, _ enrollment: String = "challenge") throws -> CommandStage.Run {
            try command.alone(
                "verify-attestation", "challenge", enrollment, "--anchor", anchor, "--pending", "none", "--output",
                "none")
        }
        expect(try challenge("text"), 1, "text holds no certificate in PEM")
        expect(try challenge("missing"), 1, "missing cannot be read")
        expect(try challenge(maker.authority), 1, "Refused: the file is no intact enrolment")
        expect(try verify(), 1, "statement cannot be read")
        expect(try command.alone("verify-attestation", "verify"), 2, "Missing expected argument '<statement>'")
        expect(try command.alone("verify-attestation", "forge"), 2)
        #expect(try command.alone("verify-attestation", "--help").status == 0)
        let bare = try CommandStage(in: DaemonFolders(), withVerifier: false)
        expect(
            try bare.alone("verify-attestation", "verify"), 1, "ostiary-verify-attestation is not installed")
        #expect(!command.exists("none"))
    }
}
