import ArgumentParser
import OstiaryClient

struct RightAuthorize: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "authorize",
        abstract: "Prove what a right requires, and show what was proved.",
        discussion: """
            The authorization ends with this command, and no other command can use the right through it. Scripts can \
            use the exit status.

            Example:
              ostiary right authorize 2fa --reason "start the nightly backup"
            """)

    @OptionGroup var right: RightArgument
    @OptionGroup var reason: ReasonOption
    @OptionGroup var json: JSONFlag

    func run() throws {
        let authorized = try AuthorizedRight(
            right.find(), interaction: reason.interaction(otherwise: "check that you may use the right"))
        let document = AuthorizationDocument(authorized.grant)
        if json.isGiven { return try JSONOutput.print(document) }
        try StandardOutput.line(document.text)
        StandardError.line("The authorization ended with this command.")
    }
}
