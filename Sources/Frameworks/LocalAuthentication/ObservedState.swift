import CLocalAuthentication
import Foundation
import Synchronization

/// One step of a right's life cycle.
struct StateChange: Sendable {
    /// Nil for the call that tells a new observer the current state.
    let old: LARightState?
    let new: LARightState
}

/// Somebody who is told of each step, in order, never under a lock.
final class StateObserver: Sendable {
    let receive: @Sendable (LARight, StateChange) -> Void
    /// Called once when there will be no further step, since the right is gone.
    let finish: @Sendable () -> Void

    init(
        receive: @escaping @Sendable (LARight, StateChange) -> Void, finish: @escaping @Sendable () -> Void = {}
    ) {
        self.receive = receive
        self.finish = finish
    }
}

/// The state of a right and those who watch it.
///
/// A change takes effect at once and is queued for the observers in the same step; ``deliver()`` then tells them one
/// change at a time, on the thread that calls it. An observer may therefore make any call, even one that changes the
/// state again: observers hear of that change after the current one.
final class ObservedState: Sendable {
    private struct Contents {
        var value = LARightState.unknown
        var owner = WeakRight()
        var observers: [StateObserver] = []
        var deliveries: [Delivery] = []
        var isDelivering = false
    }

    private struct Delivery {
        let change: StateChange
        let observers: [StateObserver]
    }

    private struct WeakRight: @unchecked Sendable {
        // SAFETY: (@unchecked) the reference is written once, before the right is known to anybody else. Observers get
        // the right on the thread of the change, as with Apple's class; its own state is behind locks.
        weak var right: LARight?
    }

    private let contents = Mutex(Contents())

    /// Names the right that is handed to observers. It is not kept alive.
    func attach(to right: LARight) {
        let owner = WeakRight(right: right)
        contents.withLock { $0.owner = owner }
    }

    /// The current state.
    var value: LARightState { contents.withLock { $0.value } }

    /// Changes the state. Call ``deliver()`` after every lock is released.
    func set(_ new: LARightState) {
        contents.withLock { contents in
            guard contents.value != new else { return }
            let change = StateChange(old: contents.value, new: new)
            contents.value = new
            contents.deliveries.append(Delivery(change: change, observers: contents.observers))
        }
    }

    /// Tells the observers of the changes they were not told of yet. Does nothing while another call, on this thread or
    /// another one, is at it: that call tells the new ones too.
    func deliver() {
        guard
            contents.withLock({ contents in
                defer { contents.isDelivering = true }
                return !contents.isDelivering
            })
        else { return }
        while let (delivery, right) = next() {
            guard let right else { continue }
            for observer in delivery.observers where isObserving(observer) { observer.receive(right, delivery.change) }
            Self.post(delivery.change, of: right)
        }
    }

    private func next() -> (Delivery, LARight?)? {
        let (delivery, owner) = contents.withLock { contents -> (Delivery?, WeakRight) in
            guard !contents.deliveries.isEmpty else {
                contents.isDelivering = false
                return (nil, contents.owner)
            }
            return (contents.deliveries.removeFirst(), contents.owner)
        }
        return delivery.map { ($0, owner.right) }
    }

    /// Posts the notification of a change, if it has one; the first call of a new observer is no change.
    private static func post(_ change: StateChange, of right: LARight) {
        guard change.old != nil else { return }
        switch change.new {
        case .authorized: NotificationCenter.default.post(name: LARight.didBecomeAuthorizedNotification, object: right)
        case .notAuthorized:
            NotificationCenter.default.post(name: LARight.didBecomeUnauthorizedNotification, object: right)
        default: break
        }
    }

    // MARK: observers

    /// Adds an observer; with `tellsCurrent` it is told the current state first.
    func add(_ observer: StateObserver, tellsCurrent: Bool) {
        contents.withLock { contents in
            contents.observers.append(observer)
            guard tellsCurrent else { return }
            let current = StateChange(old: nil, new: contents.value)
            contents.deliveries.append(Delivery(change: current, observers: [observer]))
        }
        deliver()
    }

    /// Takes an observer away; it is told nothing from now on.
    func remove(_ observer: StateObserver) {
        contents.withLock { $0.observers.removeAll { $0 === observer } }
    }

    private func isObserving(_ observer: StateObserver) -> Bool {
        contents.withLock { $0.observers.contains { $0 === observer } }
    }

    /// Ends all observation: the right is gone.
    func finish() {
        let observers = contents.withLock { contents in
            defer { contents.observers = [] }
            return contents.observers
        }
        for observer in observers { observer.finish() }
    }
}
