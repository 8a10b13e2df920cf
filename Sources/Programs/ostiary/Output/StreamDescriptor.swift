import Glibc
import UnixSocket

/// An open file seen as a stream of bytes. It borrows the descriptor and never closes it.
struct StreamDescriptor {
    let number: CInt

    static let standardInput = StreamDescriptor(number: STDIN_FILENO)
    static let standardOutput = StreamDescriptor(number: STDOUT_FILENO)
    static let standardError = StreamDescriptor(number: STDERR_FILENO)

    var isTerminal: Bool { isatty(number) == 1 }

    /// Waits for bytes and puts them into `buffer`; 0 at the end.
    func read(into buffer: UnsafeMutableRawBufferPointer, subject: String) throws(SystemCallError) -> Int {
        while true {
            let count = unsafe Glibc.read(number, buffer.baseAddress, buffer.count)
            if count >= 0 { return count }
            guard errno == EINTR else { throw SystemCallError("read", subject: subject) }
        }
    }

    /// Writes all of `bytes`.
    func write(_ bytes: UnsafeRawBufferPointer, subject: String) throws(SystemCallError) {
        var offset = 0
        while offset < bytes.count {
            let rest = unsafe UnsafeRawBufferPointer(rebasing: bytes[offset...])
            let count = unsafe Glibc.write(number, rest.baseAddress, rest.count)
            if count < 0 {
                guard errno == EINTR else { throw SystemCallError("write", subject: subject) }
                continue
            }
            offset += count
        }
    }
}
