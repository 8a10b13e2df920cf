public import Prompting

/// Where the daemon keeps its state and how it asks people.
public struct BrokerConfiguration: Sendable {
    /// The user whom the daemon runs as and serves; the state folder and all in it must belong to them.
    public let user: SystemUser
    /// Folder with mode 0700 that holds the device secret, the store and the audit log.
    public let stateDirectory: String
    /// Absolute path of `ostiary-prompt`.
    public let promptProgram: String
    public let prompts: PromptConfiguration
    public let version: String
    /// Folder of the administrator's registrations of programs.
    public let applicationsDirectory: String
    /// Where the administrator registers programs for all users.
    public static let systemApplicationsDirectory = "/etc/ostiary/apps.d"
    /// The name under which the store knows its user from before they were renamed; nil when nothing is to be taken over.
    public let adoptedUserName: String?

    public init(
        user: SystemUser, stateDirectory: String, promptProgram: String, prompts: PromptConfiguration,
        version: String,
        applicationsDirectory: String = Self.systemApplicationsDirectory, adoptedUserName: String? = nil
    ) {
        self.user = user
        self.applicationsDirectory = applicationsDirectory
        self.stateDirectory = stateDirectory
        self.promptProgram = promptProgram
        self.prompts = prompts
        self.version = version
        self.adoptedUserName = adoptedUserName
    }
}
