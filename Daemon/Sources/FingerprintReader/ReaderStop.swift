import CLinuxShims
import Glibc
import Synchronization
public import UnixSocket

/// Ends a wait for a fingerprint reader, or for a PAM service, from another thread. Use it for one claim, one attempt, or one
/// question about readers.
public final class ReaderStop: Sendable {
    private let signal: SharedDescriptor
    /// The other end of the pipe: closing it makes ``descriptor`` readable.
    private let open: Mutex<SharedDescriptor?>

    /// Throws when the process has no descriptor left.
    public init() throws(SystemCallError) {
        var ends: [CInt] = [-1, -1]
        guard unsafe ostiary_pipe(&ends) == 0 else { throw SystemCallError("pipe2") }
        signal = SharedDescriptor(Descriptor(owning: ends[0]))
        open = Mutex(SharedDescriptor(Descriptor(owning: ends[1])))
    }

    public var isCancelled: Bool { open.withLock { $0 == nil } }

    /// Ends the present wait and all later ones. Does not block; may be called more than once.
    public func cancel() { open.withLock { $0 = nil } }

    /// Readable after ``cancel()``.
    public var descriptor: CInt { signal.number }
}
