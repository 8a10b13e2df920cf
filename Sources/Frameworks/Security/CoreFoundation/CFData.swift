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

/// Empty data to be filled; the capacity is ignored. Nil for a negative capacity.
@discardableResult
public func CFDataCreateMutable(_ allocator: CFAllocator!, _ capacity: CFIndex) -> CFMutableData! {
    capacity >= 0 ? NSMutableData() : nil
}

/// A copy of `theData`; nil for nil.
@discardableResult
public func CFDataCreateCopy(_ allocator: CFAllocator!, _ theData: CFData!) -> CFData! {
    theData.map { NSData(data: $0 as Data) }
}

/// A copy of `theData` that can be changed; the capacity is ignored. Nil for nil and for a negative capacity.
@discardableResult
public func CFDataCreateMutableCopy(
    _ allocator: CFAllocator!, _ capacity: CFIndex, _ theData: CFData!
) -> CFMutableData! {
    guard let theData, capacity >= 0 else { return nil }
    return NSMutableData(data: theData as Data)
}

/// Adds `length` bytes at the end; none for a negative length and for nil.
public func CFDataAppendBytes(_ theData: CFMutableData!, _ bytes: UnsafePointer<UInt8>!, _ length: CFIndex) {
    guard let theData, let bytes = unsafe bytes, length > 0 else { return }
    unsafe theData.append(bytes, length: length)
}

/// The bytes of `theData` to be changed; they stay there until its length changes. Nil for nil.
@discardableResult
public func CFDataGetMutableBytePtr(_ theData: CFMutableData!) -> UnsafeMutablePointer<UInt8>! {
    unsafe theData?.mutableBytes.assumingMemoryBound(to: UInt8.self)
}

/// Cuts the data, or lengthens it with zeros; nothing for a negative length.
public func CFDataSetLength(_ theData: CFMutableData!, _ length: CFIndex) {
    guard let theData, length >= 0 else { return }
    theData.length = length
}

extension Data {
    /// The bytes of an object, copied at once. `object as Data` on Linux takes them one by one: seconds for ten megabytes.
    init(copying object: NSData) {
        self = unsafe Data(bytes: object.bytes, count: object.length)
    }
}
