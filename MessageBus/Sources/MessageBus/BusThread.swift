import Dispatch
import Glibc
import Synchronization
import UnixSocket

/// A thread of its own that keeps a connection to a bus. It connects, works with the connection until that is lost, and
/// tries again: after a second, then after twice as long each time, up to a minute.
public final class BusThread: Sendable {
    public enum State: Equatable, Sendable {
        /// It was not started, or it is connecting.
        case starting
        /// Nobody listens at the socket.
        case withoutBus
        /// The work said so: ``isWorking()``.
        case working
        /// The bus, or a service on it, answered with an error, which names no secret; it is tried again.
        case failing(String)
    }

    /// What it does with a connection. It returns when the thread ``isStopped``, and throws when the connection is lost.
    public typealias Work = @Sendable (_ bus: Bus, _ thread: BusThread) throws(BusError) -> Void

    private let name: String
    private let socketPath: String
    private let work: Work
    private let firstDelay: RetryDelay
    private let current: Mutex<(state: State, delay: RetryDelay)>
    private let stopping = Atomic(false)
    /// The socket of the connection that the thread works with.
    private let live = Mutex<UnixSocket?>(nil)
    /// Ends a pause.
    private let stopped = DispatchSemaphore(value: 0)

    /// - Parameters:
    ///   - name: the thread's, at most 15 bytes.
    ///   - socketPath: where the bus listens.
    ///   - work: called on the thread, once for each connection.
    public convenience init(name: String, socketPath: String, work: @escaping Work) {
        self.init(name: name, socketPath: socketPath, firstDelay: RetryDelay(), work: work)
    }

    /// - Parameter firstDelay: before a bus is tried for the second time.
    init(name: String, socketPath: String, firstDelay: RetryDelay, work: @escaping Work) {
        self.name = name
        self.socketPath = socketPath
        self.firstDelay = firstDelay
        self.work = work
        current = Mutex((state: .starting, delay: firstDelay))
    }

    public var state: State { current.withLock { $0.state } }

    /// Begins; returns at once.
    ///
    /// - Parameter starter: runs its closure on a thread of this name, now or as soon as the system gives one.
    public func start(by starter: (_ name: String, _ body: @escaping @Sendable () -> Void) -> Void) {
        starter(name) { [self] in run() }
    }

    /// Ends the connection, and with it the work; the thread ends soon. Waits for nothing.
    public func stop() {
        stopping.store(true, ordering: .sequentiallyConsistent)
        live.withLock { $0 }?.shutdown()
        stopped.signal()
    }

    public var isStopped: Bool { stopping.load(ordering: .sequentiallyConsistent) }

    /// The work says that bus and service answered: when this connection is lost, the next one is tried soon.
    public func isWorking() { current.withLock { $0 = (.working, firstDelay) } }

    private func run() {
        while !isStopped {
            do throws(BusError) {
                if let socket = connection() { try work(on: socket) } else { pause(.withoutBus) }
            } catch { pause(.failing(error.description)) }
        }
    }

    private func work(on socket: UnixSocket) throws(BusError) {
        live.withLock { $0 = socket }
        defer { live.withLock { $0 = nil } }
        // A stop before this did not see the socket; a later one shuts it down.
        guard !isStopped else { return }
        try work(Bus(on: socket), self)
    }

    private func connection() -> UnixSocket? {
        // Most machines without a bus never get one: no socket is made to find that out.
        guard unsafe access(socketPath, F_OK) == 0 else { return nil }
        do throws(SystemCallError) { return try UnixSocket.connect(to: socketPath) } catch { return nil }
    }

    private func pause(_ state: State) {
        let seconds = current.withLock { current in
            current.state = state
            return current.delay.next()
        }
        _ = stopped.wait(timeout: .now() + .seconds(seconds))
    }
}

/// How long to wait before the bus is tried again: at first a second, then twice as long each time, up to a minute. So
/// a bus that restarts is found at once, and one that never comes costs next to nothing.
struct RetryDelay {
    static let first = 1
    static let longest = 60

    private var seconds: Int

    init(seconds: Int = Self.first) { self.seconds = seconds }

    /// The delay before the next try, in seconds.
    mutating func next() -> Int {
        defer { seconds = min(seconds * 2, Self.longest) }
        return seconds
    }
}
