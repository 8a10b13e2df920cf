import Foundation
import Security

/// The C types of numbers (Apple's `CFNumberType`).
private enum NumberType: Int {
    case int8 = 1, int16, int32, int64, float32, float64, char, short, int, long, longLong, float, double, index

    /// The number at an address.
    func number(at value: UnsafeRawPointer) -> NSNumber {
        switch self {
        case .int8, .char: NSNumber(value: value.loadUnaligned(as: Int8.self))
        case .int16, .short: NSNumber(value: value.loadUnaligned(as: Int16.self))
        case .int32, .int: NSNumber(value: value.loadUnaligned(as: Int32.self))
        case .int64, .long, .longLong, .index: NSNumber(value: value.loadUnaligned(as: Int64.self))
        case .float32, .float: NSNumber(value: value.loadUnaligned(as: Float.self))
        case .float64, .double: NSNumber(value: value.loadUnaligned(as: Double.self))
        }
    }

    /// Writes the number to an address, if it is exactly one of this type; whether it was.
    func write(_ number: NSNumber, to place: UnsafeMutableRawPointer) -> Bool {
        func store<Value: BitwiseCopyable>(_ value: Value?) -> Bool {
            guard let value else { return false }
            place.storeBytes(of: value, as: Value.self)
            return true
        }
        return switch self {
        case .int8, .char: store(Int8(exactly: number))
        case .int16, .short: store(Int16(exactly: number))
        case .int32, .int: store(Int32(exactly: number))
        case .int64, .long, .longLong, .index: store(Int64(exactly: number))
        case .float32, .float: store(Float(exactly: number))
        case .float64, .double: store(Double(exactly: number))
        }
    }
}

@c(ostiary_CFNumberCreate)
func createNumber(_ allocator: Handle?, _ type: Int, _ value: UnsafeRawPointer?) -> Handle? {
    guard let type = NumberType(rawValue: type), let value else { return nil }
    return Handle(owning: type.number(at: value))
}

@c(ostiary_CFNumberGetValue)
func numberValue(_ number: Handle?, _ type: Int, _ value: UnsafeMutableRawPointer?) -> UInt8 {
    guard let number = number.object(NSNumber.self), !number.isBoolean, let type = NumberType(rawValue: type), let value
    else { return 0 }
    return type.write(number, to: value) ? 1 : 0
}

/// Makes `kCFBooleanTrue` and `kCFBooleanFalse`, once, when the library is loaded.
@c(ostiary_boolean_create)
func createBoolean(_ value: UInt8) -> Handle? { Handle(owning: NSNumber(value: value != 0)) }

@c(ostiary_CFBooleanGetValue)
func booleanValue(_ boolean: Handle?) -> UInt8 {
    guard let boolean = boolean.object(NSNumber.self), boolean.isBoolean else { return 0 }
    return boolean.boolValue ? 1 : 0
}
