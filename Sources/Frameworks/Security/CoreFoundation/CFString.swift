public import Foundation

/// An encoding of text in C.
public typealias CFStringEncoding = UInt32

/// The encodings that are known here.
public enum CFStringBuiltInEncodings: CFStringEncoding, Sendable {
    case ASCII = 0x0600
    case UTF8 = 0x0800_0100

    /// The bytes that one UTF-16 unit takes at most.
    fileprivate var maximumByteCount: Int {
        switch self {
        case .ASCII: 1
        case .UTF8: 3
        }
    }

    /// Whether the encoding has all of these bytes of UTF-8.
    fileprivate func encodes(_ bytes: some Sequence<UInt8>) -> Bool {
        switch self {
        case .ASCII: bytes.allSatisfy { $0 < 0x80 }
        case .UTF8: true
        }
    }
}

/// The text that ends with a zero byte; nil for bytes that are none in the encoding, and for an encoding other than
/// ``CFStringBuiltInEncodings``.
@discardableResult
public func CFStringCreateWithCString(
    _ allocator: CFAllocator!, _ text: UnsafePointer<CChar>!, _ encoding: CFStringEncoding
) -> CFString! {
    guard let text = unsafe text, let encoding = CFStringBuiltInEncodings(rawValue: encoding),
        let string = unsafe String(validatingCString: text), encoding.encodes(string.utf8)
    else { return nil }
    return NSString(string: string)
}

/// Writes the text and a zero byte; false, and nothing written, if they do not fit into `bufferSize` bytes, or the
/// encoding does not have the text.
@discardableResult
public func CFStringGetCString(
    _ string: CFString!, _ buffer: UnsafeMutablePointer<CChar>!, _ bufferSize: CFIndex, _ encoding: CFStringEncoding
) -> Bool {
    guard let string, let buffer = unsafe buffer, let encoding = CFStringBuiltInEncodings(rawValue: encoding) else {
        return false
    }
    let text = (string as String).utf8
    guard text.count < bufferSize, encoding.encodes(text) else { return false }
    for (index, byte) in text.enumerated() { unsafe buffer[index] = CChar(bitPattern: byte) }
    unsafe buffer[text.count] = 0
    return true
}

/// The length in UTF-16 units; 0 for nil.
@discardableResult
public func CFStringGetLength(_ string: CFString!) -> CFIndex { string?.length ?? 0 }

/// The most bytes that so many UTF-16 units take, without the zero byte; -1 for a negative length, an unknown encoding
/// and a number that does not fit.
@discardableResult
public func CFStringGetMaximumSizeForEncoding(_ length: CFIndex, _ encoding: CFStringEncoding) -> CFIndex {
    guard length >= 0, let encoding = CFStringBuiltInEncodings(rawValue: encoding) else { return -1 }
    let (size, overflow) = length.multipliedReportingOverflow(by: encoding.maximumByteCount)
    return overflow ? -1 : size
}

/// Nil, which Apple's call may return for any text: Foundation's text on Linux has no bytes of C inside it. Use
/// ``CFStringGetCString(_:_:_:_:)`` then, as on Apple's systems.
@discardableResult
public func CFStringGetCStringPtr(_ theString: CFString!, _ encoding: CFStringEncoding) -> UnsafePointer<CChar>! { nil }

/// A copy of the text; nil for nil.
@discardableResult
public func CFStringCreateCopy(_ allocator: CFAllocator!, _ theString: CFString!) -> CFString! {
    theString.map { NSString(string: $0 as String) }
}

/// A copy of the text that can be changed; the length is ignored. Nil for nil and for a negative length.
@discardableResult
public func CFStringCreateMutableCopy(
    _ allocator: CFAllocator!, _ maxLength: CFIndex, _ theString: CFString!
) -> CFMutableString! {
    guard let theString, maxLength >= 0 else { return nil }
    return NSMutableString(string: theString as String)
}

extension NSString: @retroactive _HasCustomAnyHashableRepresentation {
    /// An `NSString` is the same key as the equal `String`, as on Apple's systems. Foundation on Linux leaves this out, and
    /// `[AnyHashable: Any]` made with ``kSecClass`` would not be found with `"class"`.
    public func _toCustomAnyHashable() -> AnyHashable? { AnyHashable(self as String) }
}
