import Glibc
import Synchronization
public import UnixSocket

/// Ends a wait in `poll` from another thread.
public final class PollableCancellation: Sendable {
    private let reader: SharedDescriptor
    /// The other end of the pipe, until ``cancel()``.
    private let writer: Mutex<SharedDescriptor?>

    /// Throws when the process has no descriptor left.
    public init() throws(SystemCallError) {
        let ends = try PipeEnds()
        reader = SharedDescriptor(ends.reader)
        writer = Mutex(SharedDescriptor(ends.writer))
    }

    public var isCancelled: Bool { writer.withLock { $0 == nil } }

    /// Ends the present wait and all later ones. Does not block; may be called more than once.
    public func cancel() {
        writer.withLock { writer in
            guard let open = writer else { return }
            // The first byte in a pipe never blocks.
            var byte: UInt8 = 1
            while unsafe write(open.number, &byte, 1) < 0, errno == EINTR {}
            writer = nil
        }
    }

    /// Readable after ``cancel()``, for `poll` alone: nobody reads from it.
    public var descriptor: CInt { reader.number }
}
