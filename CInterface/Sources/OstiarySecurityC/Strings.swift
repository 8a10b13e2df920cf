import Foundation
public import Security
import Synchronization

@c(ostiary_CFStringCreateWithCString)
public func createString(_ allocator: Handle?, _ text: UnsafePointer<CChar>?, _ encoding: UInt32) -> Handle? {
    Handle(owning: CFStringCreateWithCString(nil, text, encoding))
}

@c(ostiary_CFStringGetCString)
public func copyString(_ string: Handle?, _ buffer: UnsafeMutablePointer<CChar>?, _ size: Int, _ encoding: UInt32)
    -> UInt8
{
    CFStringGetCString(string.object(NSString.self), buffer, size, encoding) ? 1 : 0
}

@c(ostiary_CFStringGetCStringPtr)
public func stringPointer(_ string: Handle?, _ encoding: UInt32) -> UnsafePointer<CChar>? {
    CFStringGetCStringPtr(string.object(NSString.self), encoding)
}

@c(ostiary_CFStringCreateCopy)
public func copyString(_ allocator: Handle?, _ string: Handle?) -> Handle? {
    Handle(owning: CFStringCreateCopy(nil, string.object(NSString.self)))
}

@c(ostiary_CFStringGetLength)
public func stringLength(_ string: Handle?) -> Int { CFStringGetLength(string.object(NSString.self)) }

@c(ostiary_CFStringGetMaximumSizeForEncoding)
public func maximumStringSize(_ length: Int, _ encoding: UInt32) -> Int {
    CFStringGetMaximumSizeForEncoding(length, encoding)
}

@c(ostiary_CFStringCompare)
public func compareStrings(_ first: Handle?, _ second: Handle?, _ options: CFOptionFlags) -> CFIndex {
    let flags = CFStringCompareFlags(rawValue: options)
    return CFStringCompare(first.object(NSString.self), second.object(NSString.self), flags).rawValue
}

/// The addresses of the texts that `CFSTR` made, by their bytes: each is made once and never freed.
private let constantStrings = Mutex<[[UInt8]: UInt]>([:])

/// The function that `CFSTR` calls.
@c(ostiary_constant_string)
public func constantString(_ text: UnsafePointer<CChar>?) -> Handle? {
    guard let text, let string = String(validatingCString: text) else { return nil }
    let bytes = Array(string.utf8)
    let address = constantStrings.withLock { addresses in
        if let address = addresses[bytes] { return address }
        let address = UInt(bitPattern: Handle(owning: NSString(string: string)))
        addresses[bytes] = address
        return address
    }
    return Handle(bitPattern: address)
}
