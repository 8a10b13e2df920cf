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
