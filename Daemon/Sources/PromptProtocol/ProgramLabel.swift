/// How far the name of a calling program can be trusted. The daemon chooses the first one that fits.
public enum ProgramLabel: String, Codable, CaseIterable, Sendable {
    /// It has a group that nothing else has: the kernel gave it the group, and keeps the user's other programs out of it.
    case setgid
    /// It runs in a unit of the machine. Such a unit may run programs of the user, as cron does.
    case systemUnit = "system unit"
    /// It runs the file that was registered.
    case registered
    /// It runs in namespaces of the user's own.
    case sandbox
    /// Another program of the user can inject code into it, or be executed under its path.
    case advisory

    /// The label with its meaning, for a person. `ostiary status` has the same words.
    public var words: String {
        switch self {
        case .setgid: "setgid: none of your other programs can act as it"
        case .systemUnit: "system unit: a service of the machine started it"
        case .registered: "registered: another program of yours could act as it"
        case .sandbox: "sandbox: it runs in a container of yours"
        case .advisory: "advisory: another program of yours could imitate it"
        }
    }
}
