import Foundation
import Security

@c(ostiary_CFDataCreate)
func createData(_ allocator: Handle?, _ bytes: UnsafePointer<UInt8>?, _ length: Int) -> Handle? {
    Handle(owning: CFDataCreate(nil, bytes, length))
}

@c(ostiary_CFDataCreateWithBytesNoCopy)
func createDataWithoutCopy(
    _ allocator: Handle?, _ bytes: UnsafePointer<UInt8>?, _ length: Int, _ bytesDeallocator: Handle?
) -> Handle? {
    Handle(owning: CFDataCreateWithBytesNoCopy(nil, bytes, length, nil))
}

@c(ostiary_CFDataGetLength)
func dataLength(_ data: Handle?) -> Int { CFDataGetLength(data.object(NSData.self)) }

@c(ostiary_CFDataGetBytePtr)
func dataBytes(_ data: Handle?) -> UnsafePointer<UInt8>? { CFDataGetBytePtr(data.object(NSData.self)) }
