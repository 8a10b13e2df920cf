import ArgumentParser
import OstiaryClient

struct ApplicationAdopt: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "adopt",
        abstract: "Confirm that a rebuilt or upgraded program is still the registered one.",
        discussion: """
            A copied or replaced file counts as a different program and sees nothing of the registered one until you \
            adopt it. With --id the registration moves to a file at another path.

            Examples:
              ostiary app adopt ~/bin/mail
              ostiary app adopt ~/.local/bin/mail --id com.example.mail
            """)

    @OptionGroup var path: ProgramPath

    @Option(
        name: .customLong("id"), help: ArgumentHelp("The application that this file belongs to now.", valueName: "id"),
        transform: ApplicationRegister.checked)
    var applicationID: String?

    @OptionGroup var reason: ReasonOption
    @OptionGroup var json: JSONFlag

    func run() throws {
        let path = try path.resolved()
        let adopted = try OstiaryClient.shared.adoptApplication(
            path: path, applicationID: applicationID,
            interaction: reason.interaction(otherwise: "trust the changed program \(path)"))
        try ApplicationListDocument([adopted]).announce("Adopted", asJSON: json.isGiven)
    }
}
