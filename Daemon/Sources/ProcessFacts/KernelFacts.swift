import CLinuxShims
import Glibc
public import UnixSocket

/// The facts that this process may read itself: those of processes of its own user.
public struct KernelFacts: CallerFacts {
    /// Where the files of processes lie.
    private let root: String

    public init() { self.init(root: "/proc") }

    init(root: String) { self.root = root }

    public var areOfCallersAccount: Bool { true }

    public func hold(
        _ processID: Int32, _ pidfd: SharedDescriptor?, of userID: UInt32?
    ) throws(FactFailure) -> any HeldProcess {
        KernelProcess(try ProcessFolder(of: processID, pidfd, below: root))
    }

    /// Whether the process of a pidfd has not ended.
    package static func isAlive(_ pidfd: SharedDescriptor) -> Bool {
        var exit = pollfd(fd: pidfd.number, events: Int16(POLLIN), revents: 0)
        return unsafe poll(&exit, 1, 0) == 0
    }

    public func terminal(behind descriptor: CInt) -> TerminalFact? { TerminalFact(behind: descriptor) }

    public func namesake(
        of terminal: TerminalFact, for status: ProcessStatus, of userID: UInt32
    ) throws(FactFailure) -> Int32? {
        try TerminalNamesake.search(for: status, userID: userID, besides: terminal)
    }

    public func hasLogin(of userID: UInt32, on line: String) -> Bool { LoginRecords.hasLogin(of: userID, on: line) }
}

extension TerminalFact {
    /// The terminal behind a descriptor; nil when there is none, or when it is not open for reading and writing.
    package init?(behind descriptor: CInt) {
        var number: UInt32 = 0
        var file = stat()
        // A master side answers with its slave's number, so the file's own number is checked too.
        guard isatty(descriptor) == 1, unsafe ostiary_terminal_device(descriptor, &number) == 0,
            unsafe fstat(descriptor, &file) == 0,
            file.st_rdev == dev_t(number) || file.st_rdev == Self.controllingTerminal,
            fcntl(descriptor, F_GETFL) & O_ACCMODE == O_RDWR
        else { return nil }
        self.init(number: number, file: File(file), name: Self.name(ofTerminal: number))
    }

    /// `/dev/tty`: major 5, minor 0. It is one file for all terminals.
    private static let controllingTerminal = dev_t(5 << 8)

    private static func name(ofTerminal number: UInt32) -> Name? {
        var file = stat()
        guard let path = TerminalDevice.name(number), unsafe stat(path, &file) == 0, file.st_mode & S_IFMT == S_IFCHR,
            file.st_rdev == dev_t(number)
        else { return nil }
        return Name(path: path, file: File(file), owner: file.st_uid)
    }
}

/// A process that this one may look at, held by its folder below `/proc`.
private final class KernelProcess: HeldProcess {
    private let folder: ProcessFolder
    var id: Int32 { folder.processID }

    init(_ folder: ProcessFolder) { self.folder = folder }

    func executable() throws(FactFailure) -> ExecutedFile { ExecutedFile(try folder.identity("exe")) }

    /// Each look is a whole one.
    func executes(_ file: ExecutedFile, wholly: Bool) throws(FactFailure) -> Bool { try executable() == file }

    func name(of file: ExecutedFile) throws(FactFailure) -> ExecutedName {
        let path = try folder.link("exe")
        return ExecutedName(path: path, isTrue: ExecutedFile(at: path) == file)
    }

    func content() -> ExecutedContent { ExecutedContent(in: folder.handle, "exe") }

    func isInOwnNamespace() throws(FactFailure) -> Bool { try isIn(.processes, "pid") }

    func isInOwnUserNamespace() throws(FactFailure) -> Bool { try isIn(.users, "user") }

    private func isIn(_ namespace: OwnNamespace, _ name: String) throws(FactFailure) -> Bool {
        guard let own = namespace.inode else { throw .unreadable }
        return try folder.identity("ns/\(name)").inode == own
    }

    func userID() throws(FactFailure) -> UInt32 { try folder.userID() }

    func realUserID() throws(FactFailure) -> UInt32 { try folder.realUserID() }

    func realGroupID() throws(FactFailure) -> UInt32 { try folder.realGroupID() }

    func loginUserID() throws(FactFailure) -> UInt32? { try folder.loginUserID() }

    func status() throws(FactFailure) -> ProcessStatus {
        let text = try folder.text("stat", shorterThan: ProcessFolder.statusByteCount)
        guard let status = ProcessStatus(parsing: text) else { throw .unreadable }
        return status
    }

    func controlGroups() throws(FactFailure) -> String {
        String(decoding: try folder.text("cgroup", shorterThan: ProcessFolder.controlGroupsByteCount), as: UTF8.self)
    }

    func exit() throws(FactFailure) -> SharedDescriptor { try folder.exit() }
}

extension FactFailure {
    /// - Parameter code: the `errno` of a call that looked at a process.
    package init(code: CInt) {
        switch code {
        case ENOENT, ESRCH: self = .absent
        case EACCES, EPERM: self = .refused
        default: self = .unreadable
        }
    }
}

extension ExecutedFile {
    fileprivate init(_ identity: ostiary_file_identity) {
        self.init(device: identity.device, inode: identity.inode, isDeleted: identity.link_count == 0)
    }

    /// An open file; nil when it cannot be examined.
    package init?(opened file: SharedDescriptor) {
        var identity = ostiary_file_identity()
        guard unsafe ostiary_identify_open(file.number, &identity) == 0 else { return nil }
        self.init(identity)
    }

    /// The file at a path, as this process sees it; nil when it sees none.
    package init?(at path: String) {
        var identity = ostiary_file_identity()
        guard unsafe ostiary_identify(AT_FDCWD, path, &identity) == 0 else { return nil }
        self.init(identity)
    }
}

extension TerminalFact.File {
    init(_ file: stat) { self.init(device: UInt64(file.st_dev), inode: UInt64(file.st_ino)) }
}
