import Glibc
import UnixSocket

/// The state of a process from `/proc/PID/stat` (proc_pid_stat(5)).
public struct ProcessStatus: Equatable, Sendable {
    /// Field 3: `R`, `S`, `D`, `T`, `t`, `Z`, `X`, …
    public let state: UInt8
    /// Field 5.
    public let processGroup: Int32
    /// Field 6.
    public let session: Int32
    /// Field 7, in the numbering of TIOCGDEV; 0 without a controlling terminal.
    public let terminalDevice: UInt32
    /// Field 8: the terminal's foreground process group, -1 without a terminal.
    public let foregroundGroup: Int32
    /// Field 22: clock ticks from boot to its start.
    public let startTime: UInt64

    /// Stopped by job control, or by a debugger.
    public var isStopped: Bool { state == UInt8(ascii: "T") || state == UInt8(ascii: "t") }
    /// Dead, but not yet reaped by its parent.
    public var isDead: Bool { state == UInt8(ascii: "Z") || state == UInt8(ascii: "X") }
    /// Whether it is in its terminal's foreground.
    public var isInForeground: Bool { terminalDevice != 0 && processGroup == foregroundGroup }

    /// Reads the file's text; nil when it has another form. Field 2, the program's name, may hold spaces, parentheses
    /// and line ends. So counting begins behind the *last* closing parenthesis.
    public init?(parsing text: [UInt8]) {
        guard let end = text.lastIndex(of: UInt8(ascii: ")")), end + 2 < text.count, text[end + 1] == UInt8(ascii: " ")
        else { return nil }
        let fields = text[(end + 2)...].split(separator: UInt8(ascii: " "), omittingEmptySubsequences: false)
            .map { String(decoding: $0, as: UTF8.self) }
        // Field n of the manual is fields[n - 3].
        guard fields.count >= 20, fields[0].utf8.count == 1, let state = fields[0].utf8.first,
            let processGroup = Int32(fields[2]), let session = Int32(fields[3]), let device = Int32(fields[4]),
            let foregroundGroup = Int32(fields[5]), let startTime = UInt64(fields[19])
        else { return nil }
        self.state = state
        self.processGroup = processGroup
        self.session = session
        // The kernel prints this unsigned number as a signed one.
        terminalDevice = UInt32(bitPattern: device)
        self.foregroundGroup = foregroundGroup
        self.startTime = startTime
    }

    /// The status of a process; nil when there is none of that id, or its file cannot be read.
    public init?(of processID: Int32) {
        let number = unsafe open("/proc/\(processID)/stat", O_RDONLY | O_CLOEXEC)
        guard number >= 0 else { return nil }
        let file = Descriptor(owning: number)
        var text = [UInt8](repeating: 0, count: 4096)
        let count = unsafe read(file.number, &text, text.count)
        guard count > 0 else { return nil }
        self.init(parsing: Array(text[..<count]))
    }
}
