import ArgumentParser
import KeyAlgorithms
import OstiaryClient

struct RightDecrypt: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "decrypt",
        abstract: "Decrypt a file with the key of a right.",
        discussion: """
            A file that --output names is readable by you alone (mode 0600).

            Example:
              ostiary right decrypt 2fa notes.enc --output notes.txt
            """)

    @OptionGroup var right: RightArgument
    @Argument(help: "The file to decrypt, - for standard input.") var file: InputFile
    @OptionGroup var result: ResultOutput

    @Option(
        help: ArgumentHelp(
            "The algorithm it was encrypted with (default: \(AlgorithmName.encryptionDefault)).", valueName: "name"),
        completion: .list(AlgorithmName.shortNames(for: .decrypt)),
        transform: { try AlgorithmName.algorithm(named: $0, for: .decrypt) })
    var algorithm: KeyAlgorithm?

    @OptionGroup var reason: ReasonOption

    func run() throws {
        let destination = try result.usable(for: .secret, apartFrom: [file])
        let chosen = try algorithm ?? AlgorithmName.algorithm(named: AlgorithmName.encryptionDefault, for: .decrypt)
        let ciphertext = try file.data(limit: KeyAlgorithmLimits.ciphertext)
        let authorized = try AuthorizedRight(
            right.find(), interaction: reason.interaction(otherwise: "decrypt \(file.shortName)"))
        let plaintext = try authorized.context.decrypt(
            ciphertext, right: authorized.right.id, algorithm: chosen.rawValue)
        try destination.write(plaintext, key: "plaintext")
    }
}
