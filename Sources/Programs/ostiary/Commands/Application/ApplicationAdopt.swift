import ArgumentParser
import OstiaryClient

struct ApplicationAdopt: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "adopt",
        abstract: "Say that a registered program which was rebuilt or upgraded is still the same.",
        discussion: """
            A copied or replaced file is a different program until then and sees nothing of the registered one.

            Example:
              ostiary app adopt ~/bin/mail
            """)

    @OptionGroup var path: ProgramPath
    @OptionGroup var json: JSONFlag

    func run() throws {
        let path = try path.resolved()
        let adopted = try OstiaryClient.shared.adoptApplication(
            path: path, interaction: Interaction(reason: "trust the changed program \(path)"))
        try ApplicationListDocument([adopted]).announce("Adopted", asJSON: json.isGiven)
    }
}
