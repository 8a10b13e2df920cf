import DoorSupport
import OstiaryClient

/// `doors list --json`, and the table for people.
struct DoorListDocument: Encodable {
    let doors: [DoorDocument]

    /// - Parameter sockets: the folder of the doors' sockets.
    init(_ installed: [InstalledDoor], _ applications: [RegisteredApplication], sockets: String) {
        doors = installed.map { door in
            DoorDocument(
                door, applications.first { $0.applicationID == door.program.applicationID }, sockets: sockets)
        }
    }

    /// Whether a registered door cannot work.
    var hasProblem: Bool { doors.contains { $0.registered && !$0.problems.isEmpty } }

    func text() -> String {
        var table = TextTable(header: ["DOOR", "PROGRAM", "GROUPS", "SOCKET", "STATE"])
        for door in doors {
            table.append(
                door.name, door.path ?? "-", door.accessGroups.joined(separator: " "), door.socket ?? "-", door.state)
        }
        let problems = doors.flatMap { door in door.problems.map { "\(door.name): \($0)" } }
        return ([table.text] + problems.map(\.visibleLine)).joined(separator: "\n")
    }

    /// What the doctor says of doors; nil where none is registered.
    var finding: FindingDocument? {
        let registered = doors.filter(\.registered)
        guard registered.contains(where: { $0.door }) else { return nil }
        let problems = registered.flatMap { door in door.problems.map { "\(door.name): \($0)" } }
        guard problems.isEmpty else {
            return FindingDocument(
                check: "doors", verdict: .problem, message: problems.joined(separator: " "),
                advice: "`ostiary doors` shows all of them.")
        }
        let names = registered.filter(\.door).map(\.name).joined(separator: ", ")
        return FindingDocument(check: "doors", verdict: .ok, message: "Registered are \(names).", advice: "")
    }
}

/// One door, or this command, which shares their group.
struct DoorDocument: Encodable {
    let name: String
    /// Nil where the program is not installed.
    let path: String?
    let id: String
    let door: Bool
    let registered: Bool
    let ofSystem: Bool
    /// Those of the registration; empty without one.
    let accessGroups: [String]
    /// Nil for a program that serves none.
    let socket: String?
    let socketState: DoorSocket?
    /// What is wrong, each with what to do.
    let problems: [String]

    init(_ installed: InstalledDoor, _ application: RegisteredApplication?, sockets: String) {
        let program = installed.program
        (name, path, id, door) = (program.name, installed.path, program.applicationID, program.isDoor)
        registered = application != nil
        ofSystem = application?.isOfSystem ?? false
        accessGroups = application?.accessGroups ?? []
        let socket = program.socket.map { "\(sockets)/\($0).sock" }
        let state = socket.map(DoorSocket.init(at:))
        (self.socket, socketState) = (socket, state)
        problems = Self.problems(of: installed, application) + Self.problems(of: state, at: socket ?? "")
    }

    fileprivate var state: String {
        guard path != nil else { return "not installed" }
        guard registered else { return "not registered" }
        guard problems.isEmpty else { return "see below" }
        return ofSystem ? "registered for all users" : "registered"
    }

    private static func problems(of installed: InstalledDoor, _ application: RegisteredApplication?) -> [String] {
        guard let path = installed.path else {
            return application == nil
                ? [] : ["It is registered and not installed. Install it, or run `ostiary app remove`."]
        }
        guard let application else { return ["It is not registered. Run `ostiary doors register`."] }
        var problems: [String] = []
        if application.path != path {
            problems.append(
                "The registration is of \(application.path). Run `ostiary app adopt \(path) --id \(application.applicationID)`."
            )
        } else if application.isChanged {
            problems.append("The file is not the registered one. Run `ostiary app adopt \(path)`.")
        } else if application.isUnverified {
            problems.append("The file cannot be compared with the registered one. Let yourself read it.")
        }
        if installed.program.isDoor, !application.isDoor {
            problems.append(
                "It is registered, but not as a door. Remove the registration and run `ostiary doors register`.")
        }
        if !application.accessGroups.contains(DoorProgram.accessGroup) {
            problems.append(
                "It is not in the group \(DoorProgram.accessGroup). Remove the registration and run `ostiary doors register`."
            )
        }
        return problems + installed.links.compactMap { problem(of: $0, to: path) }
    }

    private static func problem(of link: (name: String, target: String?), to path: String) -> String? {
        guard let target = link.target else {
            return "\(link.name) is missing. Link it to \(path) in a folder of PATH."
        }
        return target == path ? nil : "\(link.name) leads to \(target). Link it to \(path)."
    }

    private static func problems(of state: DoorSocket?, at path: String) -> [String] {
        state == .foreign ? ["\(path) is no socket of yours. Look at it, and remove it."] : []
    }
}
