import AccessControl
import ArgumentParser
import KeyAlgorithms
import OstiaryClient

struct KeySign: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sign",
        abstract: "Sign files with a key of the enclave.",
        discussion: """
            Algorithms, formats and several files work as with `ostiary right sign`; the default algorithm is \
            \(AlgorithmName.signingDefault). So does a key that confirms each signature.

            Examples:
              ostiary key sign release archive.tar --output archive.sig
              ostiary key sign --id 000102030405060708090a0b0c0d0e0f archive.tar
            """)

    @OptionGroup var key: KeyArgument
    @OptionGroup var files: SigningFiles
    @OptionGroup var reason: ReasonOption

    func validate() throws {
        guard key.keyID != nil || key.name != nil else { throw KeyArgument.missing }
        try allFiles.check()
    }

    /// With `--id` no operand is the label, so the first one is a file.
    var allFiles: SigningFiles {
        files.behind(key.keyID == nil ? nil : key.name.flatMap(InputFile.init(argument:)))
    }

    func run() throws {
        let files = allFiles
        try files.sign {
            let found = try key.find()
            let (id, interaction) = (found.id, reason.interaction(otherwise: files.purpose))
            guard !found.accessControl.confirmsEachSignature else {
                return { file, input in try files.confirmedSignature(file, input, by: id, interaction) }
            }
            let context = AuthorizationContext()
            try context.authorize(.right(id: id), interaction: interaction)
            return { _, input in
                try context.sign(digest: input.digest, right: id, algorithm: input.algorithm.rawValue)
            }
        }
    }
}
