public import Glibc
import Synchronization
public import Testing
public import UnixSocket

/// A pseudo-terminal whose keyboard and screen the test has in hand.
public final class PseudoTerminal: Sendable {
    private let masterDescriptor: Mutex<SharedDescriptor?>
    /// The side that programs see.
    public let slave: SharedDescriptor
    /// The slave's name.
    public let path: String
    private let transcript = Mutex("")

    private static let unlock: UInt = 0x4004_5431  // TIOCSPTLCK
    private static let number: UInt = 0x8004_5430  // TIOCGPTN
    private static let exclusive: UInt = 0x8004_5440  // TIOCGEXCL

    /// A new terminal.
    public init() throws {
        let master = try Descriptor(Glibc.open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC), from: "open")
        var (locked, number): (CInt, CInt) = (0, 0)
        guard ioctl(master.number, Self.unlock, &locked) == 0, ioctl(master.number, Self.number, &number) == 0 else {
            throw SystemCallError("ioctl")
        }
        path = "/dev/pts/\(number)"
        slave = try Self.open(path)
        masterDescriptor = Mutex(SharedDescriptor(master))
    }

    /// Opens a terminal without making it the controlling one.
    public static func open(_ path: String, _ mode: CInt = O_RDWR) throws -> SharedDescriptor {
        SharedDescriptor(try Descriptor(Glibc.open(path, mode | O_NOCTTY | O_CLOEXEC), from: "open", subject: path))
    }

    /// The side of the keyboard and the screen.
    public var master: SharedDescriptor { masterDescriptor.withLock { $0! } }

    /// The line hangs up.
    public func hangUp() { masterDescriptor.withLock { $0 = nil } }

    /// Types `text`.
    public func type(_ text: String) { type(Array(text.utf8)) }

    /// Types `bytes`.
    public func type(_ bytes: [UInt8]) {
        let count = bytes.withUnsafeBytes { write(master.number, $0.baseAddress!, $0.count) }
        #expect(count == bytes.count)
    }

    /// Everything shown so far.
    public var screen: String {
        readAvailable(waitMilliseconds: 0)
        return transcript.withLock { $0 }
    }

    /// Whether `text` was shown, on however many lines: where a line of a prompt ends depends on the length of what it
    /// names, the folder that the programs were built in among it.
    public func shows(_ text: String) -> Bool {
        screen.filter { !$0.isWhitespace }.contains(text.filter { !$0.isWhitespace })
    }

    /// Waits until `text` was shown; fails the test after two minutes.
    public func waitFor(_ text: String, _ location: SourceLocation = #_sourceLocation) {
        let end = ContinuousClock.now.advanced(by: .seconds(120))
        while ContinuousClock.now < end {
            // By bytes: "\r\n" is one character, in which a search by characters finds no "\n".
            if Array(screen.utf8).contains(Array(text.utf8)) { return }
            readAvailable(waitMilliseconds: 50)
        }
        Issue.record("\(text) was not shown; shown was: \(screen.debugDescription)", sourceLocation: location)
    }

    /// Whether nothing is shown for a while. That a thing does not happen can only be seen by waiting.
    public func staysSilent(forMilliseconds milliseconds: CInt = 300) -> Bool {
        let before = screen
        readAvailable(waitMilliseconds: milliseconds)
        return transcript.withLock { $0 } == before
    }

    /// Forgets what was shown so far.
    public func clearScreen() {
        readAvailable(waitMilliseconds: 0)
        transcript.withLock { $0 = "" }
    }

    private func readAvailable(waitMilliseconds: CInt) {
        let master = masterDescriptor.withLock { $0 }
        guard let master else { return }
        var polled = pollfd(fd: master.number, events: Int16(POLLIN), revents: 0)
        var wait = waitMilliseconds
        while poll(&polled, 1, wait) > 0, polled.revents & Int16(POLLIN) != 0 {
            var bytes = [UInt8](repeating: 0, count: 4096)
            let count = read(master.number, &bytes, bytes.count)
            guard count > 0 else { return }
            transcript.withLock { $0 += String(decoding: bytes[..<count], as: UTF8.self) }
            wait = 0
        }
    }

    /// Whether what is typed is shown, read in lines and turned into signals, and anybody may open the terminal.
    public var isAsBefore: Bool { echoes && !isExclusive }

    /// Whether the line discipline is that of a shell.
    public var echoes: Bool {
        var settings = termios()
        return tcgetattr(slave.number, &settings) == 0
            && settings.c_lflag & tcflag_t(ECHO | ICANON | ISIG) == tcflag_t(ECHO | ICANON | ISIG)
    }

    /// Whether nobody else can open it (TIOCEXCL).
    public var isExclusive: Bool {
        var exclusive: CInt = 0
        return ioctl(slave.number, Self.exclusive, &exclusive) == 0 && exclusive != 0
    }
}
