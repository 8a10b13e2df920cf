import CLinuxShims
import Glibc
package import UnixSocket

/// A process of `/proc` (proc_pid_stat(5)), as a door looks at it: to find the program behind a helper, and its terminal. The daemon
/// looks again by itself and believes none of it.
struct ClientProcess: Equatable {
    let id: Int32
    /// The name that the kernel keeps, at most 15 bytes: the executable's, until the process gives itself another one.
    let name: String
    let parent: Int32
    let session: Int32
    /// In the numbering of TIOCGDEV; 0 without a controlling terminal.
    let terminalDevice: UInt32

    /// Nil when there is no such process, or its file cannot be read.
    init?(_ id: Int32) {
        do throws(SystemCallError) {
            guard let found = try Self.found(id) else { return nil }
            self = found
        } catch { return nil }
    }

    /// The same.
    ///
    /// - Throws: `EMFILE` and `ENFILE`: there was no descriptor to look with, and nothing was found out.
    static func found(_ id: Int32) throws(SystemCallError) -> ClientProcess? {
        try status(of: id).flatMap { ClientProcess(id, parsing: $0) }
    }

    /// The last part of the path of the file that a process executes; nil when there is no such process, or it cannot be read.
    static func executedName(of id: Int32) -> String? {
        executedPath(at: "/proc/\(id)/exe").flatMap { executedName(in: $0) }
    }

    /// The path of the file that a process executes, as the kernel says it; nil when there is no such process, or it cannot be read.
    ///
    /// - Parameter link: the process's own, below `/proc`.
    static func executedPath(at link: String) -> [UInt8]? {
        var target = [UInt8](repeating: 0, count: Int(PATH_MAX))
        let count = unsafe readlink(link, &target, target.count)
        return count > 0 ? Array(target[..<count]) : nil
    }

    /// The last part of such a path.
    static func executedName(in path: [UInt8]) -> String? {
        guard let last = path.split(separator: UInt8(ascii: "/")).last else { return nil }
        let name = String(decoding: last, as: UTF8.self)
        // A file that was replaced since.
        let removed = " (deleted)"
        return name.hasSuffix(removed) ? String(name.dropLast(removed.count)) : name
    }

    /// Reads the text of `/proc/PID/stat`. The name may hold parentheses and blanks: it ends at the last parenthesis.
    init?(_ id: Int32, parsing text: [UInt8]) {
        guard let begin = text.firstIndex(of: UInt8(ascii: "(")), let end = text.lastIndex(of: UInt8(ascii: ")")),
            begin < end
        else { return nil }
        let fields = text[(end + 1)...].split(separator: UInt8(ascii: " ")).map { String(decoding: $0, as: UTF8.self) }
        // Field n of the manual is fields[n - 3].
        guard fields.count >= 5, !["Z", "X"].contains(fields[0]), let parent = Int32(fields[1]),
            let session = Int32(fields[3]), let device = Int32(fields[4])
        else { return nil }
        self.id = id
        name = String(decoding: text[(begin + 1)..<end], as: UTF8.self)
        (self.parent, self.session) = (parent, session)
        // The kernel prints this unsigned number as a signed one.
        terminalDevice = UInt32(bitPattern: device)
    }

    /// A pidfd of the process with this number; nil when there is none.
    static func hold(_ id: Int32) -> SharedDescriptor? {
        let number = ostiary_open_process(id)
        return number < 0 ? nil : SharedDescriptor(Descriptor(owning: number))
    }

    private static func status(of id: Int32) throws(SystemCallError) -> [UInt8]? {
        guard let file = try opened("/proc/\(id)/stat", O_RDONLY | O_CLOEXEC) else { return nil }
        var text = [UInt8](repeating: 0, count: 1024)
        let count = unsafe read(file.number, &text, text.count)
        return count > 0 ? Array(text[..<count]) : nil
    }

    /// Nil where the file cannot be opened. Throws `EMFILE` and `ENFILE`.
    private static func opened(_ path: String, _ flags: CInt) throws(SystemCallError) -> SharedDescriptor? {
        let number = unsafe open(path, flags)
        guard number < 0 else { return SharedDescriptor(Descriptor(owning: number)) }
        guard errno == EMFILE || errno == ENFILE else { return nil }
        throw SystemCallError("open", subject: path)
    }

    /// Its controlling terminal by the terminal's own file; nil when it has none that this program may open.
    ///
    /// The daemon compares it with the client's, so a file of the same name in another mount is not used.
    func openTerminal() -> SharedDescriptor? {
        do throws(SystemCallError) { return try terminal() } catch { return nil }
    }

    /// The same. Throws `EMFILE` and `ENFILE`: then the client would have one, and its questions would not come there.
    func terminal() throws(SystemCallError) -> SharedDescriptor? {
        guard terminalDevice != 0, let path = TerminalDevice.name(terminalDevice),
            let terminal = try Self.opened(path, O_RDWR | O_NOCTTY | O_CLOEXEC)
        else { return nil }
        var device: UInt32 = 0
        guard unsafe ostiary_terminal_device(terminal.number, &device) == 0, device == terminalDevice else {
            return nil
        }
        return terminal
    }

    /// Whether it executes a shell of the machine. A shell that runs a helper for a program says nothing about that program.
    ///
    /// The name is the process's own word (PR_SET_NAME), so the file must be a shell's, too. Read while a pidfd is held, and before the
    /// parent is compared.
    var isShell: Bool {
        var file = ostiary_file_identity()
        guard isNamedLikeShell, let fileName = Self.executedName(of: id),
            unsafe ostiary_identify(AT_FDCWD, "/proc/\(id)/exe", &file) == 0
        else { return false }
        return Self.isShell(file: fileName, owner: file.owner, mode: file.mode)
    }

    var isNamedLikeShell: Bool { Self.shells.contains(name) }

    /// Whether an executed file is a shell of the machine: it is called like one, and root alone may write it. A user's own file can have
    /// any name.
    static func isShell(file name: String, owner: UInt32, mode: UInt32) -> Bool {
        (shells.contains(name) || shellFiles.contains(name)) && owner == 0 && mode & 0o022 == 0
    }

    private static let shells: Set = ["ash", "bash", "busybox", "dash", "fish", "ksh", "mksh", "sh", "yash", "zsh"]
    /// Further files to which the links `ksh` and `sh` of distributions lead.
    private static let shellFiles: Set = ["ksh93", "lksh", "mksh-static"]
}

/// The program behind a helper that other software starts for one question: git, docker or age.
package struct ParentClient: Sendable {
    /// A pidfd.
    package let process: SharedDescriptor
    package let processID: Int32
    /// Of the process, for words of this program alone.
    package let name: String
    package let terminal: SharedDescriptor?

    /// The process that started this one, or the nearest one above it that is no shell. Never a process above the leader of the
    /// session: a shell in which a person works is named itself.
    ///
    /// The daemon refuses a process of another user.
    ///
    /// - Throws: `noParent` when the starting process has ended.
    package static func ofThisProcess() throws(DoorFailure) -> ParentClient {
        try ofProcess(getpid(), startedBy: getppid())
    }

    /// The same for any process.
    ///
    /// - Parameter parent: the process that started it.
    static func ofProcess(_ id: Int32, startedBy parent: Int32) throws(DoorFailure) -> ParentClient {
        guard var found = Held(parent, below: id) else { throw .noParent }
        // A shell whose parent cannot be held is named itself.
        while found.isPassed, let above = Held(found.status.parent, below: found.status.id),
            above.status.session == found.status.session
        {
            found = above
        }
        return ParentClient(
            process: found.process, processID: found.status.id, name: found.status.name,
            terminal: found.status.openTerminal())
    }

    /// A process above the helper, and a descriptor that no other process can take over.
    private struct Held {
        let process: SharedDescriptor
        let status: ClientProcess
        /// Whether the process above it is looked at instead.
        let isPassed: Bool

        /// Nil when `id` is not the parent of `child`. The parent is compared once its descriptor is there and all else was read: until
        /// then it can end, and another process can have its number.
        init?(_ id: Int32, below child: Int32) {
            guard id > 1, let process = ClientProcess.hold(id), let status = ClientProcess(id) else { return nil }
            let isPassed = status.id != status.session && status.isShell
            guard ClientProcess(child)?.parent == id else { return nil }
            (self.process, self.status, self.isPassed) = (process, status, isPassed)
        }
    }
}
