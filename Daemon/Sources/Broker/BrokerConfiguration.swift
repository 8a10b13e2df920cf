public import Prompting

/// Where the daemon keeps its state and how it asks people.
public struct BrokerConfiguration: Sendable {
    /// Folder with mode 0700 that holds the device secret, the store and the audit log.
    public let stateDirectory: String
    /// Absolute path of `ostiary-prompt`.
    public let promptProgram: String
    public let prompts: PromptConfiguration
    public let version: String

    public init(stateDirectory: String, promptProgram: String, prompts: PromptConfiguration, version: String) {
        self.stateDirectory = stateDirectory
        self.promptProgram = promptProgram
        self.prompts = prompts
        self.version = version
    }
}
