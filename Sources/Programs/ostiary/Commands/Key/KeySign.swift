import ArgumentParser
import KeyAlgorithms
import OstiaryClient

struct KeySign: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sign",
        abstract: "Sign files with a key of the enclave.",
        discussion: """
            Algorithms, formats and several files work as with `ostiary right sign`; the default algorithm is \
            \(AlgorithmName.signingDefault).

            Example:
              ostiary key sign release archive.tar --output archive.sig
            """)

    @OptionGroup var key: KeyArgument
    @OptionGroup var files: SigningFiles
    @OptionGroup var reason: ReasonOption

    func run() throws {
        try files.sign {
            let id = try key.find().id
            let context = AuthorizationContext()
            try context.authorize(.right(id: id), interaction: reason.interaction(otherwise: files.purpose))
            return { _, input in
                try context.sign(digest: input.digest, right: id, algorithm: input.algorithm.rawValue)
            }
        }
    }
}
