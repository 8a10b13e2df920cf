public import CLocalAuthentication
public import Foundation

// Apple's `state` is observable through key-value observing. On Linux there is none; these stand in for it.

/// Lets observers of ``LARight`` and its subclasses get the right as the type that they observe.
public protocol LARightObserving: LARight {}

extension LARight: LARightObserving {}

extension LARightObserving {
    /// Observes ``LARight/state`` (Apple's `observe(_:options:changeHandler:)` of `NSObject`).
    ///
    /// The handler is called on the thread of the change, under no lock, once for each change and in their order; it
    /// may call the right. It keeps being called until the observation is invalidated or released. The change carries
    /// the values of that change, while `state` of the right may be a step ahead.
    ///
    /// - Parameter keyPath: `\.state`; nothing else of a right can be observed.
    public func observe(
        _ keyPath: KeyPath<Self, LARight.State>, options: NSKeyValueObservingOptions = [],
        changeHandler: @escaping @Sendable (Self, NSKeyValueObservedChange<LARight.State>) -> Void
    ) -> NSKeyValueObservation {
        let observer = StateObserver { right, change in
            guard let right = right as? Self else { return }
            for observed in change.observed(options) { changeHandler(right, observed) }
        }
        let state = authorization.state
        state.add(observer, tellsCurrent: options.contains(.initial))
        return NSKeyValueObservation { state.remove(observer) }
    }
}

extension StateChange {
    /// The calls that an observer with `options` gets for this change.
    fileprivate func observed(
        _ options: NSKeyValueObservingOptions
    ) -> [NSKeyValueObservedChange<LARight.State>] {
        let oldValue = options.contains(.old) ? old : nil
        let change = NSKeyValueObservedChange(
            kind: .setting, newValue: options.contains(.new) ? new : nil, oldValue: oldValue, indexes: nil,
            isPrior: false)
        guard options.contains(.prior), old != nil else { return [change] }
        let prior = NSKeyValueObservedChange(
            kind: .setting, newValue: nil, oldValue: oldValue, indexes: nil, isPrior: true)
        return [prior, change]
    }
}

extension LARight {
    /// The states of the right, beginning with the current one; ends when the right is gone. Nothing is skipped, however
    /// slowly they are taken, and the sequence does not keep the right alive.
    public var stateUpdates: AsyncStream<State> {
        let (stream, continuation) = AsyncStream.makeStream(of: State.self)
        let observer = StateObserver(
            receive: { _, change in continuation.yield(change.new) }, finish: { continuation.finish() })
        let state = authorization.state
        continuation.onTermination = { _ in state.remove(observer) }
        state.add(observer, tellsCurrent: true)
        return stream
    }

    /// Posted to the default center when a right has become ``LARightState/authorized``; its object is the right.
    /// (Named in Apple's WWDC22 session 10108, absent from the SDK.)
    public static let didBecomeAuthorizedNotification = Notification.Name("LARightDidBecomeAuthorizedNotification")

    /// Posted to the default center when a right has become ``LARightState/notAuthorized``, also after an attempt that
    /// failed; its object is the right. (Named in Apple's WWDC22 session 10108, absent from the SDK.)
    public static let didBecomeUnauthorizedNotification = Notification.Name("LARightDidBecomeUnauthorizedNotification")
}

extension Notification.Name {
    /// The same as ``LARight/didBecomeAuthorizedNotification``.
    public static var didBecomeAuthorizedNotification: Notification.Name { LARight.didBecomeAuthorizedNotification }

    /// The same as ``LARight/didBecomeUnauthorizedNotification``.
    public static var didBecomeUnauthorizedNotification: Notification.Name { LARight.didBecomeUnauthorizedNotification }
}
