import ArgumentParser

struct ApplicationCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "app",
        abstract: "Say which programs are the same application, and what they may share.",
        discussion: """
            A program that is not registered is known by its path and sees only its own items. A registration gives it \
            an id and access groups. Programs with a group in common see each other's items of that group. Every \
            change of a registration asks you.

            Examples:
              ostiary app register ~/bin/mail --id org.example.mail --group org.example
              ostiary app adopt ~/bin/mail
            """,
        subcommands: [
            ApplicationRegister.self, ApplicationAdopt.self, ApplicationList.self, ApplicationRemove.self,
        ])
}
