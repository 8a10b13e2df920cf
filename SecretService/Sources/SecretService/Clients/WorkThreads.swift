import DetachedThreads
import Dispatch
import MessageBus
import SecretItems
import Synchronization

/// A piece of work; it returns what is left of it for its client's next turn.
struct TurnWork: Sendable {
    let run: @Sendable () -> TurnWork?

    init(_ run: @escaping @Sendable () -> TurnWork?) { self.run = run }
}

/// Threads that carry out the calls of all clients, in turn. They wait without waking up while there is nothing to do.
final class WorkThreads: Sendable {
    /// Whose turn it is: the processes of a program are a group.
    enum Group: Hashable, Sendable {
        /// The service's own work.
        case service
        /// Nil for programs that may not be looked at.
        case program(CallerFile?)
    }

    typealias Queue = FairQueue<Group, Int32?, TurnWork>

    private struct State {
        var queue = Queue()
        var threadCount = 0
        /// What the threads wait for that nobody has woken. The one that waits last is woken first: what it needs is in the processor's caches.
        var idle: [DispatchSemaphore] = []
        var isOver = false
        /// Pieces of work that were begun.
        var begunCount = 0
        /// Whether any was since memory was given back.
        var isWarm = false

        mutating func next() -> (client: Queue.Client, work: TurnWork)? {
            guard let next = queue.next() else { return nil }
            begunCount += 1
            isWarm = true
            return next
        }

        /// A thread that can begin what has come, for the caller to wake when the lock is given back: it would find it taken.
        mutating func wakeable() -> DispatchSemaphore? { queue.hasNext ? idle.popLast() : nil }
    }

    private enum Step {
        case refuse
        case wake(DispatchSemaphore?)
        case start
    }

    /// A call reads messages of the daemon and encrypts.
    private static let stackByteCount = 512 * 1024

    /// Clients bring back what they need within a third of a millisecond, so a pause within a burst of calls is not worth it.
    static let quietTime = DispatchTimeInterval.seconds(1)

    private let state = Mutex(State())
    private let limit: Int
    private let quietTime: DispatchTimeInterval
    private let whenQuiet: @Sendable () -> Void

    /// - Parameters:
    ///   - quietTime: how long nothing is to be done before memory is given back.
    ///   - whenQuiet: gives it back, once between two pieces of work.
    init(
        limit: Int = ServiceLimits.threadCount, quietTime: DispatchTimeInterval = WorkThreads.quietTime,
        whenQuiet: @escaping @Sendable () -> Void = { SecretsProgram.settle() }
    ) { (self.limit, self.quietTime, self.whenQuiet) = (limit, quietTime, whenQuiet) }

    /// Has `work` done, after the earlier work of the same client. False if the system gives no thread; then it never is.
    ///
    /// - Parameter holder: the client; nil for the service itself.
    func add(of holder: Holder?, _ work: TurnWork) -> Bool {
        let client =
            holder.map { Queue.Client(group: .program($0.program), key: $0.processID) }
            ?? Queue.Client(group: .service, key: nil)
        let step = state.withLock { state -> Step in
            guard !state.isOver else { return .refuse }
            state.queue.add(work, of: client)
            guard state.idle.isEmpty, state.threadCount < limit else { return .wake(state.wakeable()) }
            state.threadCount += 1
            return .start
        }
        switch step {
        case .refuse: return false
        case .wake(let thread):
            thread?.signal()
            return true
        case .start: return start()
        }
    }

    /// Ends when all work that was added before is done.
    func end() {
        let idle = state.withLock { state in
            state.isOver = true
            defer { state.idle = [] }
            return state.idle
        }
        for thread in idle { thread.signal() }
    }

    private func start() -> Bool {
        let isStarted = DetachedThread.start(stackByteCount: Self.stackByteCount) { [self] in run() }
        guard !isStarted else { return true }
        // Another thread does it, if there is one.
        let (thread, isDone) = state.withLock { state in
            state.threadCount -= 1
            return (state.wakeable(), state.threadCount > 0)
        }
        thread?.signal()
        return isDone
    }

    private func run() {
        let available = DispatchSemaphore(value: 0)
        var done: (client: Queue.Client, rest: TurnWork?)?
        while let (client, work) = next(after: done, waitingFor: available) { done = (client, work.run()) }
    }

    /// Waits for work; nil at the end.
    ///
    /// - Parameter done: the client whose work this thread has done, and what is left of that work.
    private func next(
        after done: (client: Queue.Client, rest: TurnWork?)?, waitingFor available: DispatchSemaphore
    ) -> (client: Queue.Client, work: TurnWork)? {
        var done = done
        while true {
            let (next, begunCount) = state.withLock { state -> ((client: Queue.Client, work: TurnWork)?, Int?) in
                if let done = done.take() { state.queue.finish(done.client, leaving: done.rest) }
                if let next = state.next() { return (next, nil) }
                guard !state.isOver else { return (nil, nil) }
                state.idle.append(available)
                return (nil, state.begunCount)
            }
            guard let begunCount else { return next }
            wait(for: available, since: begunCount)
        }
    }

    /// - Parameter begunCount: how many pieces of work were begun before the wait.
    private func wait(for available: DispatchSemaphore, since begunCount: Int) {
        guard available.wait(timeout: .now() + quietTime) == .timedOut else { return }
        let isQuiet = state.withLock { state in
            guard state.isWarm, state.begunCount == begunCount, state.idle.count == state.threadCount else {
                return false
            }
            state.isWarm = false
            return true
        }
        if isQuiet { whenQuiet() }
        available.wait()
    }
}
