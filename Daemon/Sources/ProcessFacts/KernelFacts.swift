import CLinuxShims
import Glibc
public import UnixSocket

/// The facts that this process may read itself: those of processes of its own user.
public struct KernelFacts: CallerFacts {
    /// Where the files of processes lie.
    private let root: String

    public init() { self.init(root: "/proc") }

    init(root: String) { self.root = root }

    public func hold(_ processID: Int32, _ pidfd: SharedDescriptor?) throws(FactFailure) -> any HeldProcess {
        guard processID > 0 else { throw .absent }
        let number = unsafe ostiary_open_directory_handle("\(root)/\(processID)")
        guard number >= 0 else { throw Self.failure(errno, of: processID, pidfd) }
        let directory = SharedDescriptor(Descriptor(owning: number))
        // The handle was opened by number. While the pidfd's process is alive, the number cannot be another's.
        if let pidfd, !Self.isAlive(pidfd) { throw .absent }
        return KernelProcess(processID, directory, pidfd)
    }

    /// Why a process has no folder. With the mount option `hidepid`, the folder of a living process is not there.
    private static func failure(_ code: CInt, of processID: Int32, _ pidfd: SharedDescriptor?) -> FactFailure {
        let failure = FactFailure(code: code)
        guard failure == .absent, let pidfd = pidfd ?? pidfdOfProcess(processID), isAlive(pidfd) else { return failure }
        return .refused
    }

    fileprivate static func pidfdOfProcess(_ processID: Int32) -> SharedDescriptor? {
        let number = ostiary_open_process(processID)
        return number < 0 ? nil : SharedDescriptor(Descriptor(owning: number))
    }

    /// Whether the process of a pidfd has not ended.
    package static func isAlive(_ pidfd: SharedDescriptor) -> Bool {
        var exit = pollfd(fd: pidfd.number, events: Int16(POLLIN), revents: 0)
        return unsafe poll(&exit, 1, 0) == 0
    }

    public func terminal(behind descriptor: CInt) -> TerminalFact? {
        var number: UInt32 = 0
        var file = stat()
        // A master side answers with its slave's number, so the file's own number is checked too.
        guard isatty(descriptor) == 1, unsafe ostiary_terminal_device(descriptor, &number) == 0,
            unsafe fstat(descriptor, &file) == 0,
            file.st_rdev == dev_t(number) || file.st_rdev == Self.controllingTerminal,
            fcntl(descriptor, F_GETFL) & O_ACCMODE == O_RDWR
        else { return nil }
        return TerminalFact(number: number, file: TerminalFact.File(file), name: Self.name(ofTerminal: number))
    }

    /// `/dev/tty`: major 5, minor 0. It is one file for all terminals.
    private static let controllingTerminal = dev_t(5 << 8)

    private static func name(ofTerminal number: UInt32) -> TerminalFact.Name? {
        var file = stat()
        guard let path = TerminalDevice.name(number), unsafe stat(path, &file) == 0, file.st_mode & S_IFMT == S_IFCHR,
            file.st_rdev == dev_t(number)
        else { return nil }
        return TerminalFact.Name(path: path, file: TerminalFact.File(file), owner: file.st_uid)
    }

    public func namesake(
        of terminal: TerminalFact, for status: ProcessStatus, of userID: UInt32
    ) throws(FactFailure) -> Int32? {
        try TerminalNamesake.search(for: status, userID: userID, besides: terminal)
    }

    public func hasLogin(of userID: UInt32, on line: String) -> Bool { LoginRecords.hasLogin(of: userID, on: line) }
}

/// A process, held by its folder below `/proc`. After its end nothing can be read through that handle.
private final class KernelProcess: HeldProcess {
    let id: Int32
    private let directory: SharedDescriptor
    private let pidfd: SharedDescriptor?

    init(_ id: Int32, _ directory: SharedDescriptor, _ pidfd: SharedDescriptor?) {
        (self.id, self.directory, self.pidfd) = (id, directory, pidfd)
    }

    func executable() throws(FactFailure) -> ExecutedFile {
        ExecutedFile(try identity("exe"))
    }

    func executes(_ file: ExecutedFile) throws(FactFailure) -> Bool { try executable() == file }

    func name(of file: ExecutedFile) throws(FactFailure) -> ExecutedName {
        let path = try link("exe")
        var named = ostiary_file_identity()
        let isThere = unsafe ostiary_identify(AT_FDCWD, path, &named) == 0
        return ExecutedName(path: path, isTrue: isThere && ExecutedFile(named) == file)
    }

    func content() -> ExecutedContent { ExecutedContent(in: directory, "exe") }

    func isInOwnNamespace() throws(FactFailure) -> Bool {
        guard let own = Self.ownNamespace else { throw .unreadable }
        let other = try identity("ns/pid")
        return own.device == other.device && own.inode == other.inode
    }

    private static let ownNamespace: ostiary_file_identity? = {
        var identity = ostiary_file_identity()
        return unsafe ostiary_identify(AT_FDCWD, "/proc/self/ns/pid", &identity) == 0 ? identity : nil
    }()

    func status() throws(FactFailure) -> ProcessStatus {
        guard let status = ProcessStatus(parsing: try text("stat", byteCount: 4096)) else { throw .unreadable }
        return status
    }

    func controlGroups() throws(FactFailure) -> String {
        String(decoding: try text("cgroup", byteCount: 16_384), as: UTF8.self)
    }

    func exit() throws(FactFailure) -> SharedDescriptor {
        if let pidfd { return pidfd }
        guard let pidfd = KernelFacts.pidfdOfProcess(id) else { throw FactFailure(code: errno) }
        // The number is this process's own as long as its folder answers.
        _ = try status()
        return pidfd
    }

    private func identity(_ name: String) throws(FactFailure) -> ostiary_file_identity {
        var identity = ostiary_file_identity()
        guard unsafe ostiary_identify(directory.number, name, &identity) == 0 else { throw FactFailure(code: errno) }
        return identity
    }

    private func link(_ name: String) throws(FactFailure) -> String {
        var text = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = unsafe readlinkat(directory.number, name, &text, text.count)
        guard count >= 0 else { throw FactFailure(code: errno) }
        guard count < text.count else { throw .unreadable }
        return String(decoding: text[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// The file's text, which must be shorter than `byteCount`.
    private func text(_ name: String, byteCount: Int) throws(FactFailure) -> [UInt8] {
        let number = unsafe openat(directory.number, name, O_RDONLY | O_CLOEXEC)
        guard number >= 0 else { throw FactFailure(code: errno) }
        let file = Descriptor(owning: number)
        var text = [UInt8](repeating: 0, count: byteCount)
        let count = unsafe read(file.number, &text, byteCount)
        guard count >= 0 else { throw FactFailure(code: errno) }
        guard count > 0, count < byteCount else { throw .unreadable }
        return Array(text[..<count])
    }
}

extension FactFailure {
    /// - Parameter code: the `errno` of a call that looked at a process.
    init(code: CInt) {
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
}

extension TerminalFact.File {
    init(_ file: stat) { self.init(device: UInt64(file.st_dev), inode: UInt64(file.st_ino)) }
}
