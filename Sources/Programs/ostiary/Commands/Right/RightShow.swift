import ArgumentParser
import OstiaryClient

struct RightShow: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Show a right: its rule for each operation, and the enclave that holds its key.",
        discussion: """
            Example:
              ostiary right show 2fa
            """)

    @OptionGroup var right: RightArgument
    @OptionGroup var json: JSONFlag

    func run() throws {
        let document = RightDocument(try right.find())
        if json.isGiven { return try JSONOutput.print(document) }
        try StandardOutput.line(document.text())
    }
}
