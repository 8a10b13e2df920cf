import Dispatch
import Glibc
import Synchronization
import UnixSocket

/// The work that other threads give the thread of a served connection.
final class ServerQueue: Sendable {
    typealias Work = @Sendable (ServedConnection) -> Void

    private enum Wait {
        case none
        /// The thread waits, or is about to.
        case begun
        /// Somebody writes the byte that ends the wait, or has written it.
        case ending
    }

    private struct State {
        var work: [Work] = []
        var wait = Wait.none
        var isOver = false
        var thread: pthread_t?
    }

    private let state = Mutex(State())
    // The pipe holds at most one byte. It is written for a wait, and read after it.
    private let reader: SharedDescriptor
    private let writer: SharedDescriptor

    init() throws(BusError) {
        do throws(SystemCallError) {
            let ends = try PipeEnds()
            reader = SharedDescriptor(ends.reader)
            writer = SharedDescriptor(ends.writer)
        } catch { throw BusError("pipe2", code: error.code) }
    }

    /// Readable once there is work, after ``beginWait()``.
    var descriptor: CInt { reader.number }

    /// Has the connection's thread do it; returns at once. False after the connection's end: then nobody does.
    @discardableResult
    func add(_ work: @escaping Work) -> Bool {
        let (isTaken, isWaiting) = state.withLock { state in
            guard !state.isOver else { return (false, false) }
            state.work.append(work)
            guard state.wait == .begun else { return (true, false) }
            state.wait = .ending
            return (true, true)
        }
        // Not under the lock: the thread wakes up at once, and would have to wait for it.
        if isWaiting { signal() }
        return isTaken
    }

    /// The thread is about to wait for ``descriptor``. False if there is work, for which nothing makes that readable.
    func beginWait() -> Bool {
        state.withLock { state in
            guard state.work.isEmpty else { return false }
            state.wait = .begun
            return true
        }
    }

    /// The work that came since, in its order. Ends a wait, and waits for nothing.
    func takeAll() -> [Work] {
        let (work, isEnding) = state.withLock { state in
            defer { (state.work, state.wait) = ([], .none) }
            return (state.work, state.wait == .ending)
        }
        if isEnding { clear() }
        return work
    }

    /// Takes no more work; returns the rest.
    func end() -> [Work] {
        state.withLock { $0.isOver = true }
        return takeAll()
    }

    // MARK: the thread

    /// This thread is the connection's.
    func noteThread() { state.withLock { $0.thread = pthread_self() } }

    /// Whether this thread is the connection's, which must not wait for itself. When the connection is over, its thread may have ended,
    /// and the system may give its number to another one.
    var isOwnThread: Bool { state.withLock { !$0.isOver && $0.thread == pthread_self() } }

    // MARK: the pipe

    /// Never blocks: the pipe is empty.
    private func signal() {
        var byte: UInt8 = 1
        while unsafe write(writer.number, &byte, 1) < 0, errno == EINTR {}
    }

    /// Blocks no longer than another thread takes from its mark to its byte.
    private func clear() {
        var byte: UInt8 = 0
        while unsafe read(reader.number, &byte, 1) < 0, errno == EINTR {}
    }
}

/// A value that one thread gives and another one waits for.
final class Handover<Value: Sendable>: Sendable {
    private let value = Mutex<Value?>(nil)
    private let given = DispatchSemaphore(value: 0)

    func give(_ value: Value) {
        self.value.withLock { $0 = value }
        given.signal()
    }

    /// Waits for the value. To be called once.
    func take() -> Value {
        given.wait()
        return value.withLock { $0! }
    }
}
