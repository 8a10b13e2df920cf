public import Foundation

/// The C types of numbers.
public enum CFNumberType: CFIndex, Sendable {
    case sInt8Type = 1, sInt16Type, sInt32Type, sInt64Type, float32Type, float64Type
    case charType, shortType, intType, longType, longLongType, floatType, doubleType
    case cfIndexType, nsIntegerType, cgFloatType

    /// The number at an address.
    fileprivate func number(at value: UnsafeRawPointer) -> NSNumber {
        switch self {
        case .sInt8Type, .charType: unsafe NSNumber(value: value.loadUnaligned(as: Int8.self))
        case .sInt16Type, .shortType: unsafe NSNumber(value: value.loadUnaligned(as: Int16.self))
        case .sInt32Type, .intType: unsafe NSNumber(value: value.loadUnaligned(as: Int32.self))
        case .sInt64Type, .longType, .longLongType, .cfIndexType, .nsIntegerType:
            unsafe NSNumber(value: value.loadUnaligned(as: Int64.self))
        case .float32Type, .floatType: unsafe NSNumber(value: value.loadUnaligned(as: Float.self))
        case .float64Type, .doubleType, .cgFloatType: unsafe NSNumber(value: value.loadUnaligned(as: Double.self))
        }
    }

    /// Writes the number to an address, if it is exactly one of this type; whether it was.
    fileprivate func write(_ number: NSNumber, to place: UnsafeMutableRawPointer) -> Bool {
        func store<Value: BitwiseCopyable>(_ value: Value?) -> Bool {
            guard let value else { return false }
            unsafe place.storeBytes(of: value, as: Value.self)
            return true
        }
        return switch self {
        case .sInt8Type, .charType: store(Int8(exactly: number))
        case .sInt16Type, .shortType: store(Int16(exactly: number))
        case .sInt32Type, .intType: store(Int32(exactly: number))
        case .sInt64Type, .longType, .longLongType, .cfIndexType, .nsIntegerType: store(Int64(exactly: number))
        case .float32Type, .floatType: store(Float(exactly: number))
        case .float64Type, .doubleType, .cgFloatType: store(Double(exactly: number))
        }
    }
}

/// The number at `valuePtr`, which is of the C type that `type` names; nil for nil.
@discardableResult
public func CFNumberCreate(
    _ allocator: CFAllocator!, _ type: CFNumberType, _ valuePtr: UnsafeRawPointer!
) -> CFNumber! {
    guard let place = unsafe valuePtr else { return nil }
    return unsafe type.number(at: place)
}

/// Writes `number` as the C type that `type` names; false, and nothing written, if it is none of that type's values.
/// Apple's writes the nearest one then.
@discardableResult
public func CFNumberGetValue(
    _ number: CFNumber!, _ type: CFNumberType, _ valuePtr: UnsafeMutableRawPointer!
) -> Bool {
    guard let number, let place = unsafe valuePtr else { return false }
    return unsafe type.write(number, to: place)
}

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
