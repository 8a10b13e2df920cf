public import LocalAuthentication
public import OpenCombine

extension LARightObserving {
    /// Publishes ``LARight/state`` (Apple's `publisher(for:options:)` of `NSObject`): the current state first, then
    /// each change in order. It never completes, and keeps the right alive while somebody subscribes, as Apple's does.
    ///
    /// A subscriber gets no more values than it asks for; of those that come while it asks for none it gets the latest.
    ///
    /// - Parameters:
    ///   - keyPath: `\.state`; nothing else of a right can be observed.
    ///   - options: without `.initial` the current state is not published.
    public func publisher(
        for keyPath: KeyPath<Self, LARight.State>, options: NSKeyValueObservingOptions = [.initial, .new]
    ) -> LARightStatePublisher<Self> {
        LARightStatePublisher(right: self, keyPath: keyPath, options: options)
    }
}

/// Publishes the state of a right (Apple's `NSObject.KeyValueObservingPublisher`).
public struct LARightStatePublisher<Right: LARightObserving>: Publisher {
    public typealias Output = LARight.State
    public typealias Failure = Never

    let right: Right
    let keyPath: KeyPath<Right, LARight.State>
    let options: NSKeyValueObservingOptions

    public func receive<Receiver: Subscriber>(
        subscriber: Receiver
    ) where Receiver.Input == LARight.State, Receiver.Failure == Never {
        let subscription = StateSubscription(right: right, receive: subscriber.receive(_:))
        subscriber.receive(subscription: subscription)
        subscription.begin { send in
            right.observe(keyPath, options: options.union(.new).subtracting(.prior)) { _, change in
                if let state = change.newValue { send(state) }
            }
        }
    }
}
