import ArgumentParser
import OstiaryClient

struct RightSecret: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "secret",
        abstract: "Write the secret of a right, byte for byte as it was stored.",
        discussion: """
            A file that --output names is readable by you alone (mode 0600).

            Example:
              ostiary right secret token | wl-copy
            """)

    @OptionGroup var right: RightArgument
    @OptionGroup var result: ResultOutput
    @OptionGroup var reason: ReasonOption

    func run() throws {
        let destination = try result.usable(for: .secret)
        let authorized = try AuthorizedRight(
            right.find(), interaction: reason.interaction(otherwise: "read the secret"))
        try destination.write(try authorized.context.secret(ofRight: authorized.right.id), key: "secret")
    }
}

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
