import Glibc
import UnixSocket

/// Results. Written at once and unchanged: nothing is buffered that a crash could lose or a core could hold.
enum StandardOutput {
    static var isTerminal: Bool { StreamDescriptor.standardOutput.isTerminal }

    static func line(_ text: String) throws {
        var line = text + "\n"
        try line.withUTF8 { try unsafe write(UnsafeRawBufferPointer($0)) }
    }

    static func write(_ bytes: UnsafeRawBufferPointer) throws {
        do {
            try unsafe StreamDescriptor.standardOutput.write(bytes, subject: "standard output")
        } catch  where error.code == EPIPE {
            throw BrokenPipe()
        } catch {
            throw CommandError.unwritableOutput(error)
        }
    }
}

/// The reader of standard output has gone. Usually SIGPIPE has ended the process before; where the parent ignores that
/// signal the command ends as quietly.
struct BrokenPipe: Error {}

/// Everything that is not a result: notices, warnings, progress, errors.
enum StandardError {
    static var isTerminal: Bool { StreamDescriptor.standardError.isTerminal }

    static func line(_ text: String) { write(text + "\n") }

    static func write(_ text: String) {
        var text = text
        // A notice that nobody can receive must not change the outcome.
        text.withUTF8 { _ = try? unsafe StreamDescriptor.standardError.write(UnsafeRawBufferPointer($0), subject: "") }
    }
}

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
