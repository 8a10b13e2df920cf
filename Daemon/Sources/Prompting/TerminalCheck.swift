public import ProcessFacts
public import Settings
public import UnixSocket

/// Why a terminal that a caller passed is not used.
public enum TerminalRefusal: Error, Equatable, Sendable {
    case forbiddenByPolicy
    /// Not a terminal, or the master side of one, or not open for reading and writing.
    case notATerminal
    /// A terminal, but not the caller's controlling one.
    case notControllingTerminal
    /// No file under `/dev` is this terminal: it belongs to another container or mount, or was opened as `/dev/tty`.
    case unnamed
    /// This process of the user, in another session, has a terminal of the same number, so nobody can tell which one is the
    /// caller's.
    case ambiguous(process: Int32)
    /// The running processes could not be gone through, or not in time, so nobody can tell whether another one has a terminal of the same
    /// number.
    case processesUnreadable
    /// It belongs to another user than the caller.
    case otherOwner
    case noLogin
    /// The caller has ended, or its id belongs to another process now.
    case callerGone
    /// The daemon cannot read the caller's state, or may not.
    case callerUnreadable
    case callerStopped
    case callerInBackground

    /// The refusal as the rest of a sentence for a person.
    public var words: String {
        switch self {
        case .forbiddenByPolicy: "ostiaryd.conf forbids it"
        case .notATerminal: "it is not a terminal that is open for reading and writing"
        case .notControllingTerminal: "it is not the program's controlling terminal"
        case .unnamed: "it has no file of its own below /dev"
        case .ambiguous(let process):
            "process \(process) of another session has a terminal with the same number, for example in a sandbox; end that "
                + "process, or use another terminal"
        case .processesUnreadable:
            "the daemon could not go through the running processes in /proc; try again in a minute"
        case .otherOwner: "it belongs to another user"
        case .noLogin: "no login on it is recorded"
        case .callerGone: "the program has ended"
        case .callerUnreadable: "the daemon cannot read the program's state in /proc"
        case .callerStopped: "the program is stopped"
        case .callerInBackground: "the program is in the background"
        }
    }
}

/// A terminal that passed every check of ``TerminalCheck``. Only ``TerminalCheck`` makes one.
public struct VerifiedTerminal: Sendable {
    public let descriptor: SharedDescriptor
    /// Its number, in the numbering of TIOCGDEV.
    public let device: UInt32
    /// Its own name, such as `/dev/pts/3`, never `/dev/tty`.
    public let path: String
}

/// Decides whether a descriptor that a caller passed is that caller's own terminal, now.
///
/// A person who types on a terminal trusts the program that controls it. That program can read the terminal too, or
/// draw a fake question. The check stops a caller from asking on a terminal that is *not* its own, and from asking in
/// the background.
public struct TerminalCheck: Sendable {
    private let policy: TerminalPolicy
    private let facts: any CallerFacts
    private let sessions: (any SessionRecords)?

    /// - Parameter sessions: know logins too, for machines whose utmp(5) is not kept; nil where utmp alone counts.
    public init(policy: TerminalPolicy, facts: any CallerFacts, sessions: (any SessionRecords)? = nil) {
        self.policy = policy
        self.facts = facts
        self.sessions = sessions
    }

    /// Returns the verified terminal, or throws the reason for the refusal.
    public func verify(_ descriptor: SharedDescriptor, of caller: PromptCaller) throws(TerminalRefusal)
        -> VerifiedTerminal
    {
        guard policy != .never else { throw .forbiddenByPolicy }
        guard let fact = facts.terminal(behind: descriptor.number) else { throw .notATerminal }
        let status = try Self.status(of: caller)
        guard status.terminalDevice == fact.number else { throw .notControllingTerminal }
        if let refusal = Self.refusal(for: status) { throw refusal }
        let path = try Self.path(of: fact, owner: caller.userID)
        try requireNoNamesake(of: fact, status, caller.userID)
        let terminal = VerifiedTerminal(descriptor: descriptor, device: fact.number, path: path)
        if policy == .login, !isLogin(on: terminal, of: caller) { throw .noLogin }
        return terminal
    }

    private func requireNoNamesake(
        of terminal: TerminalFact, _ status: ProcessStatus, _ userID: UInt32
    ) throws(TerminalRefusal) {
        let namesake: Int32?
        do throws(FactFailure) { namesake = try facts.namesake(of: terminal, for: status, of: userID) } catch {
            throw .processesUnreadable
        }
        if let namesake { throw .ambiguous(process: namesake) }
    }

    /// Whether the records show a login of the caller's user on the terminal.
    func isLogin(on terminal: VerifiedTerminal, of caller: PromptCaller) -> Bool {
        let line = String(terminal.path.dropFirst("/dev/".count))
        return facts.hasLogin(of: caller.userID, on: line)
            || sessions?.hasLogin(of: caller.userID, on: line) == true
    }

    /// Nil while the question's caller exists, runs and is in the foreground; otherwise what changed.
    static func refusal(for caller: PromptCaller) -> TerminalRefusal? {
        do { return refusal(for: try status(of: caller)) } catch { return error }
    }

    private static func refusal(for status: ProcessStatus) -> TerminalRefusal? {
        if status.terminalDevice == 0 { return .notControllingTerminal }
        if status.isStopped { return .callerStopped }
        // tcgetpgrp(3) fails for another session's terminal. The kernel's text about the caller has the same
        // information.
        return status.isInForeground ? nil : .callerInBackground
    }

    /// The controlling terminal of a caller that passed a terminal; nil when it passed none or has none. The kernel
    /// names it, not the descriptor, which may be another program's terminal.
    public static func controllingTerminal(of caller: PromptCaller) -> UInt32? {
        guard caller.terminal != nil, let device = (try? status(of: caller))?.terminalDevice, device != 0 else {
            return nil
        }
        return device
    }

    static func status(of caller: PromptCaller) throws(TerminalRefusal) -> ProcessStatus {
        guard let process = caller.process else { throw .callerGone }
        let status: ProcessStatus
        do throws(FactFailure) { status = try process.status() } catch {
            throw error == .absent ? .callerGone : .callerUnreadable
        }
        guard !status.isDead else { throw .callerGone }
        return status
    }

    /// The name of a terminal.
    ///
    /// The number alone could name another terminal: a caller can mount its own devpts, whose terminals have the same
    /// numbers as the terminals here. So the file of that name must be the very file that was passed. `/dev/tty` is one file for all
    /// terminals, and refused for that reason.
    private static func path(of terminal: TerminalFact, owner: UInt32) throws(TerminalRefusal) -> String {
        guard let name = terminal.name else { throw .unnamed }
        guard name.owner == owner else { throw .otherOwner }
        guard name.file == terminal.file else { throw .unnamed }
        return name.path
    }
}
