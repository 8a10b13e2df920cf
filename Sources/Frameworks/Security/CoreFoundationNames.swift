// Core Foundation's names on Linux: the toll-free bridged Foundation classes, so that `query as CFDictionary`,
// `kSecClass as String` and `Unmanaged<CFError>` compile as on Apple's systems. Not Core Foundation: a program that also
// imports the toolchain's C module `CoreFoundation` finds these names ambiguous and has to choose.
public import Foundation

public typealias CFTypeRef = AnyObject
public typealias CFString = NSString
public typealias CFMutableString = NSMutableString
public typealias CFData = NSData
public typealias CFMutableData = NSMutableData
public typealias CFNumber = NSNumber
public typealias CFDate = NSDate
public typealias CFURL = NSURL
public typealias CFArray = NSArray
public typealias CFMutableArray = NSMutableArray
public typealias CFDictionary = NSDictionary
public typealias CFMutableDictionary = NSMutableDictionary
public typealias CFSet = NSSet
public typealias CFNull = NSNull
public typealias CFError = NSError
public typealias CFIndex = Int
public typealias CFTypeID = UInt
public typealias CFHashCode = UInt
public typealias CFOptionFlags = UInt
public typealias CFTimeInterval = Double
public typealias CFAbsoluteTime = Double

/// Where memory comes from. There is one kind here, so every call takes nil.
public final class CFAllocator: NSObject, Sendable {
    private override init() {}
}

/// The allocator of every call: nil.
public let kCFAllocatorDefault: CFAllocator! = nil

/// The allocator that frees nothing (Apple's `kCFAllocatorNull`): nil as well, since no call here uses one.
public let kCFAllocatorNull: CFAllocator! = nil

/// The null object.
public var kCFNull: CFNull! { NSNull() }

/// Four characters as a number, such as ``kSecAttrCreator`` has (Apple's MacTypes).
public typealias FourCharCode = UInt32

/// The same as a type of something (Apple's MacTypes).
public typealias OSType = FourCharCode

/// Where a call that reports failure by `false` puts its error (Apple's Foundation). Foundation on Linux lacks the name.
public typealias NSErrorPointer = UnsafeMutablePointer<NSError?>?

/// A whole number, `Int` (Apple's Foundation). Foundation on Linux lacks the name.
public typealias NSInteger = Int

/// A whole number without a sign, `UInt` (Apple's Foundation). Foundation on Linux lacks the name.
public typealias NSUInteger = UInt
