import Dispatch
import Synchronization

/// Work that is done once for all threads that ask for it at the same time.
///
/// A thread never gets the result of work that began before it asked: that work may have seen an earlier state. So the threads
/// that ask while one works wait for the next round, and one of them works for all of these.
package final class SharedRounds<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    /// A thread that waits for a round.
    private final class Waiter: Sendable {
        private let value = Mutex<Value?>(nil)
        private let ended = DispatchSemaphore(value: 0)

        /// The round's result; nil when this thread has to work, for the others too.
        func wait() -> Value? {
            ended.wait()
            return value.withLock { $0 }
        }

        func finish(with value: Value?) {
            self.value.withLock { $0 = value }
            ended.signal()
        }
    }

    private struct Round {
        /// The threads that get the result.
        var served: [Waiter] = []
        /// The threads that came since the round began.
        var next: [Waiter] = []
    }

    private let rounds = Mutex<[Key: Round]>([:])

    package init() {}

    /// The result of `work`, which began after this call, on this thread or on another one that passed the same key.
    ///
    /// Waits for at most two rounds. `work` must not ask for the same key.
    ///
    /// - Returns: the result, and whether this thread did the work.
    package func value(for key: Key, _ work: () -> Value) -> (value: Value, isOwn: Bool) {
        if let waiter = waiter(for: key), let value = waiter.wait() { return (value, false) }
        let value = work()
        end(key, with: value)
        return (value, true)
    }

    /// Threads that wait for the round after the present one.
    package func waitingCount(for key: Key) -> Int { rounds.withLock { $0[key]?.next.count ?? 0 } }

    /// Nil when nobody works for the key; then this thread does from now on.
    private func waiter(for key: Key) -> Waiter? {
        rounds.withLock { rounds in
            guard rounds[key] != nil else {
                rounds[key] = Round()
                return nil
            }
            let waiter = Waiter()
            rounds[key]?.next.append(waiter)
            return waiter
        }
    }

    private func end(_ key: Key, with value: Value) {
        let (served, leader) = rounds.withLock { rounds -> ([Waiter], Waiter?) in
            let round = rounds.removeValue(forKey: key) ?? Round()
            guard let leader = round.next.first else { return (round.served, nil) }
            rounds[key] = Round(served: Array(round.next.dropFirst()))
            return (round.served, leader)
        }
        for waiter in served { waiter.finish(with: value) }
        leader?.finish(with: nil)
    }
}
