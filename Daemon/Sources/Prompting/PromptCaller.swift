public import ExactNames
public import ProcessFacts
public import PromptProtocol
public import UnixSocket

/// The program that asks for another one.
public struct PromptDoor: Sendable {
    /// Its path.
    public let program: ExactName
    /// Its name for the process that it asks for; nobody checks the name. May be empty.
    public let label: String

    public init(program: ExactName, label: String = "") { (self.program, self.label) = (program, label) }
}

/// The process that the question is for, as the daemon identified it from the socket.
public struct PromptCaller: Sendable {
    public let processID: Int32
    /// The process itself, even if another one gets its id later; nil when it has ended.
    public let process: (any HeldProcess)?
    public let userID: UInt32
    /// The user's id in the store; nil for the daemon itself.
    public let owner: OwnerID?
    /// The program's path or other name, as found by the daemon.
    public let program: ExactName
    /// The application id of the program's registration; nil without a valid registration.
    public let application: String?
    /// How far the program's name can be trusted; nil where nothing is said of that.
    public let label: ProgramLabel?
    /// The door that asks for the process; nil when it asks itself.
    public let door: PromptDoor?
    /// The terminal that the caller, or its door, passed, unchecked; nil when there is none.
    public let terminal: SharedDescriptor?
    /// The terminfo name of the terminal, according to the caller.
    public let terminalType: TerminalType
    /// Whether sensors wait for it on the terminal of a login alone, and in no dialog, unless the settings let them wait on any terminal: a
    /// program of the person may have begun a sign-in where nobody looks.
    public let needsLoginForSensors: Bool

    /// The program for which waiting questions and cooldowns are counted.
    public var asker: ProgramOfOwner { ProgramOfOwner(owner: owner, program: program) }

    public init(
        processID: Int32, process: (any HeldProcess)?, userID: UInt32, owner: OwnerID? = nil, program: ExactName,
        application: String? = nil, label: ProgramLabel? = nil, door: PromptDoor? = nil, terminal: SharedDescriptor?,
        terminalType: TerminalType = .vt100, needsLoginForSensors: Bool = false
    ) {
        self.processID = processID
        self.process = process
        self.userID = userID
        self.owner = owner
        self.program = program
        self.application = application
        self.label = label
        self.door = door
        self.terminal = terminal
        self.terminalType = terminalType
        self.needsLoginForSensors = needsLoginForSensors
    }
}
