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
    @OptionGroup var output: PublicKeyOutput

    func validate() throws {
        guard (key.name == nil) != (key.keyID == nil) else { throw KeyArgument.missing }
    }

    func run() throws { try output.write(key.find().verifiedPublicKey()) }
}
