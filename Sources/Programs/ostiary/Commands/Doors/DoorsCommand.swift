import ArgumentParser
import DoorSupport
import OstiaryClient

struct DoorsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doors",
        abstract: "Show and register the programs through which ssh, git, docker and others use Ostiary.",
        discussion: """
            A door is a program that stands between Ostiary and software that does not know it. Questions and log name the \
            program behind the door. The doors and this command share the access group \(DoorProgram.accessGroup).

            Examples:
              ostiary doors
              ostiary doors register
            """,
        subcommands: [DoorsList.self, DoorsRegister.self], defaultSubcommand: DoorsList.self)
}

struct DoorsList: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the doors, whether they are registered, and what is wrong with them.",
        discussion: """
            The exit status is 1 when a registered door cannot work. One that is not registered does not count.

            Examples:
              ostiary doors list
              ostiary doors list --json
            """)

    @OptionGroup var json: JSONFlag

    func run() throws {
        let document = DoorListDocument(
            DoorProgram.all.map(InstalledDoor.init), try OstiaryClient.shared.applications(),
            sockets: try DoorSocket.folder())
        if json.isGiven { try JSONOutput.print(document) } else { try StandardOutput.line(document.text()) }
        if document.hasProblem { throw NegativeResult() }
    }
}

struct DoorsRegister: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "register",
        abstract: "Register all installed doors, and this command, with one question.",
        discussion: """
            Packages register them for all users of the machine, so this is for doors that `script/install` put there or \
            that you built. Those that are registered already stay as they are.

            Items, rights and keys that this command stored before stay under its path, and it no longer sees them. The \
            question says how many there are. `ostiary app remove org.ostiary.command` brings them back.

            Example:
              ostiary doors register
            """)

    @OptionGroup var reason: ReasonOption
    @OptionGroup var json: JSONFlag

    func run() throws {
        let registered = Set(try OstiaryClient.shared.applications().map(\.applicationID))
        let missing = DoorProgram.all.map(InstalledDoor.init).filter {
            $0.path != nil && !registered.contains($0.program.applicationID)
        }
        guard !missing.isEmpty else {
            return try json.announce("Every installed door is registered already.", ApplicationListDocument([]))
        }
        let added = try OstiaryClient.shared.registerApplications(
            missing.compactMap(\.registration),
            interaction: reason.interaction(otherwise: "let ssh, git, docker and others use Ostiary"))
        try ApplicationListDocument(added).announce("Registered", asJSON: json.isGiven)
    }
}
