import CLinuxShims
import Glibc
package import UnixSocket

/// A process of `/proc` (proc_pid_stat(5)), as a door looks at it: to find the program behind a helper, and its terminal. The daemon
/// looks again by itself and believes none of it.
struct ClientProcess: Equatable {
    let id: Int32
    /// The name of the executable that the kernel keeps, at most 15 bytes.
    let name: String
    let parent: Int32
    let session: Int32
    /// In the numbering of TIOCGDEV; 0 without a controlling terminal.
    let terminalDevice: UInt32

    /// Nil when there is no such process, or its file cannot be read.
    init?(_ id: Int32) {
        guard let text = Self.status(of: id) else { return nil }
        self.init(id, parsing: text)
    }

    /// The last part of the path of the file that a process executes; nil when there is no such process, or it cannot be read.
    static func executedName(of id: Int32) -> String? {
        var target = [UInt8](repeating: 0, count: Int(PATH_MAX))
        let count = unsafe readlink("/proc/\(id)/exe", &target, target.count)
        guard count > 0, let last = target[..<count].split(separator: UInt8(ascii: "/")).last else { return nil }
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

    private static func status(of id: Int32) -> [UInt8]? {
        let number = unsafe open("/proc/\(id)/stat", O_RDONLY | O_CLOEXEC)
        guard number >= 0 else { return nil }
        let file = Descriptor(owning: number)
        var text = [UInt8](repeating: 0, count: 1024)
        let count = unsafe read(file.number, &text, text.count)
        return count > 0 ? Array(text[..<count]) : nil
    }

    /// Its controlling terminal by the terminal's own file; nil when it has none that this program may open.
    ///
    /// The daemon compares it with the client's, so a file of the same name in another mount is not used.
    func openTerminal() -> SharedDescriptor? {
        guard terminalDevice != 0, let path = TerminalDevice.name(terminalDevice) else { return nil }
        let number = unsafe open(path, O_RDWR | O_NOCTTY | O_CLOEXEC)
        guard number >= 0 else { return nil }
        let terminal = SharedDescriptor(Descriptor(owning: number))
        var device: UInt32 = 0
        guard unsafe ostiary_terminal_device(number, &device) == 0, device == terminalDevice else { return nil }
        return terminal
    }

    /// Whether it is named like a shell. A shell that runs a helper for a program says nothing about that program.
    var isShell: Bool { Self.shells.contains(name) }

    private static let shells: Set = ["ash", "bash", "busybox", "dash", "fish", "ksh", "mksh", "sh", "yash", "zsh"]
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
        guard var found = Held(getppid(), below: getpid()) else { throw .noParent }
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

    /// A process above this one, and a descriptor that no other process can take over.
    private struct Held {
        let process: SharedDescriptor
        let status: ClientProcess

        /// Nil when `id` is not the parent of `child`. The parent is compared once its descriptor is there: until then it can end, and
        /// another process can have its number.
        init?(_ id: Int32, below child: Int32) {
            guard id > 1, let process = ClientProcess.hold(id), let status = ClientProcess(id),
                ClientProcess(child)?.parent == id
            else { return nil }
            (self.process, self.status) = (process, status)
        }

        var isPassed: Bool { status.isShell && status.id != status.session }
    }
}
