import ArgumentParser
import OstiaryClient

struct ApplicationRegister: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "register",
        abstract: "Give a program an application id and access groups.",
        discussion: """
            New items go to the first group. The id is always a group, at the end. Name it with --group to choose its \
            place. To change a registration, remove it first.

            Items, rights and keys that the program stored before stay under its path, and the program no longer sees \
            them. The prompt and the output say how many there are. The program sees them again when you remove its \
            registration.

            With --webcredentials the program may sign in with security keys and passkeys at that domain, if the \
            domain's file /.well-known/apple-app-site-association names the id under webcredentials.

            With --browser the program may have this machine answer as a security key for any domain. It chooses the \
            domain; each question shows it to you. Register a browser, or the program of `ostiary passkey serve`.

            With --door the program may ask in the name of the programs that it serves, as an agent of ssh does. Each \
            question shows both. It uses its own items, rights and keys, and none of theirs.

            With --setgid root registers the program for all users, and gives its file a group that nothing else has. In \
            system mode none of a user's other programs can then act as this one: the kernel lets none of them change it. It \
            is for programs of the command line and for agents. A program with GTK does not start with such a group, and \
            one that starts other programs passes the group on to them. A user's own daemon refuses such a program.

            Examples:
              ostiary app register ~/bin/mail --id org.example.mail --group org.example
              ostiary app register ~/bin/mail --id mail --webcredentials example.com
              sudo ostiary app register /usr/bin/mail-agent --id org.example.agent --setgid mail-agent
            """)

    @OptionGroup var path: ProgramPath

    @Option(
        name: .customLong("id"), help: ArgumentHelp("The application's id.", valueName: "id"), transform: Self.checked)
    var applicationID: String

    @Option(
        name: .customLong("group"),
        help: ArgumentHelp("An access group; may be given several times.", valueName: "group"),
        transform: Self.checked)
    var groups: [String] = []

    @Option(
        name: .customLong("webcredentials"),
        help: ArgumentHelp(
            "A domain whose credentials the program may make and use; may be given several times.",
            valueName: "domain"))
    var webCredentials: [String] = []

    @Flag(help: "The program is a browser or serves browsers, and may use passkeys of any domain.")
    var browser = false

    @Flag(help: "The program is a door: it asks in the name of the programs that it serves.")
    var door = false

    @Option(
        name: .customLong("setgid"),
        help: ArgumentHelp("A group for this program alone; it is made if there is none.", valueName: "group"))
    var ownGroup: String?

    @OptionGroup var reason: ReasonOption
    @OptionGroup var json: JSONFlag

    func run() throws {
        if let ownGroup { return try registerForMachine(with: ownGroup) }
        let registered = try OstiaryClient.shared.registerApplication(
            path: path.resolved(), applicationID: applicationID, accessGroups: groups,
            webCredentials: webCredentials, isBrowser: browser, isDoor: door,
            interaction: reason.interaction(otherwise: "register \(applicationID) and what it may share"))
        try ApplicationListDocument([registered]).announce("Registered", asJSON: json.isGiven)
    }

    private func registerForMachine(with group: String) throws {
        let path = try path.resolved()
        let lists = [("access-groups", groups), ("webcredentials", webCredentials)].filter { !$0.1.isEmpty }
            .map { (key: $0.0, value: $0.1.joined(separator: ", ")) }
        let flags = [("browser", browser), ("door", door)].filter { $0.1 }.map { (key: $0.0, value: "yes") }
        try OwnGroupRegistration(path: path, group: group, entries: lists + flags, applicationID: applicationID).run()
        let registered = RegisteredApplication(
            path: path, applicationID: applicationID, accessGroups: groups, webCredentials: webCredentials,
            isBrowser: browser, isDoor: door, label: "setgid", isChanged: false, isOfSystem: true)
        try ApplicationListDocument([registered]).announce("Registered", asJSON: json.isGiven)
    }

    /// Refuses text that cannot be a name as wrong usage. The daemon decides whether a name may be taken.
    static func checked(_ text: String) throws -> String {
        guard !text.isEmpty else { throw ValidationError("An id or group is not empty.") }
        guard text.utf8.count <= 128 else { throw ValidationError("An id or group has at most 128 characters.") }
        guard text.wholeMatch(of: /[A-Za-z0-9._-]+/) != nil else {
            throw ValidationError("An id or group has letters, digits, '.', '-' and '_' only.")
        }
        guard text.firstMatch(of: /^[A-Za-z0-9]/) != nil else {
            throw ValidationError("An id or group begins with a letter or digit.")
        }
        guard !text.hasPrefix("com.apple.") else {
            throw ValidationError("Names that begin with com.apple. belong to Apple.")
        }
        return text
    }
}
