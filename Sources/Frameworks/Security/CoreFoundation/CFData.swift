public import Foundation

/// A copy of `length` bytes; nil for a negative length, and for nil with another length than zero.
@discardableResult
public func CFDataCreate(_ allocator: CFAllocator!, _ bytes: UnsafePointer<UInt8>!, _ length: CFIndex) -> CFData! {
    guard length >= 0 else { return nil }
    guard length > 0 else { return NSData() }
    guard let bytes = unsafe bytes else { return nil }
    return unsafe NSData(bytes: bytes, length: length)
}

/// As ``CFDataCreate(_:_:_:)``: copies the bytes, unlike Apple's. The caller keeps its bytes; `bytesDeallocator` is
/// ignored.
@discardableResult
public func CFDataCreateWithBytesNoCopy(
    _ allocator: CFAllocator!, _ bytes: UnsafePointer<UInt8>!, _ length: CFIndex, _ bytesDeallocator: CFAllocator!
) -> CFData! {
    unsafe CFDataCreate(allocator, bytes, length)
}

/// How many bytes `data` has; 0 for nil.
@discardableResult
public func CFDataGetLength(_ data: CFData!) -> CFIndex { data?.length ?? 0 }

/// The bytes of `data`, which live as long as it does; nil for nil.
@discardableResult
public func CFDataGetBytePtr(_ data: CFData!) -> UnsafePointer<UInt8>! {
    unsafe data?.bytes.assumingMemoryBound(to: UInt8.self)
}
