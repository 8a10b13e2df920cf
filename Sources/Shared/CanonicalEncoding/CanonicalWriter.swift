/// Writes the one byte string that stands for a list of fields: integers big-endian, everything of variable size behind its
/// length. Two different lists never give the same bytes, so the result can be authenticated.
public struct CanonicalWriter: Sendable {
    /// What was written so far.
    public var bytes: [UInt8] { written }

    /// How much was written so far.
    @inlinable public var byteCount: Int { written.count }

    // Inlinable like what writes to it: a byte costs a call otherwise.
    @usableFromInline var written: [UInt8] = []

    /// An empty writer; `capacity` is a hint, in bytes.
    public init(capacity: Int = 0) {
        written.reserveCapacity(capacity)
    }

    /// A fixed-width integer, big-endian.
    @inlinable
    public mutating func write(_ value: some FixedWidthInteger & UnsignedInteger) {
        unsafe withUnsafeBytes(of: value.bigEndian) { unsafe written.append(contentsOf: $0) }
    }

    /// Yes as the byte 1, no as 0.
    @inlinable
    public mutating func write(flag: Bool) { written.append(flag ? 1 : 0) }

    /// Bytes whose number the format fixes: no length is written.
    @inlinable
    public mutating func write(fixed field: some Collection<UInt8>) {
        // At once where the bytes lie in one piece: `append(contentsOf:)` asks collections such as `Data` for an iterator.
        let isWritten: Void? = field.withContiguousStorageIfAvailable { unsafe written.append(contentsOf: $0) }
        if isWritten == nil { written.append(contentsOf: field) }
    }

    /// Bytes of any number, behind their length as `Length`.
    ///
    /// - Precondition: the length fits; callers bound their fields.
    @inlinable
    public mutating func write<Length: FixedWidthInteger & UnsignedInteger>(
        _ field: some Collection<UInt8>, length: Length.Type
    ) {
        guard let count = Length(exactly: field.count) else {
            preconditionFailure("a field is longer than its length prefix can say")
        }
        write(count)
        write(fixed: field)
    }

    /// Gives up what was written, without a copy.
    @inlinable
    public consuming func takeBytes() -> [UInt8] { written }
}
