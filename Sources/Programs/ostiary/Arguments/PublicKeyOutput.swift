import ArgumentParser
import KeyAlgorithms

/// `--format` and `--output` of the commands that write a public key.
struct PublicKeyOutput: ParsableArguments {
    @Option(help: "How the key is written.") var format: PublicKeyFormat = .pem
    @OptionGroup var output: OutputOption

    /// Writes the key; a place that it cannot be written to is refused before the key is looked for.
    func write(_ key: @autoclosure () throws -> P256PublicKey) throws {
        try output.file.requireUsable(for: format.content)
        try output.file.write(format.encoded(key()), as: format.content)
    }
}
