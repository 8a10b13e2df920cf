import Foundation
import Security

@c(ostiary_CFNumberCreate)
public func createNumber(_ allocator: Handle?, _ type: Int, _ value: UnsafeRawPointer?) -> Handle? {
    CFNumberType(rawValue: type).flatMap { Handle(owning: CFNumberCreate(nil, $0, value)) }
}

@c(ostiary_CFNumberGetValue)
public func numberValue(_ number: Handle?, _ type: Int, _ value: UnsafeMutableRawPointer?) -> UInt8 {
    guard let number = number.object(NSNumber.self), CFGetTypeID(number) == CFNumberGetTypeID(),
        let type = CFNumberType(rawValue: type)
    else { return 0 }
    return CFNumberGetValue(number, type, value) ? 1 : 0
}

/// Makes `kCFBooleanTrue` and `kCFBooleanFalse`, once, when the library is loaded.
@c(ostiary_boolean_create)
public func createBoolean(_ value: UInt8) -> Handle? { Handle(owning: NSNumber(value: value != 0)) }

@c(ostiary_CFBooleanGetValue)
public func booleanValue(_ boolean: Handle?) -> UInt8 { CFBooleanGetValue(boolean.object(NSNumber.self)) ? 1 : 0 }
