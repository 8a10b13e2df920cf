import ArgumentParser
import OstiaryClient

struct ApplicationAdopt: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "adopt",
        abstract: "Say that a registered program which was rebuilt or upgraded is still the same.",
        discussion: """
            A copied or replaced file is a different program until then and sees nothing of the registered one. With \
            --id the registration moves to a file at another path.

            Examples:
              ostiary app adopt ~/bin/mail
              ostiary app adopt ~/.local/bin/mail --id com.example.mail
            """)

    @OptionGroup var path: ProgramPath

    @Option(
        name: .customLong("id"), help: ArgumentHelp("The application whose program lies here now.", valueName: "id"),
        transform: ApplicationRegister.checked)
    var applicationID: String?

    @OptionGroup var json: JSONFlag

    func run() throws {
        let path = try path.resolved()
        let adopted = try OstiaryClient.shared.adoptApplication(
            path: path, applicationID: applicationID,
            interaction: Interaction(reason: "trust the changed program \(path)"))
        try ApplicationListDocument([adopted]).announce("Adopted", asJSON: json.isGiven)
    }
}
