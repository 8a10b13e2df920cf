import OstiaryClient

/// A registered program in `app list --json`.
struct ApplicationDocument: Encodable {
    let path: String
    let id: String
    let accessGroups: [String]
    let label: String
    let changed: Bool
    let ofSystem: Bool

    init(_ application: RegisteredApplication) {
        path = application.path
        id = application.applicationID
        accessGroups = application.accessGroups
        label = application.label
        changed = application.isChanged
        ofSystem = application.isOfSystem
    }
}

/// `app list --json`, and the table for people.
struct ApplicationListDocument: Encodable {
    let applications: [ApplicationDocument]

    init(_ applications: [RegisteredApplication]) { self.applications = applications.map(ApplicationDocument.init) }

    func text() -> String {
        var table = TextTable(header: ["ID", "PROGRAM", "GROUPS", "IDENTITY", "STATE"])
        for application in applications {
            let state = application.changed ? "changed: ostiary app adopt" : application.ofSystem ? "of the system" : ""
            table.append(
                application.id, application.path, application.accessGroups.joined(separator: " "), application.label, state)
        }
        return table.text
    }

    /// Says what was done, as a result for programs or as a notice for people.
    func announce(_ what: String, asJSON: Bool) throws {
        if asJSON { return try JSONOutput.print(self) }
        for application in applications {
            StandardError.line("\(what) \(application.path) as \(application.id) (\(application.label)).".visibleLine)
        }
    }
}
