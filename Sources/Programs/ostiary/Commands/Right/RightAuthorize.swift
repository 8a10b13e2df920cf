import ArgumentParser
import OstiaryClient

struct RightAuthorize: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "authorize",
        abstract: "Prove what a right requires, and show what was proved.",
        discussion: """
            The authorization belongs to this command and ends with it: it lets no other command use the right. The exit \
            status answers for scripts.

            Example:
              ostiary right authorize 2fa --reason "start the nightly backup"
            """)

    @OptionGroup var right: RightArgument
    @OptionGroup var reason: ReasonOption

    func run() throws {
        let authorized = try AuthorizedRight(
            right.find(), interaction: reason.interaction(otherwise: "check that you may use the right"))
        let grant = authorized.grant
        let proof = AuthorizedRight.proof(factors: grant.factors, strength: grant.strength)
        try StandardOutput.line("Authorized: \(proof)".visibleLine)
        StandardError.line("The authorization ended with this command.")
    }
}
