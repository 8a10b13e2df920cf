import ArgumentParser
import AttestationVerification
import Foundation
import Glibc

/// A server's work with the TPM of a machine, for people and scripts. It needs no daemon.
@main
struct Program: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ostiary-verify-attestation",
        abstract: "Enrol the TPM of a machine, and verify its statements on keys.",
        discussion: """
            First, once for each machine:
              ostiary attest enroll --output enrollment.cbor                      on the machine
              ostiary-verify-attestation challenge enrollment.cbor --anchor maker.pem \\
                --pending pending --output credential
              ostiary attest activate credential --output secret                  on the machine
              ostiary-verify-attestation confirm secret --pending pending --output known-key.cbor

            Then, for each statement:
              ostiary right attest 2fa --challenge challenge.bin --output statement.cbor     on the machine
              ostiary-verify-attestation verify statement.cbor --challenge challenge.bin --key known-key.cbor

            The exit status is 0 when the input was verified, 1 when it was refused, 2 for a wrong command line.
            """,
        subcommands: [Challenge.self, Confirm.self, Verify.self])

    static func main() async {
        do {
            var command = try parseAsRoot()
            if var asynchronous = command as? any AsyncParsableCommand {
                try await asynchronous.run()
            } else {
                try command.run()
            }
        } catch {
            end(with: error)
        }
    }
}

extension Program {
    /// Help and version come as errors of the parser and are results.
    private static func end(with error: any Error) -> Never {
        if error is RightAttestationError || error is FileError {
            FileHandle.standardError.write(Data("\(error.words)\n".utf8))
            Glibc.exit(1)
        }
        let isResult = exitCode(for: error).isSuccess
        let stream = isResult ? FileHandle.standardOutput : FileHandle.standardError
        stream.write(Data("\(fullMessage(for: error))\n".utf8))
        Glibc.exit(isResult ? 0 : 2)
    }
}

struct Challenge: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Check the TPM's certificate, and encrypt a secret that only this TPM opens.")

    @Argument(help: "The file of `ostiary attest enroll`.") var enrollment: String
    @Option(help: ArgumentHelp("A trusted maker's certificate, PEM. May stand several times.", valueName: "file"))
    var anchor: [String]
    @Option(help: ArgumentHelp("A certificate between that one and the TPM's, PEM.", valueName: "file"))
    var intermediate: [String] = []
    @Option(help: ArgumentHelp("Keep the data for `confirm` here.", valueName: "file")) var pending: String
    @Option(name: .shortAndLong, help: ArgumentHelp("Write the credential here.", valueName: "file")) var output: String

    func run() async throws {
        let enrollment = try await AttestationKeyEnrollment(
            File.read(enrollment), anchors: anchor.flatMap(File.certificates),
            intermediates: intermediate.flatMap(File.certificates))
        let challenge = try enrollment.challenge()
        try File.write(challenge.pending.stored, to: pending)
        try File.write(challenge.credential, to: output)
    }
}

struct Confirm: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Take the secret that the TPM opened, and keep the attestation key.")

    @Argument(help: "The file of `ostiary attest activate`.") var secret: String
    @Option(help: ArgumentHelp("The file that `challenge` kept.", valueName: "file")) var pending: String
    @Option(name: .shortAndLong, help: ArgumentHelp("Keep the attestation key here.", valueName: "file"))
    var output: String

    func run() throws {
        let key = try PendingAttestationKey(stored: File.read(pending)).confirmed(by: File.read(secret))
        try File.write(key.stored, to: output)
    }
}

struct Verify: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Verify a statement, and list the claims of the TPM and those of the daemon alone.")

    @Argument(help: "The file of `ostiary right attest`.") var statement: String
    @Option(help: ArgumentHelp("The challenge that it answers.", valueName: "file")) var challenge: String
    @Option(help: ArgumentHelp("The attestation key that `confirm` kept.", valueName: "file")) var key: String
    @Option(help: ArgumentHelp("The right's public key that is expected, the point of 65 bytes.", valueName: "file"))
    var publicKey: String?
    @Flag(name: .customLong("json"), help: "Print JSON for programs.") var isJSON = false

    func run() throws {
        let attestation = try RightAttestation(
            verifying: File.read(statement), challenge: File.read(challenge),
            by: KnownAttestationKey(stored: File.read(key)), publicKey: publicKey.map(File.read))
        print(isJSON ? try Report(attestation).json : Report.text(of: attestation))
    }
}
