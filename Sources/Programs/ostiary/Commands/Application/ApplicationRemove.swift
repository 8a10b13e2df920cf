import ArgumentParser
import OstiaryClient

struct ApplicationRemove: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove",
        abstract: "Take a registration back.",
        discussion: """
            The items stay; they are seen again when a program is registered with the id or group.

            Example:
              ostiary app remove com.example.mail
            """)

    @Argument(help: "The application's id.", transform: ApplicationRegister.checked) var applicationID: String

    func run() throws {
        try OstiaryClient.shared.removeApplication(
            id: applicationID, interaction: Interaction(reason: "remove the registration of \(applicationID)"))
        StandardError.line("Removed the registration of \(applicationID).".visibleLine)
    }
}
