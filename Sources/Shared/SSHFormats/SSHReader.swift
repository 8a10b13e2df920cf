public import Foundation

/// Reads the data types of RFC 4251, section 5, strictly: each value has one form, and nothing is read beyond the end.
public struct SSHReader: Sendable {
    private let bytes: Data
    private var position: Int

    public init(_ bytes: Data) {
        self.bytes = bytes
        position = bytes.startIndex
    }

    /// The number of bytes that were not read.
    public var remainingByteCount: Int { bytes.endIndex - position }

    public var isAtEnd: Bool { remainingByteCount == 0 }

    /// Throws unless everything was read.
    public func finish() throws(SSHFormatError) {
        guard isAtEnd else { throw .trailingBytes }
    }

    public mutating func readByte() throws(SSHFormatError) -> UInt8 {
        guard remainingByteCount >= 1 else { throw .truncated }
        defer { position += 1 }
        return bytes[position]
    }

    /// One byte, 0 or 1. RFC 4251 lets other values stand for true, but nobody writes them.
    public mutating func readFlag() throws(SSHFormatError) -> Bool {
        switch try readByte() {
        case 0: false
        case 1: true
        default: throw .malformed(.flag)
        }
    }

    public mutating func readUInt32() throws(SSHFormatError) -> UInt32 {
        try read(count: 4).reduce(0) { $0 << 8 | UInt32($1) }
    }

    public mutating func readUInt64() throws(SSHFormatError) -> UInt64 {
        try read(count: 8).reduce(0) { $0 << 8 | UInt64($1) }
    }

    /// Bytes without a length before them.
    public mutating func read(count: Int) throws(SSHFormatError) -> Data {
        guard remainingByteCount >= count else { throw .truncated }
        defer { position += count }
        // A copy whose indices begin at 0.
        return bytes.subdata(in: position..<position + count)
    }

    /// Bytes behind their length of four bytes.
    ///
    /// - Parameter limit: the longest that is read.
    public mutating func readString(limit: Int) throws(SSHFormatError) -> Data {
        let count = Int(try readUInt32())
        // What ends too early is truncated, however long it claims to be.
        guard count <= remainingByteCount else { throw .truncated }
        guard count <= limit else { throw .tooLarge }
        return try read(count: count)
    }

    /// Text in UTF-8 without a NUL, behind its length.
    public mutating func readText(limit: Int) throws(SSHFormatError) -> String {
        let bytes = try readString(limit: limit)
        guard !bytes.contains(0), let text = String(validating: bytes, as: UTF8.self) else { throw .malformed(.text) }
        return text
    }

    /// A name of visible ASCII without commas (RFC 4251, section 6), behind its length; not empty.
    public mutating func readName(limit: Int = SSHLimits.nameByteCount) throws(SSHFormatError) -> String {
        let bytes = try readString(limit: limit)
        guard !bytes.isEmpty, bytes.allSatisfy({ (0x21...0x7E).contains($0) && $0 != UInt8(ascii: ",") }) else {
            throw .malformed(.text)
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// A positive `mpint` in its shortest form, as big-endian bytes without leading zeros.
    ///
    /// - Parameter limit: the most bits of the number.
    public mutating func readPositiveInteger(limit: Int) throws(SSHFormatError) -> Data {
        // A number whose top bit is set has one zero before it.
        let bytes = try readString(limit: (limit + 7) / 8 + 1)
        guard let first = bytes.first, first < 0x80 else { throw .malformed(.number) }
        guard first == 0 else { return bytes }
        guard bytes.count > 1, bytes[1] >= 0x80 else { throw .malformed(.number) }
        return bytes.subdata(in: 1..<bytes.count)
    }
}
