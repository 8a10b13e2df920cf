import ArgumentParser
import OstiaryClient

struct ApplicationRegister: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "register",
        abstract: "Give a program an application id and access groups.",
        discussion: """
            New items go to the first group, or without any group to one of the application's own. To say something \
            else of a program, remove its registration first.

            What the program stored before stays under its path, where it no longer sees it; the prompt and the output \
            say how much that is. Removing the registration shows it again.

            Example:
              ostiary app register ~/bin/mail --id com.example.mail --group com.example.shared
            """)

    @OptionGroup var path: ProgramPath

    @Option(name: .customLong("id"), help: ArgumentHelp("The application's id.", valueName: "id"), transform: Self.checked)
    var applicationID: String

    @Option(
        name: .customLong("group"), help: ArgumentHelp("An access group; may be given several times.", valueName: "group"),
        transform: Self.checked)
    var groups: [String] = []

    @OptionGroup var json: JSONFlag

    func run() throws {
        let registered = try OstiaryClient.shared.registerApplication(
            path: path.resolved(), applicationID: applicationID, accessGroups: groups,
            interaction: Interaction(reason: "register \(applicationID) and what it may share"))
        try ApplicationListDocument([registered]).announce("Registered", asJSON: json.isGiven)
    }

    /// What cannot be a name is wrong usage; whether it may be taken is the daemon's to say.
    static func checked(_ text: String) throws -> String {
        guard text.wholeMatch(of: /[A-Za-z0-9][A-Za-z0-9._-]{0,127}/) != nil else {
            throw ValidationError(
                "An id or group has 1 to 128 letters, digits, '.', '-' and '_', and begins with a letter or digit.")
        }
        guard !text.hasPrefix("com.apple.") else {
            throw ValidationError("Names that begin with com.apple. are Apple's.")
        }
        return text
    }
}
