import Foundation

/// Writes numbers big-endian and fields with their length, so that different values never make the same bytes.
struct CanonicalEncoder {
    private(set) var data = Data()

    mutating func append(_ byte: UInt8) { data.append(byte) }

    mutating func append(_ number: UInt16) { data += [UInt8(number >> 8), UInt8(number & 0xff)] }

    mutating func append(_ number: UInt32) {
        append(UInt16(number >> 16))
        append(UInt16(number & 0xffff))
    }

    /// Bytes whose length the format fixes or whose length was written before.
    mutating func append(fixed bytes: Data) { data.append(bytes) }

    /// Four bytes of length, then the bytes.
    mutating func append(field bytes: Data) {
        append(UInt32(bytes.count))
        data.append(bytes)
    }
}

/// Reads what ``CanonicalEncoder`` wrote; every shortage is ``SlotError/malformed``.
struct CanonicalDecoder {
    private var rest: Data

    init(_ data: Data) { rest = data }

    mutating func byte() throws(SlotError) -> UInt8 { try bytes(1).first! }

    mutating func uint16() throws(SlotError) -> UInt16 { try bytes(2).reduce(0) { $0 << 8 | UInt16($1) } }

    mutating func uint32() throws(SlotError) -> UInt32 { try bytes(4).reduce(0) { $0 << 8 | UInt32($1) } }

    mutating func bytes(_ count: Int) throws(SlotError) -> Data {
        guard count <= rest.count else { throw .malformed }
        defer { rest = rest.dropFirst(count) }
        return Data(rest.prefix(count))
    }

    /// Everything was read, and the value writes itself as exactly these bytes.
    func finish(_ whole: Data, canonical: Data) throws(SlotError) {
        guard rest.isEmpty, whole == canonical else { throw .malformed }
    }
}
