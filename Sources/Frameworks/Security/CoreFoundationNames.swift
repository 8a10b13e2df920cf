// Core Foundation's names on Linux: the toll-free bridged Foundation classes, so that `query as CFDictionary`,
// `kSecClass as String` and `Unmanaged<CFError>` compile as on Apple's systems.
public import Foundation

public typealias CFTypeRef = AnyObject
public typealias CFString = NSString
public typealias CFData = NSData
public typealias CFNumber = NSNumber
public typealias CFDate = NSDate
public typealias CFArray = NSArray
public typealias CFDictionary = NSDictionary
public typealias CFError = NSError
public typealias CFIndex = Int
public typealias CFTypeID = UInt
