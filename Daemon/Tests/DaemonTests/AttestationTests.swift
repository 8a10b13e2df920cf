import AccessControl
import Crypto
import Foundation
import OstiaryMessages
import StoreTestSupport
import TPMTestSupport
import TerminalTestSupport
import Testing
import UnixSocket

/// A right's key attested by the daemon's TPM, and verified by the program for servers, which knows no daemon.
@Suite(.timeLimit(.minutes(10))) struct AttestationTests {
    private static let challenge = [UInt8]("a challenge of the server".utf8)

    /// A daemon, its TPM, and a server that keeps files.
    private final class Bench {
        let maker: SoftwareTPMMaker
        let stage: TPMStage

        init(madeBy maker: SoftwareTPMMaker? = nil) throws {
            self.maker = try maker ?? SoftwareTPMMaker()
            stage = try TPMStage(SoftwareTPM(madeBy: self.maker))
            try stage.setPasscode()
            try stage.tpm.write(Data(challenge), named: "challenge")
        }

        func path(_ name: String) -> String { stage.tpm.path(name) }

        /// The output of the program for servers; throws its refusals.
        @discardableResult
        func server(_ arguments: String...) throws -> String { try server(arguments: arguments) }

        func refusal(_ arguments: String...) throws -> String {
            do {
                let output = try server(arguments: arguments)
                Issue.record("not refused: \(output)")
                return output
            } catch let error as SoftwareTPM.ToolFailed {
                return error.output
            }
        }

        private func server(arguments: [String]) throws -> String {
            let package = URL(fileURLWithPath: #filePath).appendingPathComponent("../../../../RelyingParty")
            let program = package.standardizedFileURL.appendingPathComponent(".build/debug/ostiary-verify-attestation")
            try #require(
                FileManager.default.isExecutableFile(atPath: program.path),
                "Build it: script/swift-in RelyingParty build --product ostiary-verify-attestation")
            return try stage.tpm.tool("../../\(program.path)", arguments: arguments)
        }

        func enrollment() throws -> Data {
            let id = try stage.client.send(
                .enrollAttestation(.with { $0.question = .reason("to test") }),
                descriptor: stage.terminal.slave.number)
            stage.terminal.answer("Passcode: ", with: TPMStage.passcode)
            let answer = try stage.client.answer(to: id)
            try #require(answer.isDone, "\(answer.failure?.explanation ?? "")")
            return Data(answer.tail)
        }

        /// Makes the TPM known to the server, as `known`.
        func enroll() throws {
            try stage.tpm.write(enrollment(), named: "enrollment")
            try server(
                "challenge", "enrollment", "--anchor", maker.authority, "--intermediate", maker.intermediate,
                "--pending", "pending", "--output", "credential")
            let credential = try Data(contentsOf: URL(fileURLWithPath: path("credential")))
            let answer = try stage.client.ask(.activateAttestation(.init()), tail: [UInt8](credential))
            try #require(answer.isDone, "\(answer.failure?.explanation ?? "")")
            try stage.tpm.write(Data(answer.tail), named: "secret")
            try server("confirm", "secret", "--pending", "pending", "--output", "known")
        }

        /// Keeps the statement on a right, as `statement`.
        func attest(_ right: WireRight, in context: UInt64) throws -> Data {
            let answer = try stage.client.ask(
                .attest(.with { ($0.contextID, $0.rightID) = (context, right.rightID) }), tail: challenge)
            try #require(answer.isDone, "\(answer.failure?.explanation ?? "")")
            try stage.tpm.write(Data(answer.tail), named: "statement")
            return Data(answer.tail)
        }

        func verify(_ more: String...) throws -> String {
            try server(
                arguments: ["verify", "statement", "--challenge", "challenge", "--key", "known"] + more)
        }
    }

    @Test
    func `a key that asks for the passcode is attested, and the verifier tells the chip's words from the daemon's`()
        throws
    {
        let bench = try Bench()
        try bench.enroll()
        let right = try bench.stage.makeRight("2fa")
        _ = try bench.attest(right, in: bench.stage.authorize(right))
        try bench.stage.tpm.write(right.publicKey, named: "key")
        let text = try bench.verify("--public-key", "key")
        let parts = text.components(separatedBy: "Only the daemon says:")
        try #require(parts.count == 2, "\(text)")
        #expect(parts[0].contains("made inside this TPM and cannot leave it"))
        #expect(parts[0].contains("this rule was fixed when the key was made: passcode."))
        #expect(parts[0].contains("The index takes 10 wrong values in a row and then none any more; now 0 were wrong."))
        #expect(!parts[0].contains("person") && parts[1].contains("a passcode that a person typed"))
        let report = try JSONDecoder().decode(Report.self, from: Data(bench.verify("--json").utf8))
        #expect(report.passcodeIsRequired && report.rule == "passcode" && report.passcodeLimit == 10)
        #expect(!report.confirmsEachSignature && !text.contains("second key"))
        #expect(report.publicKey == right.publicKey)

        // A power cut: the chip counts it, and the store's attestation key stays.
        try #require(bench.stage.daemon.stop() == .exited(0))
        try bench.stage.tpm.restart()
        try bench.stage.restart(stopped: true)
        _ = try bench.attest(right, in: bench.stage.authorize(right))
        let later = try JSONDecoder().decode(Report.self, from: Data(bench.verify("--json").utf8))
        #expect(later.resetCount == report.resetCount + 1)
    }

    private struct Report: Decodable {
        let publicKey: Data
        let rule: String
        let confirmsEachSignature: Bool
        let passcodeIsRequired: Bool
        let passcodeLimit: UInt32?
        let resetCount: UInt32
    }

    @Test func `a key that confirms each signature is attested as such, and with its own approver only`() throws {
        let bench = try Bench()
        try bench.enroll()
        let right = try bench.stage.makeConfirmingRight("transfers")
        let request = WireConfirmedAttestRequest.with {
            ($0.rightID, $0.question) = (right.rightID, .reason("to test"))
        }
        let id = try bench.stage.client.send(
            .confirmedAttest(request), tail: Self.challenge, descriptor: bench.stage.terminal.slave.number)
        bench.stage.terminal.answer("Passcode: ", with: TPMStage.passcode)
        let answer = try bench.stage.client.answer(to: id)
        try #require(answer.isDone, "\(answer.failure?.explanation ?? "")")
        let statement = Data(answer.tail)
        try bench.stage.tpm.write(statement, named: "statement")
        let parts = try bench.verify().components(separatedBy: "Only the daemon says:")
        try #require(parts.count == 2)
        #expect(
            parts[0].contains("signs with the key only a digest that a second key, outside the TPM, approved before"))
        #expect(parts[0].contains("The TPM certifies the key only for a program"))
        #expect(!parts[0].contains("shown") && parts[1].contains("a person was shown the data"))
        let report = try JSONDecoder().decode(Report.self, from: Data(bench.verify("--json").utf8))
        #expect(report.confirmsEachSignature && report.passcodeIsRequired && report.publicKey == right.publicKey)

        var unconfirmed = statement
        let rule = try #require(unconfirmed.range(of: right.accessControl))
        unconfirmed[rule.lowerBound] = 1
        try refuse(unconfirmed, in: bench, "the rule confirms each signature, and the statement does not show the key")
        var foreign = statement
        let label = try #require(foreign.range(of: Data("approver".utf8)))
        let other = P256.Signing.PrivateKey().publicKey.rawRepresentation
        // The area ends with both coordinates, each with its size in front.
        let end = label.upperBound + 2 + Int(foreign[label.upperBound + 1])
        foreign.replaceSubrange((end - 66)..<(end - 34), with: other.prefix(32))
        foreign.replaceSubrange((end - 32)..<end, with: other.suffix(32))
        try refuse(foreign, in: bench, "the rule is not the one that was fixed")
        #expect(try bench.stage.tpm.handles() == [0, 0, 0])
    }

    @Test func `of a key that nobody is asked for, the verifier says that it demands no person`() throws {
        let bench = try Bench()
        try bench.enroll()
        let right = try bench.stage.makeRight("open", .unrestricted)
        let context = try bench.stage.client.openContext()
        let authorized = try bench.stage.client.ask(.authorize(right.rightID, in: context))
        try #require(authorized.failure == nil)
        _ = try bench.attest(right, in: context)
        let text = try bench.verify()
        #expect(text.contains("The TPM itself asks for no passcode before it loads this key."))
        #expect(text.contains("this key demands no person"))
    }

    @Test func `the verifier refuses another challenge, another key, an edited rule and a signature of software`()
        throws
    {
        let bench = try Bench()
        try bench.enroll()
        let right = try bench.stage.makeRight("2fa")
        let other = try bench.stage.makeRight("other")
        let statement = try bench.attest(right, in: bench.stage.authorize(right))
        try bench.stage.tpm.write(other.publicKey, named: "other")
        #expect(
            try bench.refusal(
                "verify", "statement", "--challenge", "challenge", "--key", "known", "--public-key", "other"
            ).contains("another key than the expected one"))
        try bench.stage.tpm.write(Data("another challenge".utf8), named: "another")
        #expect(
            try bench.refusal("verify", "statement", "--challenge", "another", "--key", "known").contains(
                "answers another challenge"))

        // The passcode becomes a finger in every operation.
        let rule = right.accessControl
        let softened = Data(
            AccessControl(availability: .whenUnlocked, using: try Requirement(anyOf: [.biometry])).canonicalBytes)
        try #require(softened.count == rule.count && softened != rule)
        var edited = statement
        edited.replaceSubrange(try #require(edited.range(of: rule)), with: softened)
        try refuse(edited, in: bench, "the rule is not the one that was fixed")

        // Its bytes are right and its key is software.
        var forged = statement
        let signature = try #require(forged.range(of: Data([0x63]) + Data("sig".utf8) + Data([0x58, 0x40])))
        let place = signature.upperBound..<(signature.upperBound + 64)
        forged.replaceSubrange(
            place, with: try P256.Signing.PrivateKey().signature(for: Data("anything".utf8)).rawRepresentation)
        try refuse(forged, in: bench, "not signed by the known attestation key")
        for count in [0, 1, statement.count / 2, statement.count - 1] {
            try refuse(statement.prefix(count), in: bench, "no intact statement")
        }
        try refuse(statement + [0], in: bench, "no intact statement")
    }

    private func refuse(
        _ statement: Data, in bench: Bench, _ words: String, _ location: SourceLocation = #_sourceLocation
    ) throws {
        try bench.stage.tpm.write(statement, named: "wrong")
        let refusal = try bench.refusal("verify", "wrong", "--challenge", "challenge", "--key", "known")
        #expect(refusal.contains(words), "\(refusal)", sourceLocation: location)
    }

    @Test func `a chip of an unknown maker is not enrolled, and one chip does not speak for another`() throws {
        let bench = try Bench()
        try bench.stage.tpm.write(bench.enrollment(), named: "enrollment")
        let stranger = try SoftwareTPMMaker(isStranger: true)
        let other = try Bench(madeBy: stranger)
        #expect(
            try bench.refusal(
                "challenge", "enrollment", "--anchor", stranger.authority, "--intermediate", stranger.intermediate,
                "--pending", "pending", "--output", "credential"
            ).contains("no chain leads from the TPM's certificate"))
        #expect(!FileManager.default.fileExists(atPath: bench.path("credential")))

        try bench.enroll()
        try other.enroll()
        let right = try bench.stage.makeRight("2fa")
        _ = try bench.attest(right, in: bench.stage.authorize(right))
        #expect(
            try bench.refusal(
                "verify", "statement", "--challenge", "challenge", "--key", other.path("known")
            ).contains("not signed by the known attestation key"))
        // A credential for this chip is of no use to the other one.
        let credential = try Data(contentsOf: URL(fileURLWithPath: bench.path("credential")))
        let answer = try other.stage.client.ask(.activateAttestation(.init()), tail: [UInt8](credential))
        #expect(answer.failure?.cause == "attestation.credential")
        #expect(
            try bench.refusal("confirm", other.path("secret"), "--pending", "pending", "--output", "wrong").contains(
                "not the secret that was encrypted"))
    }

    @Test func `the daemon refuses before enrolment, without authorization, for bad challenges and in software`() throws
    {
        let bench = try Bench()
        let right = try bench.stage.makeRight("2fa")
        let context = try bench.stage.authorize(right)
        func cause(_ context: UInt64, _ challenge: [UInt8]) throws -> String? {
            try bench.stage.client.ask(
                .attest(.with { ($0.contextID, $0.rightID) = (context, right.rightID) }), tail: challenge
            ).failure?.cause
        }
        #expect(try cause(context, Self.challenge) == "attestation.not-enrolled")
        _ = try bench.enrollment()
        #expect(try cause(context, [UInt8](repeating: 0, count: 15)) == "attestation.challenge")
        let fresh = try bench.stage.client.openContext()
        let unauthorized = try bench.stage.client.ask(
            .attest(.with { ($0.contextID, $0.rightID) = (fresh, right.rightID) }), tail: Self.challenge)
        #expect(unauthorized.refusal == .notAuthorized)

        let software = try DaemonProcess(in: DaemonFolders())
        let answer = try software.client().ask(.activateAttestation(.init()), tail: [1])
        #expect(answer.failure?.cause == "attestation.software")
    }
}
