import ArgumentParser
import KeyAlgorithms
import OstiaryClient

struct KeySign: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sign",
        abstract: "Sign a file with a key of the enclave.",
        discussion: """
            Algorithms and formats are those of `ostiary right sign`; the default is \(AlgorithmName.signingDefault).

            Example:
              ostiary key sign release archive.tar --output archive.sig
            """)

    @OptionGroup var key: KeyArgument
    @Argument(help: "The file to sign, - for standard input.") var file: InputFile
    @OptionGroup var output: OutputOption

    @OptionGroup var algorithm: SigningAlgorithmOption
    @OptionGroup var reason: ReasonOption

    func run() throws {
        try output.file.requireUsable(for: .binary)
        let input = try algorithm.input(file)
        let id = try key.find().id
        let context = AuthorizationContext()
        try context.authorize(.right(id: id), interaction: reason.interaction(otherwise: "sign \(file.shortName)"))
        let signature = try context.sign(digest: input.digest, right: id, algorithm: input.algorithm.rawValue)
        try output.file.write(signature, as: .binary)
    }
}
