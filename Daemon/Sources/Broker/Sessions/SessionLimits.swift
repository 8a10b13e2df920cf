/// Every limit on what a caller can make the daemon hold or do, with its reason. The limits of a frame are `WireLimits`.
enum SessionLimits {
    /// Connections at once. Each costs a thread and about 20 kB; a desktop session has some dozens of programs.
    static let connectionCount = 256
    /// Connections of one process, so that a program that opens more and more does not shut out the others.
    static let connectionCountOfProcess = 64
    /// Requests of one connection that wait for a person or a slow part.
    static let slowRequestCount = 16
    /// Such requests of one program, so that it leaves places to the others: all watches of its environment, which ask
    /// again together when one thing changes, and those of one connection besides.
    static let slowRequestCountOfProgram = EnvironmentWatches.programLimit + slowRequestCount
    /// Such requests of all connections. Each holds up to three descriptors, and a process has 1,024 as a rule, of which the
    /// connections may take half: a program that lets many requests wait must not keep the daemon from accepting or
    /// asking.
    static let slowRequestTotal = 128
    /// Requests of one connection that only read, but much. One more is answered by the connection's own thread: none is refused.
    /// Each holds one descriptor at most, the terminal; one that must ask takes the place of a slow request.
    static let readingCount = 8
    static let readingCountOfProgram = 16
    static let readingTotal = 64
    /// Body of a frame before the greeting is answered; a hello has some 30 bytes.
    static let greetingByteCount = 4096
    /// Time to greet, in seconds.
    static let handshakeSeconds = 5
    /// Time for the caller to take an answer off the socket, in seconds.
    static let sendSeconds = 10
    /// Time for all sessions to end when the daemon does, in seconds: a prompt has one to restore its terminal, and checking
    /// a passcode takes less.
    static let endSeconds = 3
    /// Keys of one connection that wait for their item, each a few kB: as many as a program can be making at once.
    static let draftKeyCount = slowRequestCount
    /// An access control as a program shows it again.
    static let shownAccessControlByteCount = 4096
}
