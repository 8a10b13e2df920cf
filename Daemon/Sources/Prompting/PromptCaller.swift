public import PromptProtocol
public import UnixSocket

/// The process on whose behalf is asked, as the daemon identified it from the socket.
public struct PromptCaller: Sendable {
    public let processID: Int32
    /// Field 22 of `/proc/PID/stat`, in clock ticks since boot: tells this process from a later one with the same id.
    public let startTime: UInt64
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
        processID: Int32, startTime: UInt64, userID: UInt32, program: String, application: String? = nil,
        terminal: SharedDescriptor?, terminalType: TerminalType = .vt100
    ) {
        self.processID = processID
        self.startTime = startTime
        self.userID = userID
        self.program = program
        self.application = application
        self.terminal = terminal
        self.terminalType = terminalType
    }
}
