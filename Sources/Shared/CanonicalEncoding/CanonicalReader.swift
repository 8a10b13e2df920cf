/// Why bytes are not what ``CanonicalWriter`` writes.
public enum CanonicalEncodingError: Error, Equatable, Sendable {
    /// The bytes end inside a field.
    case truncated
    /// Bytes follow the last field.
    case trailingBytes
    /// A text field is not UTF-8.
    case invalidText
    /// A byte that says yes or no is neither 1 nor 0.
    case invalidFlag
    /// A number that chooses what follows chooses nothing that this version knows.
    case unknownChoice
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
        try lent { reader throws(CanonicalEncodingError) in try reader.read(type) }
    }

    /// Exactly `count` bytes.
    @inlinable
    public mutating func read(fixed count: Int) throws(CanonicalEncodingError) -> [UInt8] {
        try lent { reader throws(CanonicalEncodingError) in try unsafe Array(reader.read(fixed: count)) }
    }

    /// Bytes behind their length.
    @inlinable
    public mutating func read<Length: FixedWidthInteger & UnsignedInteger>(
        length: Length.Type
    ) throws(CanonicalEncodingError) -> [UInt8] {
        try lent { reader throws(CanonicalEncodingError) in try unsafe Array(reader.read(length: length)) }
    }

    /// UTF-8 behind its length in bytes; nothing is repaired.
    @inlinable
    public mutating func readText<Length: FixedWidthInteger & UnsignedInteger>(
        length: Length.Type
    ) throws(CanonicalEncodingError) -> String {
        try lent { reader throws(CanonicalEncodingError) in try reader.readText(length: length) }
    }

    /// Checks that nothing is left.
    public func finish() throws(CanonicalEncodingError) {
        guard position == bytes.count else { throw .trailingBytes }
    }

    /// Reads one field where the bytes lie.
    @inlinable @inline(__always)
    mutating func lent<Field>(
        _ read: (inout BorrowedCanonicalReader) throws(CanonicalEncodingError) -> Field
    ) throws(CanonicalEncodingError) -> Field {
        let (field, end) = try unsafe bytes.withUnsafeBufferPointer { bytes throws(CanonicalEncodingError) in
            var reader = unsafe BorrowedCanonicalReader(UnsafeRawBufferPointer(bytes), at: position)
            return (try read(&reader), reader.position)
        }
        position = end
        return field
    }
}
