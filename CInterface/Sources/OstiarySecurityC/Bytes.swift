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
