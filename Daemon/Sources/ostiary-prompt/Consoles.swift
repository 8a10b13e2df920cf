import Glibc
import UnixSocket

/// The virtual consoles of the machine. Screen and keyboard belong to one of them at a time.
protocol Consoles {
    /// The console whose terminal is this program's standard input; nil for another terminal.
    var own: UInt16? { get }

    /// The console that has screen and keyboard now.
    func active() throws(SystemCallError) -> UInt16

    /// Asks for a switch, which happens later.
    func activate(_ number: UInt16) throws(SystemCallError)

    /// Whether no other program draws on this program's console, as the display server of a session that got its number does: that program
    /// would have screen and keys. To be asked when the console is here, because the kernel then forgets a program that has ended.
    var isFree: Bool { get }
}

extension Consoles {
    /// Whether this program's console has screen and keyboard now. Unreadable is not here.
    var isHere: Bool { own != nil && (try? active()) == own }
}

/// The kernel's (ioctl_vt(2)). A console's terminal may switch if it is the controlling terminal of the program: no capability is needed.
struct KernelConsoles: Consoles {
    private static let stateCall: UInt = 0x5603  // VT_GETSTATE
    private static let switchCall: UInt = 0x5606  // VT_ACTIVATE
    private static let controlCall: UInt = 0x5601  // VT_GETMODE
    private static let drawingCall: UInt = 0x4B3B  // KDGETMODE
    /// The driver of consoles (Linux' devices.txt). Its number 0 is whichever console is active.
    private static let driver: UInt64 = 4
    static let numbers: ClosedRange<UInt16> = 1...63

    var own: UInt16? {
        var status = stat()
        guard unsafe fstat(STDIN_FILENO, &status) == 0, status.st_mode & S_IFMT == S_IFCHR else { return nil }
        // makedev(3): twelve bits of the driver over the lower eight of the number.
        let device = UInt64(status.st_rdev)
        guard device >> 8 == Self.driver, let number = UInt16(exactly: device & 0xFF), Self.numbers.contains(number)
        else { return nil }
        return number
    }

    func active() throws(SystemCallError) -> UInt16 {
        // struct vt_stat: the active console, a signal, and a mask of consoles in use.
        var state: [UInt16] = [0, 0, 0]
        guard unsafe ioctl(STDIN_FILENO, Self.stateCall, &state) == 0 else {
            throw SystemCallError("ioctl", subject: "VT_GETSTATE")
        }
        return state[0]
    }

    func activate(_ number: UInt16) throws(SystemCallError) {
        guard ioctl(STDIN_FILENO, Self.switchCall, CInt(number)) == 0 else {
            throw SystemCallError("ioctl", subject: "VT_ACTIVATE")
        }
    }

    var isFree: Bool {
        // struct vt_mode, whose first byte is VT_AUTO (0) unless a program decides over switches; KD_TEXT (0) unless one draws.
        var control = [UInt8](repeating: .max, count: 8)
        var drawing: CInt = -1
        guard unsafe ioctl(STDIN_FILENO, Self.controlCall, &control) == 0,
            unsafe ioctl(STDIN_FILENO, Self.drawingCall, &drawing) == 0
        else { return false }
        return control[0] == 0 && drawing == 0
    }
}

#if OSTIARY_TEST_OPTIONS
    /// Consoles of a test. A file names the active one, a second one says that another program draws on the console, and the test's terminal
    /// is the standard input.
    struct PlayedConsoles: Consoles {
        let path: String
        let own: UInt16? = 8

        /// - Parameter terminal: takes the place of the console's.
        init(path: String, terminal: String) {
            self.path = path
            let opened = unsafe open(terminal, O_RDWR | O_NOCTTY | O_CLOEXEC)
            for number in [STDIN_FILENO, STDOUT_FILENO] { _ = dup2(opened, number) }
        }

        func active() throws(SystemCallError) -> UInt16 {
            guard let number = ConsoleFile(path: path).number else { throw SystemCallError("read", subject: path) }
            return number
        }

        func activate(_ number: UInt16) throws(SystemCallError) {
            guard ConsoleFile(path: path).remember(number) else { throw SystemCallError("write", subject: path) }
        }

        var isFree: Bool { unsafe access(path + ".taken", F_OK) != 0 }
    }
#endif
