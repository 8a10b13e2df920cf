import Glibc
import Synchronization
public import UnixSocket

/// What a program of a test prints, while it runs and after its end.
public final class OutputPipe: Sendable {
    private let reading: SharedDescriptor
    private let text = Mutex("")

    private init(_ reading: SharedDescriptor) { self.reading = reading }

    /// The pipe, and the end for the program: to be dropped when the program has started.
    public static func make() throws -> (pipe: OutputPipe, writing: SharedDescriptor) {
        var ends: [CInt] = [-1, -1]
        guard Glibc.pipe(&ends) == 0 else { throw SystemCallError("pipe") }
        return (
            OutputPipe(SharedDescriptor(Descriptor(owning: ends[0]))), SharedDescriptor(Descriptor(owning: ends[1]))
        )
    }

    /// Everything until now.
    ///
    /// - Parameter milliseconds: how long to wait for more.
    public func text(waitMilliseconds milliseconds: CInt) -> String {
        var polled = pollfd(fd: reading.number, events: Int16(POLLIN), revents: 0)
        while poll(&polled, 1, milliseconds) > 0, polled.revents & Int16(POLLIN) != 0 {
            var bytes = [UInt8](repeating: 0, count: 4096)
            let count = read(reading.number, &bytes, bytes.count)
            guard count > 0 else { break }
            text.withLock { $0 += String(decoding: bytes[..<count], as: UTF8.self) }
        }
        return text.withLock { $0 }
    }

    /// The lines of ``text(waitMilliseconds:)``.
    public func lines(waitMilliseconds milliseconds: CInt) -> [String] {
        text(waitMilliseconds: milliseconds).split(separator: "\n").map(String.init)
    }
}
