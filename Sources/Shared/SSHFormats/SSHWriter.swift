public import Foundation

/// Writes the data types of RFC 4251, section 5. Not for secrets: the bytes lie in ordinary memory.
public struct SSHWriter: Sendable {
    /// What was written.
    public private(set) var bytes = Data()

    public init() {}

    public mutating func write(_ byte: UInt8) { bytes.append(byte) }

    public mutating func write(flag: Bool) { bytes.append(flag ? 1 : 0) }

    public mutating func write(_ number: UInt32) { writeBigEndian(number) }

    public mutating func write(_ number: UInt64) { writeBigEndian(number) }

    /// Bytes without a length before them.
    public mutating func write(fixed bytes: some Sequence<UInt8>) { self.bytes.append(contentsOf: bytes) }

    /// Bytes behind their length of four bytes.
    public mutating func write(string bytes: some Collection<UInt8>) {
        write(UInt32(bytes.count))
        write(fixed: bytes)
    }

    /// Text in UTF-8 behind its length.
    public mutating func write(text: String) { write(string: text.utf8) }

    /// A number of big-endian bytes as an `mpint` in its shortest form. It is not negative.
    public mutating func write(positiveInteger number: some Collection<UInt8>) {
        let digits = number.drop { $0 == 0 }
        let isTopBitSet = digits.first.map { $0 >= 0x80 } ?? false
        write(UInt32(digits.count + (isTopBitSet ? 1 : 0)))
        if isTopBitSet { write(UInt8(0)) }
        write(fixed: digits)
    }

    private mutating func writeBigEndian(_ number: some FixedWidthInteger) {
        unsafe withUnsafeBytes(of: number.bigEndian) { unsafe bytes.append(contentsOf: $0) }
    }

    /// The bytes that `write` writes.
    public static func bytes(_ write: (inout SSHWriter) -> Void) -> Data {
        var writer = SSHWriter()
        write(&writer)
        return writer.bytes
    }
}
