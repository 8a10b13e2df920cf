import Foundation
public import Security

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
