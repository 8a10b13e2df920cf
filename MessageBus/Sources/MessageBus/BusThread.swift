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
    private let current = Mutex((state: State.starting, delay: RetryDelay()))
    private let stopping = Atomic(false)

    /// - Parameters:
    ///   - name: the thread's, at most 15 bytes.
    ///   - socketPath: where the bus listens.
    ///   - work: called on the thread, once for each connection.
    public init(name: String, socketPath: String, work: @escaping Work) {
        self.name = name
        self.socketPath = socketPath
        self.work = work
    }

    public var state: State { current.withLock { $0.state } }

    /// Begins; returns at once.
    ///
    /// - Parameter starter: runs its closure on a thread of this name, now or as soon as the system gives one.
    public func start(by starter: (_ name: String, _ body: @escaping @Sendable () -> Void) -> Void) {
        starter(name) { [self] in run() }
    }

    /// Asks the work to end. Waits for nothing: a thread that waits for the bus ends with the process.
    public func stop() { stopping.store(true, ordering: .sequentiallyConsistent) }

    public var isStopped: Bool { stopping.load(ordering: .sequentiallyConsistent) }

    /// The work says that bus and service answered: when this connection is lost, the next one is tried soon.
    public func isWorking() { current.withLock { $0 = (.working, RetryDelay()) } }

    private func run() {
        while !isStopped {
            do throws(BusError) {
                if let socket = connection() { try work(Bus(on: socket), self) } else { pause(.withoutBus) }
            } catch { pause(.failing(error.description)) }
        }
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
        sleep(UInt32(seconds))
    }
}

/// How long to wait before the bus is tried again: at first a second, then twice as long each time, up to a minute. So
/// a bus that restarts is found at once, and one that never comes costs next to nothing.
struct RetryDelay {
    static let first = 1
    static let longest = 60

    private var seconds = Self.first

    /// The delay before the next try, in seconds.
    mutating func next() -> Int {
        defer { seconds = min(seconds * 2, Self.longest) }
        return seconds
    }
}
