/// Why bytes are not what ``CanonicalWriter`` writes.
public enum CanonicalEncodingError: Error, Equatable, Sendable {
    /// The bytes end inside a field.
    case truncated
    /// Bytes follow the last field.
    case trailingBytes
    /// A text field is not UTF-8.
    case invalidText
}

/// Reads back what ``CanonicalWriter`` wrote. It never reads past the end and never allocates more than it was given.
public struct CanonicalReader: Sendable {
    @usableFromInline let bytes: [UInt8]
    @usableFromInline var position = 0

    /// A reader at the first byte.
    public init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// A big-endian integer.
    @inlinable
    public mutating func read<Value: FixedWidthInteger & UnsignedInteger>(
        _ type: Value.Type
    ) throws(CanonicalEncodingError) -> Value {
        let count = Value.bitWidth / 8
        guard count <= bytes.count - position else { throw .truncated }
        defer { position += count }
        return bytes[position..<position + count].reduce(0) { $0 << 8 | Value(truncatingIfNeeded: $1) }
    }

    /// Exactly `count` bytes.
    public mutating func read(fixed count: Int) throws(CanonicalEncodingError) -> [UInt8] {
        guard count <= bytes.count - position else { throw .truncated }
        defer { position += count }
        return Array(bytes[position..<position + count])
    }

    /// Bytes behind their length.
    @inlinable
    public mutating func read<Length: FixedWidthInteger & UnsignedInteger>(
        length: Length.Type
    ) throws(CanonicalEncodingError) -> [UInt8] {
        guard let count = Int(exactly: try read(length)) else { throw .truncated }
        return try read(fixed: count)
    }

    /// UTF-8 behind its length in bytes; nothing is repaired.
    @inlinable
    public mutating func readText<Length: FixedWidthInteger & UnsignedInteger>(
        length: Length.Type
    ) throws(CanonicalEncodingError) -> String {
        guard let text = String(validating: try read(length: length), as: UTF8.self) else { throw .invalidText }
        return text
    }

    /// Checks that nothing is left.
    public func finish() throws(CanonicalEncodingError) {
        guard position == bytes.count else { throw .trailingBytes }
    }
}
