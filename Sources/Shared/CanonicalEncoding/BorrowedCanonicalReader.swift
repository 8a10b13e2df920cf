/// Reads what ``CanonicalWriter`` wrote, where it lies: what is not kept is not copied. It never reads past the end and never
/// allocates more than it was given.
///
/// It is safe while the bytes are valid. The code that makes the reader must ensure that: the reader must not leave the
/// closure that lends the bytes.
@safe
public struct BorrowedCanonicalReader {
    @usableFromInline let bytes: UnsafeRawBufferPointer
    @usableFromInline var position: Int

    /// A reader of `bytes`, which must outlive it.
    @inlinable
    @unsafe public init(_ bytes: UnsafeRawBufferPointer, at position: Int = 0) {
        unsafe self.bytes = bytes
        self.position = position
    }

    /// How many bytes are not read yet.
    @inlinable public var unreadByteCount: Int { unsafe bytes.count - position }

    /// A big-endian integer.
    @inlinable
    public mutating func read<Value: FixedWidthInteger & UnsignedInteger>(
        _ type: Value.Type
    ) throws(CanonicalEncodingError) -> Value {
        let count = MemoryLayout<Value>.size
        guard count <= unreadByteCount else { throw .truncated }
        defer { position += count }
        return unsafe Value(bigEndian: bytes.loadUnaligned(fromByteOffset: position, as: Value.self))
    }

    /// A byte that is 1 for yes and 0 for no.
    @inlinable
    public mutating func readFlag() throws(CanonicalEncodingError) -> Bool {
        switch try read(UInt8.self) {
        case 0: return false
        case 1: return true
        default: throw .invalidFlag
        }
    }

    /// Exactly `count` bytes, where they lie.
    @inlinable
    @unsafe public mutating func read(fixed count: Int) throws(CanonicalEncodingError) -> UnsafeRawBufferPointer {
        guard count <= unreadByteCount else { throw .truncated }
        defer { position += count }
        return unsafe UnsafeRawBufferPointer(rebasing: bytes[position..<position + count])
    }

    /// Bytes behind their length, where they lie.
    @inlinable
    @unsafe public mutating func read<Length: FixedWidthInteger & UnsignedInteger>(
        length: Length.Type
    ) throws(CanonicalEncodingError) -> UnsafeRawBufferPointer {
        guard let count = Int(exactly: try read(length)) else { throw .truncated }
        return try unsafe read(fixed: count)
    }

    /// UTF-8 behind its length in bytes; nothing is repaired.
    @inlinable
    public mutating func readText<Length: FixedWidthInteger & UnsignedInteger>(
        length: Length.Type
    ) throws(CanonicalEncodingError) -> String {
        let bytes = try unsafe read(length: length).bindMemory(to: UInt8.self)
        do {
            return try unsafe String(copying: UTF8Span(validating: Span(_unsafeElements: bytes)))
        } catch { throw .invalidText }
    }

    /// Checks that nothing is left.
    @inlinable
    public func finish() throws(CanonicalEncodingError) {
        guard unreadByteCount == 0 else { throw .trailingBytes }
    }
}
