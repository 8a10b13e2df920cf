import Foundation
import Glibc
import Synchronization
import UnixSocket

/// A pseudo-terminal (pty(7)) of which this process plays the person's side.
final class PseudoTerminal: Sendable {
    /// Where the other side is, for the process that it becomes the controlling terminal of.
    let path: String
    private let screen: SharedDescriptor
    // Held open so that the terminal outlives whoever uses it for a while.
    private let other: SharedDescriptor
    private let typing = Mutex(Typing())

    private struct Typing {
        var isOn = true
        var questionCount = 0
    }

    /// The side that programs see.
    var slave: CInt { other.number }

    /// Whether the person types the passcode where one is asked for.
    var isTyping: Bool {
        get { typing.withLock { $0.isOn } }
        set { typing.withLock { $0.isOn = newValue } }
    }

    /// How many fields have asked for a passcode.
    var questionCount: Int { typing.withLock { $0.questionCount } }

    /// Whether what is typed is shown: no field waits for a secret.
    var echoes: Bool {
        var settings = termios()
        return tcgetattr(other.number, &settings) == 0 && settings.c_lflag & tcflag_t(ECHO) != 0
    }

    init() throws {
        let (setLock, getNumber): (UInt, UInt) = (0x4004_5431 /* TIOCSPTLCK */, 0x8004_5430 /* TIOCGPTN */)
        screen = SharedDescriptor(
            try Descriptor(open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC), from: "open", subject: "/dev/ptmx"))
        var (lock, number): (CInt, CInt) = (0, 0)
        guard ioctl(screen.number, setLock, &lock) == 0, ioctl(screen.number, getNumber, &number) == 0 else {
            throw SystemCallError("ioctl", subject: "/dev/ptmx")
        }
        path = "/dev/pts/\(number)"
        other = SharedDescriptor(try Descriptor(open(path, O_RDWR | O_NOCTTY | O_CLOEXEC), from: "open", subject: path))
    }

    /// Reads what is on the screen and types `passcode` into every field that asks for one, until this process ends.
    func answerPasscodeQuestions(with passcode: String) {
        let thread = Thread { [self] in
            var shown = ""
            while let text = read() {
                shown += text
                // The terminal's input was flushed before the field was drawn, so what is typed now is read.
                guard shown.lowercased().hasSuffix("passcode: ") else { continue }
                shown = ""
                let types = typing.withLock { typing in
                    typing.questionCount += 1
                    return typing.isOn
                }
                if types { type(passcode + "\r") }
            }
        }
        thread.start()
    }

    private func read() -> String? {
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = Glibc.read(screen.number, &bytes, bytes.count)
        return count > 0 ? String(decoding: bytes[..<count], as: UTF8.self) : nil
    }

    private func type(_ text: String) {
        let bytes = Array(text.utf8)
        _ = write(screen.number, bytes, bytes.count)  // Should it fail, the question times out and the run with it.
    }
}

/// The client's side of a pseudo-terminal.
enum ControllingTerminal {
    /// Makes the terminal at `path` the controlling one of the session that this process leads: the first that such a
    /// process opens becomes it (tty_ioctl(2), TIOCSCTTY).
    static func take(_ path: String) throws {
        let terminal = open(path, O_RDWR)  // Kept open for as long as the process lives.
        guard terminal >= 0 else { throw SystemCallError("open", subject: path) }
        _ = fcntl(terminal, F_SETFD, FD_CLOEXEC)
    }
}
