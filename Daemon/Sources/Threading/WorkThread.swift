import Dispatch
import Synchronization

/// A thread that does one piece of work after the other, each when its time has come. While there is none it sleeps.
///
/// A dispatch queue does the same. But after its first use, Dispatch wakes the process every second to look after its threads,
/// and an idle daemon wakes for nothing. So the daemon uses Dispatch for its clock and its semaphores only.
package final class WorkThread: Sendable {
    private let queue: Queue

    /// The thread starts with the first piece of work, or later when the system gives none (``Threads/startEventually(_:_:)``);
    /// the work waits for it.
    package init(name: String) { queue = Queue(name: name) }

    /// Work whose time has not come is dropped.
    deinit { queue.end() }

    /// Does `work` on the thread. Waits for nothing.
    ///
    /// - Parameter delay: how long it waits at least. The time in which the machine is suspended does not count.
    package func run(after delay: Duration = .zero, _ work: @escaping @Sendable () -> Void) {
        queue.add(Queue.Item(due: .now() + delay / .seconds(1), work: work))
    }

    /// Waits until all work is done that `run` took without a delay before this call. Not to be called from such work.
    package func finish() {
        let done = DispatchSemaphore(value: 0)
        run { done.signal() }
        done.wait()
    }

    /// What the thread and its owner share. The thread does not keep the owner.
    private final class Queue: Sendable {
        struct Item: Sendable {
            let due: DispatchTime
            let work: @Sendable () -> Void
        }

        private struct State {
            /// By time, and in the order of coming where the time is the same.
            var items: [Item] = []
            var hasThread = false
            var isOver = false
        }

        private enum Step {
            case work(@Sendable () -> Void)
            case sleep(until: DispatchTime?)
            case end
        }

        private let name: String
        private let state = Mutex(State())
        private let changes = DispatchSemaphore(value: 0)

        init(name: String) { self.name = name }

        func add(_ item: Item) {
            let isFirst = state.withLock { state in
                let place = state.items.lastIndex { $0.due <= item.due }.map { $0 + 1 } ?? 0
                state.items.insert(item, at: place)
                defer { state.hasThread = true }
                return !state.hasThread
            }
            if isFirst { Threads.startEventually(name) { [self] in serve() } } else { changes.signal() }
        }

        func end() {
            state.withLock { $0.isOver = true }
            changes.signal()
        }

        private func serve() {
            while true {
                switch nextStep() {
                case .work(let work): work()
                case .sleep(let time?): _ = changes.wait(timeout: time)
                case .sleep(nil): changes.wait()
                case .end: return
                }
            }
        }

        private func nextStep() -> Step {
            state.withLock { state in
                if let first = state.items.first, first.due <= .now() {
                    state.items.removeFirst()
                    return .work(first.work)
                }
                return state.isOver ? .end : .sleep(until: state.items.first?.due)
            }
        }
    }
}
