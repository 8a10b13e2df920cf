import Foundation
import Security

@c(ostiary_CFDataCreate)
public func createData(_ allocator: Handle?, _ bytes: UnsafePointer<UInt8>?, _ length: Int) -> Handle? {
    Handle(owning: CFDataCreate(nil, bytes, length))
}

@c(ostiary_CFDataCreateWithBytesNoCopy)
public func createDataWithoutCopy(
    _ allocator: Handle?, _ bytes: UnsafePointer<UInt8>?, _ length: Int, _ bytesDeallocator: Handle?
) -> Handle? {
    Handle(owning: CFDataCreateWithBytesNoCopy(nil, bytes, length, nil))
}

@c(ostiary_CFDataGetLength)
public func dataLength(_ data: Handle?) -> Int { CFDataGetLength(data.object(NSData.self)) }

@c(ostiary_CFDataGetBytePtr)
public func dataBytes(_ data: Handle?) -> UnsafePointer<UInt8>? { CFDataGetBytePtr(data.object(NSData.self)) }

@c(ostiary_CFDataCreateCopy)
public func copyData(_ allocator: Handle?, _ data: Handle?) -> Handle? {
    Handle(owning: CFDataCreateCopy(nil, data.object(NSData.self)))
}

@c(ostiary_CFDataCreateMutable)
public func createMutableData(_ allocator: Handle?, _ capacity: Int) -> Handle? {
    Handle(owning: CFDataCreateMutable(nil, capacity))
}

@c(ostiary_CFDataCreateMutableCopy)
public func copyMutableData(_ allocator: Handle?, _ capacity: Int, _ data: Handle?) -> Handle? {
    Handle(owning: CFDataCreateMutableCopy(nil, capacity, data.object(NSData.self)))
}

@c(ostiary_CFDataAppendBytes)
public func appendBytes(_ data: Handle?, _ bytes: UnsafePointer<UInt8>?, _ length: Int) {
    CFDataAppendBytes(data.object(NSMutableData.self), bytes, length)
}

@c(ostiary_CFDataSetLength)
public func setDataLength(_ data: Handle?, _ length: Int) { CFDataSetLength(data.object(NSMutableData.self), length) }

@c(ostiary_CFDataGetMutableBytePtr)
public func mutableDataBytes(_ data: Handle?) -> UnsafeMutablePointer<UInt8>? {
    CFDataGetMutableBytePtr(data.object(NSMutableData.self))
}

@c(SecRandomCopyBytes)
public func copyRandomBytes(_ generator: Handle?, _ count: Int, _ bytes: UnsafeMutableRawPointer?) -> CInt {
    guard let bytes else { return count == 0 ? errSecSuccess : errSecParam }
    return SecRandomCopyBytes(nil, count, bytes)
}
