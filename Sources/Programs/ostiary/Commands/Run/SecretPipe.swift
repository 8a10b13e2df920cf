import Glibc
import SecretMemory
import UnixSocket

/// A secret in a pipe, which gives each byte once: to the command, or to a child of it. At the command's end the rest is
/// taken back, so nobody reads it later.
///
/// A pipe and no file in memory: its pages are never written to swap space, and what was read once is gone even if this process is
/// killed.
final class SecretPipe {
    private let secret: RequestedSecret
    private var written = 0
    /// For the command.
    private let reader: Descriptor
    /// This process's own, which never waits. While it is open, the pipe never breaks.
    private let ownReader: Descriptor
    private var writer: Descriptor?

    /// Scripts of shells use the numbers below 10, and shells themselves some above.
    private static let lowestNumber: CInt = 20

    /// Puts as much as fits into a new pipe.
    init(_ secret: RequestedSecret) throws(SystemCallError) {
        self.secret = secret
        let ends = try PipeEnds()
        reader = try Descriptor(fcntl(ends.reader.number, F_DUPFD_CLOEXEC, Self.lowestNumber), from: "fcntl")
        let path = "/proc/self/fd/\(reader.number)"
        ownReader = try Descriptor(
            unsafe open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC), from: "open", subject: path)
        guard fcntl(ends.writer.number, F_SETFL, O_NONBLOCK) == 0 else { throw SystemCallError("fcntl") }
        writer = try ends.writer.duplicate()
        fill()
    }

    /// The number that the command has, too.
    var number: CInt { reader.number }

    /// The command's path of it.
    var path: String { "/dev/fd/\(reader.number)" }

    /// A descriptor that says when there is room again; nil once everything is in the pipe, and its end can be read.
    var waiting: CInt? { writer?.number }

    /// Writes more of the secret, without waiting.
    func fill() {
        guard let number = waiting else { return }
        let count = unsafe secret.value.withUnsafeBytes { bytes in
            while written < bytes.count {
                let rest = unsafe UnsafeRawBufferPointer(rebasing: bytes[written...])
                let count = unsafe write(number, rest.baseAddress, rest.count)
                if count < 0, errno == EINTR { continue }
                guard count > 0 else { break }
                written += count
            }
            return bytes.count
        }
        if written == count { close() }
    }

    /// Takes back what nobody has read.
    func end() {
        close()
        var taken = SecretBytes(zeroed: 4096)
        unsafe taken.withUnsafeMutableBytes { buffer in
            while true {
                let count = unsafe read(ownReader.number, buffer.baseAddress, buffer.count)
                guard count > 0 || (count < 0 && errno == EINTR) else { return }
            }
        }
    }

    private func close() {
        writer = nil
        secret.forget()
    }
}
