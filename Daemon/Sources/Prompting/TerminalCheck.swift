import CLinuxShims
import Glibc
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
    /// The running processes cannot be listed, so nobody can tell whether another one has a terminal of the same number.
    case processesUnreadable
    /// It belongs to another user than the caller.
    case otherOwner
    case noLogin
    /// The caller has ended, or its id belongs to another process now.
    case callerGone
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
        case .processesUnreadable: "the daemon cannot list the running processes in /proc"
        case .otherOwner: "it belongs to another user"
        case .noLogin: "no login on it is recorded"
        case .callerGone: "the program has ended"
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
    private let logins: any LoginRecords

    public init(policy: TerminalPolicy, logins: any LoginRecords = SystemLoginRecords()) {
        self.policy = policy
        self.logins = logins
    }

    /// Returns the verified terminal, or throws the reason for the refusal.
    public func verify(_ descriptor: SharedDescriptor, of caller: PromptCaller) throws(TerminalRefusal)
        -> VerifiedTerminal
    {
        guard policy != .never else { throw .forbiddenByPolicy }
        let device = try Self.device(of: descriptor.number)
        let status = try Self.status(of: caller)
        guard status.terminalDevice == device else { throw .notControllingTerminal }
        if let refusal = Self.refusal(for: status) { throw refusal }
        let path = try Self.path(of: descriptor.number, device, owner: caller.userID)
        switch TerminalNamesake.search(for: status, userID: caller.userID, besides: descriptor.number) {
        case .none: break
        case .found(let process): throw .ambiguous(process: process)
        case .unreadable: throw .processesUnreadable
        }
        let terminal = VerifiedTerminal(descriptor: descriptor, device: device, path: path)
        if policy == .login, !isLogin(on: terminal, of: caller) { throw .noLogin }
        return terminal
    }

    /// Whether the records show a login of the caller's user on the terminal.
    func isLogin(on terminal: VerifiedTerminal, of caller: PromptCaller) -> Bool {
        logins.hasLogin(of: caller.userID, on: String(terminal.path.dropFirst("/dev/".count)))
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
        guard let status = caller.process?.status, !status.isDead else { throw .callerGone }
        return status
    }

    /// The device of the terminal behind `descriptor`, according to its driver. `/dev/tty` has a number of its own (5,
    /// 0). A master side answers with its slave's number, so the file's own number is checked too.
    private static func device(of descriptor: CInt) throws(TerminalRefusal) -> UInt32 {
        var device: UInt32 = 0
        var file = stat()
        guard isatty(descriptor) == 1, unsafe ostiary_terminal_device(descriptor, &device) == 0,
            unsafe fstat(descriptor, &file) == 0,
            file.st_rdev == makeDevice(device) || file.st_rdev == makeDevice(controllingTerminalDevice),
            fcntl(descriptor, F_GETFL) & O_ACCMODE == O_RDWR
        else { throw .notATerminal }
        return device
    }

    /// `/dev/tty`: major 5, minor 0.
    private static let controllingTerminalDevice: UInt32 = 5 << 8

    /// The kernel's number of a device in glibc's type: the same bits, wider.
    private static func makeDevice(_ device: UInt32) -> dev_t { dev_t(device) }

    /// The name of the terminal behind `descriptor`.
    ///
    /// The number alone could name another terminal: a caller can mount its own devpts, whose terminals have the same
    /// numbers as those here. So the file of that name must be the very file that was passed.
    private static func path(of descriptor: CInt, _ device: UInt32, owner: UInt32) throws(TerminalRefusal) -> String {
        var (passed, named) = (stat(), stat())
        guard let path = TerminalDevice.name(device), unsafe stat(path, &named) == 0, named.st_mode & S_IFMT == S_IFCHR,
            named.st_rdev == makeDevice(device), unsafe fstat(descriptor, &passed) == 0
        else { throw .unnamed }
        guard named.st_uid == owner else { throw .otherOwner }
        guard passed.st_dev == named.st_dev, passed.st_ino == named.st_ino else { throw .unnamed }
        return path
    }
}
