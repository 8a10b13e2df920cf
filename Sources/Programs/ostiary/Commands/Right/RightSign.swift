import ArgumentParser
import KeyAlgorithms
import OstiaryClient

struct RightSign: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sign",
        abstract: "Sign a file with the key of a right.",
        discussion: """
            The default, \(AlgorithmName.signingDefault), hashes the file and writes a DER signature, which \
            `openssl dgst -sha256 -verify` reads. If an algorithm's name contains “digest”, the file holds the digest \
            itself. If it contains “raw”, the signature is r and s, 64 bytes (RFC 4754).

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
        let authorized = try AuthorizedRight(
            right.find(), interaction: reason.interaction(otherwise: "sign \(file.shortName)"))
        let signature = try authorized.context.sign(
            digest: input.digest, right: authorized.right.id, algorithm: input.algorithm.rawValue)
        try output.file.write(signature, as: .binary)
    }
}
