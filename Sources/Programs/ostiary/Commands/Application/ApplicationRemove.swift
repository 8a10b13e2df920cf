import ArgumentParser
import OstiaryClient

struct ApplicationRemove: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove",
        abstract: "Remove a registration.",
        discussion: """
            The items stay. A program that is registered with the same id or group sees them again.

            Example:
              ostiary app remove com.example.mail
            """)

    @Argument(help: "The application's id.", transform: ApplicationRegister.checked) var applicationID: String

    @OptionGroup var reason: ReasonOption
    @OptionGroup var json: JSONFlag

    func run() throws {
        try OstiaryClient.shared.removeApplication(
            id: applicationID, interaction: reason.interaction(otherwise: "remove the registration of \(applicationID)")
        )
        try json.announce("Removed the registration of \(applicationID).", ["removed": applicationID])
    }
}
