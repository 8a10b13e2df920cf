import ArgumentParser
import OstiaryClient

struct ApplicationList: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the registered programs and their access groups.",
        discussion: """
            Example:
              ostiary app list
            """)

    @OptionGroup var json: JSONFlag

    func run() throws {
        let document = ApplicationListDocument(try OstiaryClient.shared.applications())
        if json.isGiven { return try JSONOutput.print(document) }
        guard !document.applications.isEmpty else { return StandardError.line("No program is registered.") }
        try StandardOutput.line(document.text())
    }
}
