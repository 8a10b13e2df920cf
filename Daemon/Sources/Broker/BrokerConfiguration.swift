public import Prompting

/// Where the daemon keeps its state and how it asks people.
public struct BrokerConfiguration: Sendable {
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
        stateDirectory: String, promptProgram: String, prompts: PromptConfiguration, version: String,
        applicationsDirectory: String = Self.systemApplicationsDirectory, adoptedUserName: String? = nil
    ) {
        self.applicationsDirectory = applicationsDirectory
        self.stateDirectory = stateDirectory
        self.promptProgram = promptProgram
        self.prompts = prompts
        self.version = version
        self.adoptedUserName = adoptedUserName
    }
}
