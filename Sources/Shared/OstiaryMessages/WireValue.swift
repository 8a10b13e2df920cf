import CanonicalEncoding
import Foundation

// The types of fields, and their bytes.

/// Four bytes, big-endian.
extension UInt32: WireValue {
    func write(to writer: inout FieldWriter) { writer.write(self) }
    static func read(from reader: inout FieldReader) -> UInt32? {
        reader.read { canonical throws(CanonicalEncodingError) in try canonical.read(UInt32.self) }
    }
}

/// Eight bytes, big-endian.
extension UInt64: WireValue {
    func write(to writer: inout FieldWriter) { writer.write(self) }
    static func read(from reader: inout FieldReader) -> UInt64? {
        reader.read { canonical throws(CanonicalEncodingError) in try canonical.read(UInt64.self) }
    }
}

/// Four bytes, two's complement, big-endian.
extension Int32: WireValue {
    func write(to writer: inout FieldWriter) { writer.write(UInt32(bitPattern: self)) }
    static func read(from reader: inout FieldReader) -> Int32? {
        UInt32.read(from: &reader).map(Int32.init(bitPattern:))
    }
}

/// Eight bytes, two's complement, big-endian.
extension Int64: WireValue {
    func write(to writer: inout FieldWriter) { writer.write(UInt64(bitPattern: self)) }
    static func read(from reader: inout FieldReader) -> Int64? {
        UInt64.read(from: &reader).map(Int64.init(bitPattern:))
    }
}

/// Eight bytes, IEEE 754, big-endian.
extension Double: WireValue {
    func write(to writer: inout FieldWriter) { writer.write(bitPattern) }
    static func read(from reader: inout FieldReader) -> Double? {
        UInt64.read(from: &reader).map(Double.init(bitPattern:))
    }
}

/// One byte: 1 for true, 0 for false.
extension Bool: WireValue {
    func write(to writer: inout FieldWriter) { writer.write(flag: self) }
    static func read(from reader: inout FieldReader) -> Bool? {
        reader.read { canonical throws(CanonicalEncodingError) in try canonical.readFlag() }
    }
}

/// The number of bytes (4), and UTF-8.
extension String: WireValue {
    func write(to writer: inout FieldWriter) {
        if writer.write(length: utf8.count) { writer.write(fixed: utf8) }
    }
    static func read(from reader: inout FieldReader) -> String? {
        reader.read { canonical throws(CanonicalEncodingError) in try canonical.readText(length: UInt32.self) }
    }
}

/// The number of bytes (4), and the bytes.
extension Data: WireValue {
    func write(to writer: inout FieldWriter) {
        if writer.write(length: count) { writer.write(fixed: self) }
    }
    static func read(from reader: inout FieldReader) -> Data? {
        reader.read { canonical throws(CanonicalEncodingError) in
            try unsafe Data(canonical.read(length: UInt32.self))
        }
    }
}

/// A byte that says whether a value is present, and then the value.
extension Optional: WireValue where Wrapped: WireValue {
    func write(to writer: inout FieldWriter) {
        writer.write(flag: self != nil)
        self?.write(to: &writer)
    }
    static func read(from reader: inout FieldReader) -> Wrapped?? {
        guard let isThere = Bool.read(from: &reader) else { return nil }
        guard isThere else { return .some(nil) }
        guard let wrapped = Wrapped.read(from: &reader) else { return nil }
        return .some(wrapped)
    }
}

/// The number of elements (4), and each element. The number alone reserves no memory, because a sender can claim any
/// number.
extension Array: WireValue where Element: WireValue {
    func write(to writer: inout FieldWriter) {
        guard writer.write(length: count) else { return }
        for element in self { element.write(to: &writer) }
    }
    static func read(from reader: inout FieldReader) -> [Element]? {
        guard let count = UInt32.read(from: &reader) else { return nil }
        var elements: [Element] = []
        for _ in 0..<count {
            guard let element = Element.read(from: &reader), reader.error == nil else { return nil }
            elements.append(element)
        }
        return elements
    }
}

/// One of several messages: the message's number (1), and the message.
protocol WireChoice: WireValue {
    /// Nil for an unknown number or a malformed message.
    init?(number: UInt8, from reader: inout FieldReader)
}

extension WireChoice {
    static func read(from reader: inout FieldReader) -> Self? {
        guard let number = reader.read({ canonical throws(CanonicalEncodingError) in try canonical.read(UInt8.self) })
        else { return nil }
        guard let choice = Self(number: number, from: &reader) else {
            reader.fail(.unknownChoice)
            return nil
        }
        return choice
    }
}

extension FieldWriter {
    /// Writes one of several messages.
    mutating func write(choice number: UInt8, _ message: some WireValue) {
        write(number)
        message.write(to: &self)
    }
}

extension FieldReader {
    /// Reads one of several messages.
    ///
    /// - Parameter version: the version that the message came with. In an older one its number is unknown, and nothing of it
    ///   is read.
    @inline(__always)
    mutating func choice<Message: WireValue, Choice>(
        since version: UInt32 = 0, _ choice: (Message) -> Choice
    ) -> Choice? {
        self.version >= version ? Message.read(from: &self).map(choice) : nil
    }
}

/// A number with names for the values that this version knows. An unknown number is kept, so it can be shown and passed
/// on. Code that decides by it treats it as a no.
public protocol WireNumber: RawRepresentable, Hashable, Sendable where RawValue == Int {
    /// The number 0, for no value.
    static var unspecified: Self { get }
    init(rawValue: Int)
}

/// Four bytes, big-endian.
extension WireNumber where Self: WireValue {
    func write(to writer: inout FieldWriter) { writer.write(UInt32(truncatingIfNeeded: rawValue)) }
    static func read(from reader: inout FieldReader) -> Self? {
        UInt32.read(from: &reader).map { Self(rawValue: Int($0)) }
    }
}
