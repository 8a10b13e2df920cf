import Foundation
import LocalAuthentication
import OpenCombine

/// One subscriber of a right's state.
final class StateSubscription: Subscription, @unchecked Sendable {
    // SAFETY: (@unchecked) everything below is read and written under `lock`. The subscriber is called outside of it,
    // under `delivery`, which only keeps values of two threads apart and may be entered again by what the subscriber
    // calls.
    private let lock = NSLock()
    private let delivery = NSRecursiveLock()
    /// Kept alive while somebody subscribes.
    private var right: LARight?
    private var receive: ((LARight.State) -> Subscribers.Demand)?
    private var observation: NSKeyValueObservation?
    private var demand = Subscribers.Demand.none
    /// The latest state that nobody asked for yet.
    private var pending: LARight.State?

    init(right: LARight, receive: @escaping (LARight.State) -> Subscribers.Demand) {
        self.right = right
        self.receive = receive
    }

    /// Begins to observe, once the subscriber knows its subscription: `observe` is given what to call with each state.
    func begin(_ observe: (@escaping @Sendable (LARight.State) -> Void) -> NSKeyValueObservation) {
        let observation = observe { [weak self] in self?.send($0) }
        let isCancelled = lock.withLock {
            if receive != nil { self.observation = observation }
            return receive == nil
        }
        if isCancelled { observation.invalidate() }
    }

    private func send(_ state: LARight.State) {
        delivery.lock()
        defer { delivery.unlock() }
        let receive: ((LARight.State) -> Subscribers.Demand)? = lock.withLock {
            guard demand > 0 else {
                pending = state
                return nil
            }
            demand -= 1
            return self.receive
        }
        guard let more = receive?(state) else { return }
        lock.withLock { demand += more }
    }

    func request(_ demand: Subscribers.Demand) {
        delivery.lock()
        defer { delivery.unlock() }
        let waiting: LARight.State? = lock.withLock {
            self.demand += demand
            return pending.take()
        }
        if let waiting { send(waiting) }
    }

    func cancel() {
        // Handed out of the lock before they are released: what a subscriber does in the end may come back here.
        let ended = lock.withLock {
            defer { (right, receive, observation, pending) = (nil, nil, nil, nil) }
            return (right, receive, observation)
        }
        ended.2?.invalidate()
    }
}
