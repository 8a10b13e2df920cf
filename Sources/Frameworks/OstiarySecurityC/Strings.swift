import Foundation

/// The encodings of text in C (Apple's `CFStringEncoding`).
private enum TextEncoding: UInt32 {
    case ascii = 0x0600
    case utf8 = 0x0800_0100

    /// The bytes that one UTF-16 unit takes at most.
    var maximumByteCount: Int {
        switch self {
        case .ascii: 1
        case .utf8: 3
        }
    }

    /// Whether the encoding has all of these bytes of UTF-8.
    func encodes(_ bytes: some Sequence<UInt8>) -> Bool {
        switch self {
        case .ascii: bytes.allSatisfy { $0 < 0x80 }
        case .utf8: true
        }
    }
}

@c(ostiary_CFStringCreateWithCString)
func createString(_ allocator: Handle?, _ text: UnsafePointer<CChar>?, _ encoding: UInt32) -> Handle? {
    guard let text, let encoding = TextEncoding(rawValue: encoding), let string = String(validatingCString: text),
        encoding.encodes(string.utf8)
    else { return nil }
    return Handle(owning: NSString(string: string))
}

@c(ostiary_CFStringGetCString)
func copyString(_ string: Handle?, _ buffer: UnsafeMutablePointer<CChar>?, _ size: Int, _ encoding: UInt32) -> UInt8 {
    guard let string = string.object(NSString.self), let buffer, let encoding = TextEncoding(rawValue: encoding) else {
        return 0
    }
    let text = (string as String).utf8
    guard text.count < size, encoding.encodes(text) else { return 0 }
    for (index, byte) in text.enumerated() { buffer[index] = CChar(bitPattern: byte) }
    buffer[text.count] = 0
    return 1
}

@c(ostiary_CFStringGetLength)
func stringLength(_ string: Handle?) -> Int { string.object(NSString.self)?.length ?? 0 }

@c(ostiary_CFStringGetMaximumSizeForEncoding)
func maximumStringSize(_ length: Int, _ encoding: UInt32) -> Int {
    guard length >= 0, let encoding = TextEncoding(rawValue: encoding) else { return -1 }
    let (size, overflow) = length.multipliedReportingOverflow(by: encoding.maximumByteCount)
    return overflow ? -1 : size
}
