public import UnixSocket

/// The machine's facts about callers. The kernel and its files are read in one place, behind this protocol.
///
/// The daemon of one user reads them itself (``KernelFacts``). A daemon under an account of its own may not look at the processes of
/// others: a helper reads for it. So each fact is a plain value or a descriptor, and each failure a number.
public protocol CallerFacts: Sendable {
    /// Whether the daemon runs under the account of its callers. Then each of their programs can reach into the daemon itself, and nothing
    /// is said of how far a program's name can be trusted.
    var areOfCallersAccount: Bool { get }

    /// The process that has the number now.
    ///
    /// - Parameters:
    ///   - pidfd: a descriptor of the process that is meant; nil where there is none. When that process has ended, its
    ///     number may be another's, so the answer is ``FactFailure/absent``.
    ///   - userID: whom the kernel named together with the process, or who names it; nil where nobody is known. Looks that wait
    ///     too long count for this user where the process does not show its own, as below `hidepid`.
    func hold(
        _ processID: Int32, _ pidfd: SharedDescriptor?, of userID: UInt32?
    ) throws(FactFailure) -> any HeldProcess

    /// The terminal behind a descriptor; nil when there is none, or when it is not open for reading and writing.
    func terminal(behind descriptor: CInt) -> TerminalFact?

    /// A process of the user, in another session than the one of `status`, that may have another terminal of the same number as
    /// its controlling terminal; nil when there is none. See ``TerminalNamesake``.
    func namesake(
        of terminal: TerminalFact, for status: ProcessStatus, of userID: UInt32
    ) throws(FactFailure) -> Int32?

    /// Whether the user is logged in on `line`, a terminal's name below `/dev`, such as `pts/3`.
    func hasLogin(of userID: UInt32, on line: String) -> Bool
}

extension CallerFacts {
    /// The process that has the number now. Without a descriptor it may be another process than the caller means.
    public func hold(_ processID: Int32) throws(FactFailure) -> any HeldProcess { try hold(processID, nil, of: nil) }

    /// A process of which only the kernel's descriptor is known.
    public func hold(_ processID: Int32, _ pidfd: SharedDescriptor?) throws(FactFailure) -> any HeldProcess {
        try hold(processID, pidfd, of: nil)
    }
}

/// One process. It stays the same one: after its end each question throws ``FactFailure/absent``, also when another process has
/// got its number.
public protocol HeldProcess: AnyObject, Sendable {
    var id: Int32 { get }

    /// The file that it executes now.
    func executable() throws(FactFailure) -> ExecutedFile

    /// Whether it executes `file`. The daemon asks before each release, so the answer mostly costs one system call and no message to
    /// another process.
    ///
    /// - Parameter wholly: whether the process is looked at itself, now. Otherwise a second may have passed since, if its memory still is
    ///   that of the program.
    func executes(_ file: ExecutedFile, wholly: Bool) throws(FactFailure) -> Bool

    /// The name of `file`, which it executed a moment ago.
    func name(of file: ExecutedFile) throws(FactFailure) -> ExecutedName

    /// Where the content of the file that it executes can be read.
    func content() throws(FactFailure) -> ExecutedContent

    /// Whether it is in the daemon's pid namespace. A process keeps its namespace for life.
    func isInOwnNamespace() throws(FactFailure) -> Bool

    /// Whether it is in the daemon's user namespace.
    func isInOwnUserNamespace() throws(FactFailure) -> Bool

    /// Its effective user.
    func userID() throws(FactFailure) -> UInt32

    /// Its real user. The user that a setuid file gives is the effective one.
    func realUserID() throws(FactFailure) -> UInt32

    /// Its real group. The group that a setgid file gives is the effective one.
    func realGroupID() throws(FactFailure) -> UInt32

    /// The user whose login began it, as the kernel keeps it for the audit of the machine; nil for a process that no login began, and
    /// where the kernel keeps none.
    func loginUserID() throws(FactFailure) -> UInt32?

    func status() throws(FactFailure) -> ProcessStatus

    /// Its control groups (cgroups(7)): a line `ID:CONTROLLERS:PATH` for each hierarchy.
    func controlGroups() throws(FactFailure) -> String

    /// A descriptor that becomes readable when it ends.
    func exit() throws(FactFailure) -> SharedDescriptor
}

extension HeldProcess {
    /// As ``executes(_:wholly:)``, with the cheaper look.
    public func executes(_ file: ExecutedFile) throws(FactFailure) -> Bool { try executes(file, wholly: false) }
}

/// Why something about a process is not known.
public enum FactFailure: UInt8, Error, Equatable, Sendable {
    /// The process has ended, or there never was one.
    case absent = 1
    /// Reading failed, or brought a text of another form.
    case unreadable = 2
    /// The process is there, and the kernel does not let the reader look.
    case refused = 3
}

/// Which file a process executes: device and inode, which stay the same while it runs.
public struct ExecutedFile: Equatable, Sendable {
    public let device: UInt64
    public let inode: UInt64
    public let isDeleted: Bool

    public init(device: UInt64, inode: UInt64, isDeleted: Bool = false) {
        (self.device, self.inode, self.isDeleted) = (device, inode, isDeleted)
    }

    /// Deleting a running program's file does not make it another program.
    public static func == (left: ExecutedFile, right: ExecutedFile) -> Bool {
        left.device == right.device && left.inode == right.inode
    }
}

/// The path of an executed file, as the kernel says it.
public struct ExecutedName: Equatable, Sendable {
    public let path: String
    /// Whether the file at this path is the executed one. The path is as the process sees it, and a process can have mounts of its own.
    public let isTrue: Bool

    public init(path: String, isTrue: Bool) { (self.path, self.isTrue) = (path, isTrue) }
}

/// A name through which the daemon can open an executed file.
public struct ExecutedContent: Sendable {
    /// A handle of the folder that ``name`` is relative to; nil for an absolute path.
    public let folder: SharedDescriptor?
    public let name: String

    public init(in folder: SharedDescriptor?, _ name: String) { (self.folder, self.name) = (folder, name) }
}

/// A terminal that a caller passed, and the file below `/dev` that has its number.
public struct TerminalFact: Equatable, Sendable {
    /// Tells one file from all others of this machine.
    public struct File: Equatable, Sendable {
        public let device, inode: UInt64

        public init(device: UInt64, inode: UInt64) { (self.device, self.inode) = (device, inode) }
    }

    public struct Name: Equatable, Sendable {
        /// Such as `/dev/pts/3`, never `/dev/tty`.
        public let path: String
        public let file: File
        public let owner: UInt32

        public init(path: String, file: File, owner: UInt32) {
            (self.path, self.file, self.owner) = (path, file, owner)
        }
    }

    /// Its number by its driver, in the numbering of TIOCGDEV.
    public let number: UInt32
    /// The passed file.
    public let file: File
    /// Nil when no terminal below `/dev` has the number.
    public let name: Name?

    public init(number: UInt32, file: File, name: Name?) { (self.number, self.file, self.name) = (number, file, name) }
}
