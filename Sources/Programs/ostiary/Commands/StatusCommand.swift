import ArgumentParser
import OstiaryClient

struct StatusCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Show the state of the daemon: passcode, locks, factors.",
        discussion: """
            Example:
              ostiary status
            """)

    @OptionGroup var json: JSONFlag

    func run() throws {
        let document = StatusDocument(try OstiaryClient.shared.status())
        if json.isGiven { return try JSONOutput.print(document) }
        try StandardOutput.line(document.text)
    }
}
