import Dispatch
import Glibc
import Synchronization

/// Work whose thread the system refused, until it gives one.
final class LateThreads: Sendable {
    static let shared = LateThreads()

    /// How long after a refusal the next try is, in microseconds.
    private static let pause: UInt32 = 100_000

    private struct Waiting {
        let name: String
        let body: @Sendable () -> Void
    }

    private struct State {
        var waiting: [Waiting] = []
        var hasThread = false
    }

    private let state = Mutex(State())
    private let arrivals = DispatchSemaphore(value: 0)
    /// Spares a start the lock while nothing waits.
    private let isAnyWaiting = Atomic(false)

    func add(_ name: String, _ body: @escaping @Sendable () -> Void) {
        state.withLock { state in
            state.waiting.append(Waiting(name: name, body: body))
            isAnyWaiting.store(true, ordering: .releasing)
        }
        arrivals.signal()
    }

    /// Starts what waits, in the order of its coming, as far as the system gives threads.
    func startWaiting() {
        while isAnyWaiting.load(ordering: .acquiring), let next = takeFirst() {
            do throws(ThreadShortage) { try Threads.create(next.name, next.body) } catch {
                return putBack(next)
            }
        }
    }

    private func takeFirst() -> Waiting? {
        state.withLock { state in
            let first = state.waiting.isEmpty ? nil : state.waiting.removeFirst()
            isAnyWaiting.store(!state.waiting.isEmpty, ordering: .releasing)
            return first
        }
    }

    private func putBack(_ waiting: Waiting) {
        state.withLock { state in
            state.waiting.insert(waiting, at: 0)
            isAnyWaiting.store(true, ordering: .releasing)
        }
    }

    /// Starts the thread that tries again, unless it runs.
    func prepare() throws(ThreadShortage) {
        let isFirst = state.withLock { state in
            defer { state.hasThread = true }
            return !state.hasThread
        }
        guard isFirst else { return }
        do throws(ThreadShortage) { try Threads.create("ostiary-late") { [self] in retry() } } catch {
            state.withLock { $0.hasThread = false }
            throw error
        }
    }

    private func retry() {
        while true {
            arrivals.wait()
            startWaiting()
            while isAnyWaiting.load(ordering: .acquiring) {
                usleep(Self.pause)
                startWaiting()
            }
        }
    }
}
