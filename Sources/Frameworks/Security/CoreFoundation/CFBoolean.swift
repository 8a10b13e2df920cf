public import Foundation

/// A truth value. Swift's own type, and not `NSNumber`, so that clients can extend it and ``CFNumber`` each for itself;
/// as `Any` or `CFTypeRef` it becomes the `NSNumber` that casts to `Bool`.
public typealias CFBoolean = Bool

// The constants are objects, because programs put them into `[String: AnyObject]` and give them to `CFGetTypeID`, which
// no value of Swift's fits. Their type id is ``CFBooleanGetTypeID()``, and they cast to `Bool`.

/// The true value.
public let kCFBooleanTrue: CFNumber! = NSNumber(value: true)
/// The false value.
public let kCFBooleanFalse: CFNumber! = NSNumber(value: false)

/// The truth value of `boolean`.
@discardableResult
public func CFBooleanGetValue(_ boolean: CFBoolean) -> Bool { boolean }

/// The truth value of `boolean`; false for nil and for a number that is no truth value.
@discardableResult
public func CFBooleanGetValue(_ boolean: CFNumber!) -> Bool {
    guard let boolean else { return false }
    return boolean.isBoolean && boolean.boolValue
}
