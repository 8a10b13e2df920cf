import Dispatch
import Glibc
import Synchronization
import UnixSocket

/// The work that other threads give the thread of a served connection.
final class ServerQueue: Sendable {
    typealias Work = @Sendable (ServedConnection) -> Void

    private struct State {
        var work: [Work] = []
        var isOver = false
        var thread: pthread_t?
    }

    private let state = Mutex(State())
    // The pipe holds one byte as long as there is work, and none else.
    private let reader: SharedDescriptor
    private let writer: SharedDescriptor

    init() throws(BusError) {
        do throws(SystemCallError) {
            let ends = try PipeEnds()
            reader = SharedDescriptor(ends.reader)
            writer = SharedDescriptor(ends.writer)
        } catch { throw BusError("pipe2", code: error.code) }
    }

    /// Readable while there is work.
    var descriptor: CInt { reader.number }

    /// Has the connection's thread do it; returns at once. False after the connection's end: then nobody does.
    @discardableResult
    func add(_ work: @escaping Work) -> Bool {
        state.withLock { state in
            guard !state.isOver else { return false }
            if state.work.isEmpty { signal() }
            state.work.append(work)
            return true
        }
    }

    /// The work that came since, in its order. Waits for nothing.
    func takeAll() -> [Work] {
        state.withLock { state in
            if !state.work.isEmpty { clear() }
            defer { state.work = [] }
            return state.work
        }
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

    /// Never blocks: the pipe holds a byte.
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
