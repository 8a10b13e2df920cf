public import PromptProtocol
public import UnixSocket

/// The process on whose behalf is asked, as the daemon identified it from the socket.
public struct PromptCaller: Sendable {
    public let processID: Int32
    /// The process itself, whatever has its id later; nil when it has ended.
    public let process: ProcessHandle?
    public let userID: UInt32
    /// The program's path or other name, as found by the daemon; also what waiting questions and cooldowns are counted for.
    public let program: String
    /// The application id that it was registered under; nil without a registration that counts for it.
    public let application: String?
    /// The terminal that the caller passed, not yet checked; nil when it passed none.
    public let terminal: SharedDescriptor?
    /// The terminfo name that the caller says its terminal has.
    public let terminalType: TerminalType

    public init(
        processID: Int32, process: ProcessHandle?, userID: UInt32, program: String, application: String? = nil,
        terminal: SharedDescriptor?, terminalType: TerminalType = .vt100
    ) {
        self.processID = processID
        self.process = process
        self.userID = userID
        self.program = program
        self.application = application
        self.terminal = terminal
        self.terminalType = terminalType
    }
}
