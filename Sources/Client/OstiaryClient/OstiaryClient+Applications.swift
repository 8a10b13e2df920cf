import OstiaryMessages

/// A program that is known by more than its path, and the access groups it may use.
public struct RegisteredApplication: Sendable, Equatable {
    public let path: String
    /// For example `com.example.app`.
    public let applicationID: String
    /// In order; the first is where items without a group go.
    public let accessGroups: [String]
    /// The domains whose credentials the program may make and use.
    public let webCredentials: [String]
    /// Whether the program may have this machine answer for any relying party, as browsers do.
    public let isBrowser: Bool
    /// Whether the program may make requests for its clients.
    public let isDoor: Bool
    /// How far the registration can be trusted, for example `advisory`.
    public let label: String
    /// The file is no longer the one that was registered.
    public let isChanged: Bool
    /// Whether its file cannot be compared with the registered one: it is unreadable, or changes while it is read.
    public let isUnverified: Bool
    /// From the machine's own folder, not from the user.
    public let isOfSystem: Bool
    /// The objects that stayed under the program's path when it was registered there. Nil if there were none, and in
    /// lists.
    public let leftBehind: LeftBehind?

    /// The numbers of objects that a program stored before it was registered, and no longer sees.
    public struct LeftBehind: Sendable, Equatable {
        public let items: Int
        public let rights: Int
        /// Enclave keys that are no item.
        public let keys: Int

        public init(items: Int, rights: Int, keys: Int) {
            self.items = items
            self.rights = rights
            self.keys = keys
        }
    }

    public init(
        path: String, applicationID: String, accessGroups: [String], webCredentials: [String] = [],
        isBrowser: Bool = false, isDoor: Bool = false, label: String, isChanged: Bool, isUnverified: Bool = false,
        isOfSystem: Bool, leftBehind: LeftBehind? = nil
    ) {
        self.webCredentials = webCredentials
        self.isBrowser = isBrowser
        self.isDoor = isDoor
        self.leftBehind = leftBehind
        self.path = path
        self.applicationID = applicationID
        self.accessGroups = accessGroups
        self.label = label
        self.isChanged = isChanged
        self.isUnverified = isUnverified
        self.isOfSystem = isOfSystem
    }
}

extension OstiaryClient {
    /// Gives the program at `path` an application id and access groups, and lets it use the credentials of domains, or of any
    /// relying party as a browser, or make requests for its clients as a door. The owner is asked.
    public func registerApplication(
        path: String, applicationID: String, accessGroups: [String], webCredentials: [String] = [],
        isBrowser: Bool = false, isDoor: Bool = false, interaction: Interaction
    ) throws -> RegisteredApplication {
        try change(interaction) {
            $0.path = path
            $0.applicationID = applicationID
            $0.accessGroups = accessGroups
            $0.webCredentials = webCredentials
            $0.isBrowser = isBrowser
            $0.isDoor = isDoor
        }
    }

    /// Registers several programs with one question to the owner. The descriptions are those of ``RegisteredApplication``, of which
    /// path, id, groups and `isDoor` count.
    ///
    /// - Throws: `duplicate` when one of them is registered already; then none is registered. `versionMismatch` from a daemon that
    ///   registers one at a time.
    package func registerApplications(
        _ programs: [RegisteredApplication], interaction: Interaction
    ) throws -> [RegisteredApplication] {
        guard let first = programs.first else { return [] }
        return try changed(interaction) {
            ($0.path, $0.applicationID) = (first.path, first.applicationID)
            ($0.accessGroups, $0.isDoor) = (first.accessGroups, first.isDoor)
            $0.others = programs.dropFirst().map { program in
                .with {
                    ($0.path, $0.applicationID) = (program.path, program.applicationID)
                    ($0.accessGroups, $0.isDoor) = (program.accessGroups, program.isDoor)
                }
            }
        }
    }

    /// Says that the registered program at `path`, which was rebuilt or upgraded, is still the same one; or with
    /// `applicationID`, that the program of this application lies at `path` now. The owner is asked.
    public func adoptApplication(
        path: String, applicationID: String? = nil, interaction: Interaction
    ) throws -> RegisteredApplication {
        try change(interaction) {
            $0.path = path
            $0.applicationID = applicationID ?? ""
            $0.adopts = true
        }
    }

    /// The registered programs of this user and of the machine.
    public func applications() throws -> [RegisteredApplication] {
        var applications: [RegisteredApplication] = []
        while true {
            let request = WireListApplicationsRequest.with { $0.offset = UInt32(clamping: applications.count) }
            guard case .applications(let page) = try call(.listApplications(request)).body else {
                throw Self.unexpected()
            }
            applications += page.applications.map(RegisteredApplication.init)
            if page.applications.isEmpty || applications.count >= Int(page.total) { return applications }
        }
    }

    /// Takes a registration back; the items stay, unseen, until the program is registered again. The owner is asked.
    public func removeApplication(id: String, interaction: Interaction) throws {
        let request = WireRemoveApplicationRequest.with {
            $0.applicationID = id
            $0.question = interaction.question
        }
        _ = try call(.removeApplication(request), terminal: interaction.terminal)
    }

    private func change(
        _ interaction: Interaction, _ fill: (inout WireRegisterApplicationRequest) -> Void
    ) throws -> RegisteredApplication {
        guard let application = try changed(interaction, fill).first else { throw Self.unexpected() }
        return application
    }

    private func changed(
        _ interaction: Interaction, _ fill: (inout WireRegisterApplicationRequest) -> Void
    ) throws -> [RegisteredApplication] {
        var request = WireRegisterApplicationRequest.with { $0.question = interaction.question }
        fill(&request)
        let answer = try call(
            .registerApplication(request), terminal: interaction.terminal,
            file: DaemonConnection.file(at: request.path))
        guard case .applications(let list) = answer.body else { throw Self.unexpected() }
        return list.applications.map(RegisteredApplication.init)
    }
}

extension RegisteredApplication {
    init(_ application: WireApplication) {
        self.init(
            path: application.path, applicationID: application.applicationID, accessGroups: application.accessGroups,
            webCredentials: application.webCredentials, isBrowser: application.isBrowser, isDoor: application.isDoor,
            label: application.label, isChanged: application.changed, isUnverified: application.unverified,
            isOfSystem: application.ofSystem,
            leftBehind: application.leftBehind.map(LeftBehind.init))
    }
}

extension RegisteredApplication.LeftBehind {
    init(_ message: WireLeftBehind) {
        self.init(items: Int(message.items), rights: Int(message.rights), keys: Int(message.keys))
    }
}
