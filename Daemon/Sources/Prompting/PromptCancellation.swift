import Cancellations
import Glibc
import PromptProtocol
import Synchronization
public import UnixSocket

/// Takes a question away from another thread, while the question waits for its turn or is on screen.
public final class PromptCancellation: Sendable {
    private let state = Mutex<PromptInterruption?>(nil)
    private let signal: PollableCancellation

    /// Throws when there are no descriptors left.
    public init() throws(SystemCallError) { signal = try PollableCancellation() }

    /// Takes the question away. The first reason stays; later calls do nothing. An answer that is already on its way is
    /// dropped.
    public func cancel(because interruption: PromptInterruption) {
        let isFirst = state.withLock { state in
            guard state == nil else { return false }
            state = interruption
            return true
        }
        if isFirst { signal.cancel() }
    }

    /// Why the question was taken away; nil if it was not.
    public var interruption: PromptInterruption? { state.withLock { $0 } }

    /// Waits until the question is taken away, at most so long; nil if it was not. For prompters in this process.
    public func wait(milliseconds: CInt) -> PromptInterruption? {
        var polled = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        while unsafe poll(&polled, 1, milliseconds) < 0, errno == EINTR {}
        return interruption
    }

    /// Readable when the question was taken away.
    package var descriptor: CInt { signal.descriptor }
}
