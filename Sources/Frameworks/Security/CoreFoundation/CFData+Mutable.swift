public import Foundation

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
