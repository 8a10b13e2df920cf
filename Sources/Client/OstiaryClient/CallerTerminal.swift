@_implementationOnly import CLinuxShims
import Glibc
import UnixSocket

/// The calling process's controlling terminal, lent to the daemon for one question.
enum CallerTerminal {
    /// Opens the controlling terminal; nil when the process has none.
    ///
    /// The daemon takes a terminal only by its own file, since that of `/dev/tty` is the same for all. Where the own
    /// one cannot be opened, as in a container, it is given `/dev/tty` and says why it does not use that.
    static func open() -> SharedDescriptor? {
        guard let terminal = open("/dev/tty") else { return nil }
        var device: UInt32 = 0
        guard unsafe ostiary_terminal_device(terminal.number, &device) == 0, let name = TerminalDevice.name(device),
            let own = open(name), tcgetpgrp(own.number) >= 0
        else { return terminal }
        return own
    }

    private static func open(_ path: String) -> SharedDescriptor? {
        let number = unsafe Glibc.open(path, O_RDWR | O_NOCTTY | O_CLOEXEC)
        return number < 0 ? nil : SharedDescriptor(Descriptor(owning: number))
    }
}

/// A question may be put on the terminal of this program, or of the client that it acts for.
struct TerminalOffer {
    /// The terminal of this program, for one question; nil when there is none.
    func own() -> SharedDescriptor? { CallerTerminal.open() }
}
