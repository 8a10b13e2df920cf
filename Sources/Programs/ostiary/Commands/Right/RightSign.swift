import AccessControl
import ArgumentParser
import Foundation
import KeyAlgorithms
import OstiaryClient
import OstiaryWire

struct RightSign: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sign",
        abstract: "Sign a file with the key of a right.",
        discussion: """
            The default, \(AlgorithmName.signingDefault), hashes the file and writes a DER signature, which \
            `openssl dgst -sha256 -verify` reads. If an algorithm's name contains “digest”, the file holds the digest \
            itself. If it contains “raw”, the signature is r and s, 64 bytes (RFC 4754).

            A right that confirms each signature shows what it signs: text as text, other data as size and SHA-256. It signs at \
            most \(WireLimits.tailByteCount) bytes, with SHA-256 only.

            Algorithms (Apple's names work too):
            \(AlgorithmName.helpLines(for: .sign))

            Examples:
              ostiary right sign 2fa challenge.bin --output challenge.sig
              ostiary right sign 2fa - --algorithm ecdsa-raw-sha256 < in > in.sig
            """)

    @OptionGroup var right: RightArgument
    @Argument(help: "The file to sign, - for standard input.") var file: InputFile
    @OptionGroup var output: OutputOption

    @OptionGroup var algorithm: SigningAlgorithmOption
    @OptionGroup var reason: ReasonOption

    func run() throws {
        try output.file.requireUsable(for: .binary)
        let input = try algorithm.input(file)
        let stored = try right.find()
        let interaction = reason.interaction(otherwise: "sign \(file.shortName)")
        let signature =
            try stored.accessControl.confirmsEachSignature
            ? confirmedSignature(input, stored, interaction) : signature(input, stored, interaction)
        try output.file.write(signature, as: .binary)
    }

    private func signature(_ input: SigningInput, _ stored: StoredRight, _ interaction: Interaction) throws -> Data {
        let authorized = try AuthorizedRight(stored, interaction: interaction)
        return try authorized.context.sign(
            digest: input.digest, right: authorized.right.id, algorithm: input.algorithm.rawValue)
    }

    /// The daemon hashes the file itself, because it shows the file.
    private func confirmedSignature(
        _ input: SigningInput, _ stored: StoredRight, _ interaction: Interaction
    ) throws -> Data {
        guard let content = input.content else {
            throw CommandError.inputTooLarge(name: file.name, limit: WireLimits.tailByteCount)
        }
        return try OstiaryClient.shared.confirmAndSign(
            content, right: stored.id, algorithm: algorithm.chosen.rawValue, interaction: interaction)
    }
}
