import ArgumentParser
import OstiaryClient

struct KeyPublicKey: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "public-key",
        abstract: "Write the public key of a key of the enclave; asks for nothing.",
        discussion: """
            pem is SubjectPublicKeyInfo, as openssl reads it; x963 is the uncompressed point, 65 bytes.

            Example:
              ostiary key public-key release --output release.pem
            """)

    @OptionGroup var key: KeyArgument
    @Option(help: "How the key is written.") var format: PublicKeyFormat = .pem
    @OptionGroup var output: OutputOption

    func run() throws {
        try output.file.requireUsable(for: format.content)
        try output.file.write(format.encoded(key.find().verifiedPublicKey()), as: format.content)
    }
}
