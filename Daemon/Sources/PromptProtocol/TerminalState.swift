import Glibc
public import UnixSocket

/// A terminal's settings at one moment, for restoring them after a prompt. Both sides keep them: the prompt restores
/// them when it ends by itself, and the daemon in every case.
public struct TerminalState: Sendable {
    private let settings: termios
    private let isExclusive: Bool

    /// TIOCGEXCL (tty_ioctl(2)), a computed macro that Swift does not import.
    private static let getExclusive: UInt = 0x8004_5440

    /// Reads the settings of the terminal behind `descriptor`; throws when it is none, or is gone.
    public init(of descriptor: CInt) throws(SystemCallError) {
        var settings = termios()
        guard unsafe tcgetattr(descriptor, &settings) == 0 else { throw SystemCallError("tcgetattr") }
        var exclusive: CInt = 0
        guard unsafe ioctl(descriptor, Self.getExclusive, &exclusive) == 0 else {
            throw SystemCallError("ioctl", subject: "TIOCGEXCL")
        }
        self.settings = settings
        isExclusive = exclusive != 0
    }

    /// Prepares the terminal for a secret: no echo, byte by byte, keys such as Ctrl-C as bytes instead of signals (they
    /// would go to the caller), no further opens by others (TIOCEXCL), and typed-ahead input dropped.
    public func beginSecretEntry(on descriptor: CInt) throws(SystemCallError) {
        var hidden = settings
        hidden.c_lflag &= ~tcflag_t(ECHO | ECHONL | ICANON | ISIG | IEXTEN)
        hidden.c_iflag &= ~tcflag_t(ICRNL | INLCR | IGNCR | ISTRIP)
        unsafe withUnsafeMutableBytes(of: &hidden.c_cc) { characters in
            unsafe characters[Int(VMIN)] = 1
            unsafe characters[Int(VTIME)] = 0
        }
        guard ioctl(descriptor, UInt(TIOCEXCL)) == 0 else { throw SystemCallError("ioctl", subject: "TIOCEXCL") }
        guard unsafe tcsetattr(descriptor, TCSAFLUSH, &hidden) == 0 else { throw SystemCallError("tcsetattr") }
        guard tcflush(descriptor, TCIFLUSH) == 0 else { throw SystemCallError("tcflush") }
    }

    /// Restores the settings and drops typed input that nobody read: half a passcode must not land in a shell.
    ///
    /// Never waits for output to drain, so that a stopped terminal cannot hold its caller. A terminal that is gone is
    /// beyond help, so failures are not reported.
    public func restore(on descriptor: CInt) {
        var settings = settings
        if !isExclusive { _ = ioctl(descriptor, UInt(TIOCNXCL)) }
        // Before, so that no waiting reader is woken by it; after, for what came in between.
        _ = tcflush(descriptor, TCIFLUSH)
        _ = unsafe tcsetattr(descriptor, TCSANOW, &settings)
        _ = tcflush(descriptor, TCIFLUSH)
    }

    /// ``restore(on:)``, unless everything is as it was: then input that was typed for the caller is left alone.
    public func restoreIfChanged(on descriptor: CInt) {
        // Unreadable is not the same as unchanged.
        if let now = try? TerminalState(of: descriptor), now == self { return }
        restore(on: descriptor)
    }
}

extension TerminalState: Equatable {
    public static func == (left: TerminalState, right: TerminalState) -> Bool {
        left.isExclusive == right.isExclusive && left.settings.c_iflag == right.settings.c_iflag
            && left.settings.c_oflag == right.settings.c_oflag && left.settings.c_cflag == right.settings.c_cflag
            && left.settings.c_lflag == right.settings.c_lflag
            && left.settings.controlCharacters == right.settings.controlCharacters
    }
}

extension termios {
    fileprivate var controlCharacters: [UInt8] {
        unsafe withUnsafeBytes(of: c_cc) { unsafe Array($0) }
    }
}
