import Foundation

@c(ostiary_CFDataCreate)
func createData(_ allocator: Handle?, _ bytes: UnsafePointer<UInt8>?, _ length: Int) -> Handle? {
    guard length >= 0 else { return nil }
    guard length > 0 else { return Handle(owning: NSData()) }
    guard let bytes else { return nil }
    return Handle(owning: NSData(bytes: bytes, length: length))
}

@c(ostiary_CFDataGetLength)
func dataLength(_ data: Handle?) -> Int { data.object(NSData.self)?.length ?? 0 }

@c(ostiary_CFDataGetBytePtr)
func dataBytes(_ data: Handle?) -> Handle? { data.object(NSData.self)?.bytes }
