import Foundation
public import Security

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

@c(ostiary_CFDateCreate)
public func createDate(_ allocator: Handle?, _ time: Double) -> Handle? { Handle(owning: CFDateCreate(nil, time)) }

@c(ostiary_CFAbsoluteTimeGetCurrent)
public func currentTime() -> Double { CFAbsoluteTimeGetCurrent() }

@c(ostiary_CFDateGetAbsoluteTime)
public func absoluteTime(_ date: Handle?) -> Double { CFDateGetAbsoluteTime(date.object(NSDate.self)) }

@c(ostiary_CFDateGetTimeIntervalSinceDate)
public func timeInterval(_ date: Handle?, _ other: Handle?) -> Double {
    CFDateGetTimeIntervalSinceDate(date.object(NSDate.self), other.object(NSDate.self))
}

@c(ostiary_CFDateCompare)
public func compareDates(_ first: Handle?, _ second: Handle?, _ context: UnsafeMutableRawPointer?) -> CFIndex {
    CFDateCompare(first.object(NSDate.self), second.object(NSDate.self), nil).rawValue
}

/// Makes `kCFNull`, once, when the library is loaded.
@c(ostiary_null_create)
public func createNull() -> Handle? { Handle(owning: NSNull()) }
