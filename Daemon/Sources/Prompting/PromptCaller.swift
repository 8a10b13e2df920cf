public import ExactNames
public import PromptProtocol
public import UnixSocket

/// The process that the question is for, as the daemon identified it from the socket.
public struct PromptCaller: Sendable {
    public let processID: Int32
    /// The process itself, even if another one gets its id later; nil when it has ended.
    public let process: ProcessHandle?
    public let userID: UInt32
    /// The user's id in the store; nil for the daemon itself.
    public let owner: OwnerID?
    /// The program's path or other name, as found by the daemon.
    public let program: ExactName
    /// The application id of the program's registration; nil without a valid registration.
    public let application: String?
    /// The terminal that the caller passed, unchecked; nil when it passed none.
    public let terminal: SharedDescriptor?
    /// The terminfo name of the terminal, according to the caller.
    public let terminalType: TerminalType

    /// The program for which waiting questions and cooldowns are counted.
    public var asker: ProgramOfOwner { ProgramOfOwner(owner: owner, program: program) }

    public init(
        processID: Int32, process: ProcessHandle?, userID: UInt32, owner: OwnerID? = nil, program: ExactName,
        application: String? = nil, terminal: SharedDescriptor?, terminalType: TerminalType = .vt100
    ) {
        self.processID = processID
        self.process = process
        self.userID = userID
        self.owner = owner
        self.program = program
        self.application = application
        self.terminal = terminal
        self.terminalType = terminalType
    }
}
