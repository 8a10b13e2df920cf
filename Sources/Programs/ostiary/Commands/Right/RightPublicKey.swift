import ArgumentParser
import OstiaryClient

struct RightPublicKey: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "public-key",
        abstract: "Write the public key of a right; asks for nothing.",
        discussion: """
            pem is SubjectPublicKeyInfo, as openssl reads it; x963 is the uncompressed point, 65 bytes.

            Example:
              ostiary right public-key 2fa --output 2fa.pem
            """)

    @OptionGroup var right: RightArgument
    @OptionGroup var output: PublicKeyOutput

    func run() throws { try output.write(right.find().verifiedPublicKey()) }
}
