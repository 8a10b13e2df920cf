import ArgumentParser
import OstiaryClient

struct RightList: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the rights that this command made, those of an access group, or all of yours.",
        discussion: """
            Examples:
              ostiary right list --all
              ostiary right list 'deploy-*'
              ostiary right list --group org.example.deploy
            """)

    @Argument(help: "Only rights of this name; * stands for any text.", completion: RightArgument.completion)
    var name: TextPattern?

    @Flag(help: "Also list the rights that other programs made.")
    var all = false

    @OptionGroup var group: RightGroupOption

    @OptionGroup var json: JSONFlag

    func validate() throws {
        guard !all || group.given == nil else {
            throw ValidationError("--all shows the rights of all groups; leave --group out.")
        }
    }

    func run() throws {
        let rights = try OstiaryClient.shared.rights(ofAllApplications: all, accessGroup: group.given)
        let document = RightListDocument(rights.filter(isWanted))
        if json.isGiven { return try JSONOutput.print(document) }
        let text = document.text(showsApplications: all)
        guard !text.isEmpty else {
            return StandardError.line(name == nil ? "There are no rights." : "There are no such rights.")
        }
        try StandardOutput.line(text)
    }

    /// A row that cannot be read has no name.
    private func isWanted(_ right: ListedRight) -> Bool {
        guard let name else { return true }
        guard case .intact(let right) = right else { return false }
        return name.matches(right.identifier)
    }
}

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
