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
