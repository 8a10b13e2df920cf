import ArgumentParser
import Glibc
import UnixSocket

/// `--force`.
struct ForceFlag: ParsableArguments {
    @Flag(name: .customLong("force"), help: "Do not ask before something is destroyed or overwritten; for scripts.")
    var isGiven = false
}

/// The person's yes to a loss that nothing undoes. It protects against mistakes only: the daemon does not learn of it, and a
/// program can do the same without asking.
enum Consent {
    private static let answer = "yes"

    /// Asks on the terminal, unless `force` is given.
    ///
    /// - Parameter loss: a sentence with names that are quoted (``Swift/String/quotedName``), for example "This destroys the
    ///   right “2fa”, its key and its secret."
    /// - Throws: `cancelled` if the person does not type yes, `consentNeeded` if there is no terminal to ask on.
    static func require(_ loss: String, _ force: ForceFlag) throws(CommandError) {
        guard !force.isGiven else { return }
        let asked: Bool?
        do { asked = try ask(loss.visibleText + "\nType yes to go on: ") } catch { throw .consentNeeded(loss) }
        guard let asked else { throw .consentNeeded(loss) }
        guard asked else { throw .cancelled }
    }

    /// Nil if this process is in the background of its terminal: reading would stop it.
    private static func ask(_ question: String) throws -> Bool? {
        let terminal = try Descriptor(
            unsafe open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC), from: "open", subject: "the terminal")
        guard tcgetpgrp(terminal.number) == getpgrp() else { return nil }
        // Keys that were pressed before the question are no answer to it.
        guard tcflush(terminal.number, TCIFLUSH) == 0 else { return nil }
        let stream = StreamDescriptor(number: terminal.number)
        var text = question
        try text.withUTF8 { bytes in
            try unsafe stream.write(UnsafeRawBufferPointer(bytes), subject: "the terminal")
        }
        return try line(from: stream) == answer
    }

    private static func line(from stream: StreamDescriptor) throws(SystemCallError) -> String {
        var line: [UInt8] = []
        while true {
            var byte: UInt8 = 0
            let isRead = try unsafe withUnsafeMutableBytes(of: &byte) { (bytes) throws(SystemCallError) in
                try unsafe stream.read(into: bytes, subject: "the terminal") == 1
            }
            guard isRead, byte != UInt8(ascii: "\n") else { return String(decoding: line, as: UTF8.self) }
            line.append(byte)
        }
    }
}
