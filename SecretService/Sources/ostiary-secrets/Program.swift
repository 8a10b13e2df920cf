import ArgumentParser
import SecretCommands
import SecretItems

/// `ostiary-secrets`: the Secret Service on the session's bus, with secrets that Ostiary keeps.
@main
struct Program: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: SecretsProgram.name, abstract: "Keep the passwords of desktop programs (org.freedesktop.secrets).",
        discussion: """
            The bus starts it when a program asks for a password. It serves until the session's bus ends.

            Exit status: 0 done, 1 failed, 64 wrong usage. The other commands are those of `ostiary secrets`.
            """,
        subcommands: [Serve.self] + OwnerCommands.all, defaultSubcommand: Serve.self)

    static func main() {
        SecretsProgram.begin()
        main(nil)
    }
}
