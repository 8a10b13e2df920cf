import OstiaryClient

/// A registered program in `app list --json`, and what `app register` and `app adopt` did.
struct ApplicationDocument: Encodable {
    let path: String
    let id: String
    /// In order. The id is always one of them.
    let accessGroups: [String]
    let webCredentials: [String]
    let browser: Bool
    let door: Bool
    let label: String
    let changed: Bool
    let unverified: Bool
    let ofSystem: Bool
    /// Absent when nothing stayed behind, and in lists.
    let leftBehind: LeftBehindDocument?

    init(_ application: RegisteredApplication) {
        path = application.path
        id = application.applicationID
        accessGroups =
            application.accessGroups
            + (application.accessGroups.contains(application.applicationID) ? [] : [application.applicationID])
        webCredentials = application.webCredentials
        browser = application.isBrowser
        door = application.isDoor
        label = application.label
        changed = application.isChanged
        unverified = application.isUnverified
        ofSystem = application.isOfSystem
        leftBehind = application.leftBehind.map(LeftBehindDocument.init)
    }
}

extension ApplicationDocument {
    /// The state of the registration in a word or two; empty where there is nothing to say.
    fileprivate var state: String {
        if changed { return "changed: ostiary app adopt" }
        if unverified { return "cannot be read" }
        return [door ? "door" : "", ofSystem ? "of the system" : ""].filter { !$0.isEmpty }.joined(separator: ", ")
    }
}

/// The numbers of objects that a program stored under its path before it was registered.
struct LeftBehindDocument: Encodable {
    let items: Int
    let rights: Int
    let keys: Int

    init(_ leftBehind: RegisteredApplication.LeftBehind) {
        items = leftBehind.items
        rights = leftBehind.rights
        keys = leftBehind.keys
    }

    /// The numbers in a sentence for people.
    func notice(_ application: ApplicationDocument) -> String {
        let what = [(items, "keychain item"), (rights, "right"), (keys, "enclave key")].filter { $0.0 > 0 }
            .map { "\($0.0) \($0.1)\($0.0 == 1 ? "" : "s")" }.joined(separator: ", ")
        return "The program no longer sees what it stored under its path: \(what). These stay. The program sees them "
            + "again after `ostiary app remove \(application.id.escapedName)`."
    }
}

/// `app list --json`, and the table for people.
struct ApplicationListDocument: Encodable {
    let applications: [ApplicationDocument]

    init(_ applications: [RegisteredApplication]) { self.applications = applications.map(ApplicationDocument.init) }

    func text() -> String {
        var table = TextTable(header: ["ID", "PROGRAM", "GROUPS", "DOMAINS", "IDENTITY", "STATE"])
        for application in applications {
            table.append(
                application.id, application.path, application.accessGroups.joined(separator: " "),
                application.browser ? "any" : application.webCredentials.joined(separator: " "), application.label,
                application.state)
        }
        let notes = Set(applications.map(\.label)).sorted().map { (label: $0, note: IdentityLabel.explained($0)) }
            .filter { $0.label != $0.note }.map(\.note)
        return ([table.text] + notes).joined(separator: "\n")
    }

    /// Reports the change, as a result for programs or as a notice for people.
    func announce(_ what: String, asJSON: Bool) throws {
        if asJSON { return try JSONOutput.print(self) }
        for application in applications {
            let identity = IdentityLabel.explained(application.label)
            StandardError.line(
                "\(what) \(application.path.visibleName) as \(application.id.visibleName) (\(identity.visibleLine)).")
            if let leftBehind = application.leftBehind {
                StandardError.line(leftBehind.notice(application))
            }
        }
    }
}

/// Words for how well the daemon can tell a program from others.
enum IdentityLabel {
    /// The daemon's label and its meaning, or the label alone if this command does not know it.
    static func explained(_ label: String) -> String {
        switch label {
        case "setgid": "setgid: none of your other programs can act as it"
        case "system unit": "system unit: a service of the machine started it"
        case "registered": "registered: another program of yours could act as it"
        case "sandbox": "sandbox: it runs in a container of yours"
        case "advisory": "advisory: another program of yours could imitate it"
        default: label
        }
    }
}
