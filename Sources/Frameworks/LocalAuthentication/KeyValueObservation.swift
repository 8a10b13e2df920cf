// Key-value observation as Foundation offers it to Swift on Apple's systems. Foundation on Linux has none of it; here it
// serves the one property of this module that Apple declares observable, `LARight.state`.
public import Foundation
import Synchronization

/// The changes that an observer wants to hear of (Apple's `NSKeyValueObservingOptions`).
public struct NSKeyValueObservingOptions: OptionSet, Sendable {
    public let rawValue: UInt

    public init(rawValue: UInt) { self.rawValue = rawValue }

    /// The new value.
    public static let new = NSKeyValueObservingOptions(rawValue: 1)
    /// The value before the change.
    public static let old = NSKeyValueObservingOptions(rawValue: 2)
    /// One call with the current value when the observation begins.
    public static let initial = NSKeyValueObservingOptions(rawValue: 4)
    /// One call more for each change, before the usual one and with ``NSKeyValueObservedChange/isPrior`` set.
    public static let prior = NSKeyValueObservingOptions(rawValue: 8)
}

/// How a value changed (Apple's `NSKeyValueChange`). A right's state is always set.
public enum NSKeyValueChange: UInt, Sendable {
    case setting = 1
    case insertion = 2
    case removal = 3
    case replacement = 4
}

/// A change that an observer is told of (Apple's `NSKeyValueObservedChange`).
public struct NSKeyValueObservedChange<Value> {
    public typealias Kind = NSKeyValueChange

    /// Always ``NSKeyValueChange/setting``.
    public let kind: Kind
    /// The value after the change; nil unless ``NSKeyValueObservingOptions/new`` was asked for.
    public let newValue: Value?
    /// The value before the change; nil unless ``NSKeyValueObservingOptions/old`` was asked for.
    public let oldValue: Value?
    /// Always nil: only collections have indexes.
    public let indexes: IndexSet?
    /// Whether this is the call that comes before the usual one.
    public let isPrior: Bool
}

extension NSKeyValueObservedChange: Sendable where Value: Sendable {}

/// An observation that lasts until it is invalidated or released (Apple's `NSKeyValueObservation`).
public final class NSKeyValueObservation: NSObject, Sendable {
    private let end: Mutex<(@Sendable () -> Void)?>

    init(end: @escaping @Sendable () -> Void) { self.end = Mutex(end) }

    deinit { invalidate() }

    /// Ends the observation. A call of the handler that is under way on another thread is not waited for.
    public func invalidate() {
        let end = end.withLock { $0.take() }
        end?()
    }
}
