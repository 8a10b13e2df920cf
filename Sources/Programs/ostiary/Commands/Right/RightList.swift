import ArgumentParser
import OstiaryClient

struct RightList: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the rights that this command made, or all of yours.",
        discussion: """
            Example:
              ostiary right list --all
            """)

    @Flag(help: "Also list the rights that other programs made.")
    var all = false

    @OptionGroup var json: JSONFlag

    func run() throws {
        let document = RightListDocument(try OstiaryClient.shared.rights(ofAllApplications: all))
        if json.isGiven { return try JSONOutput.print(document) }
        let text = document.text(showsApplications: all)
        guard !text.isEmpty else { return StandardError.line("There are no rights.") }
        try StandardOutput.line(text)
    }
}
