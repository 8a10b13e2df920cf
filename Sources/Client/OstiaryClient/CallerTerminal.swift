import Glibc
import UnixSocket

/// The calling process's controlling terminal, lent to the daemon for one question.
enum CallerTerminal {
    /// Opens the controlling terminal; nil when the process has none.
    static func open() -> SharedDescriptor? {
        let number = unsafe Glibc.open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC)
        return number < 0 ? nil : SharedDescriptor(Descriptor(owning: number))
    }
}
