import CanonicalEncoding
import Testing

@Suite("Canonical encoding")
struct CanonicalEncodingTests {
    private static let sample: [UInt8] = {
        var writer = CanonicalWriter()
        writer.write(UInt8(1))
        writer.write(UInt64(0x0102_0304_0506_0708))
        writer.write(Array("né".utf8), length: UInt16.self)
        writer.write(fixed: [9, 9])
        return writer.bytes
    }()

    private static func decode(_ bytes: [UInt8]) throws(CanonicalEncodingError) -> (UInt8, UInt64, String, [UInt8]) {
        var reader = CanonicalReader(bytes)
        let result = (
            try reader.read(UInt8.self), try reader.read(UInt64.self), try reader.readText(length: UInt16.self),
            try reader.read(fixed: 2)
        )
        try reader.finish()
        return result
    }

    @Test func `integers are big-endian and lengths count bytes`() {
        #expect(Self.sample == [1, 1, 2, 3, 4, 5, 6, 7, 8, 0, 3, 0x6E, 0xC3, 0xA9, 9, 9])
    }

    @Test func `what was written is read back`() throws {
        let (byte, number, text, fixed) = try Self.decode(Self.sample)
        #expect(byte == 1 && number == 0x0102_0304_0506_0708 && text == "né" && fixed == [9, 9])
    }

    @Test(arguments: 0..<16) func `every truncation is refused`(count: Int) {
        #expect(throws: CanonicalEncodingError.truncated) { try Self.decode(Array(Self.sample.prefix(count))) }
    }

    @Test func `a byte too many is refused`() {
        #expect(throws: CanonicalEncodingError.trailingBytes) { try Self.decode(Self.sample + [0]) }
    }

    @Test func `text that is not UTF-8 is refused, not repaired`() {
        var bytes = Self.sample
        bytes[12] = 0xFF
        #expect(throws: CanonicalEncodingError.invalidText) { try Self.decode(bytes) }
    }

    @Test func `a length larger than any array is refused`() {
        var reader = CanonicalReader([UInt8](repeating: 0xFF, count: 8))
        #expect(throws: CanonicalEncodingError.truncated) { try reader.read(length: UInt64.self) }
    }

    @Test func `what was written is taken out as it is, and counted`() {
        var writer = CanonicalWriter(capacity: 1)
        writer.write(flag: true)
        writer.write(UInt16(0x0203))
        #expect(writer.byteCount == 3)
        #expect(writer.takeBytes() == [1, 2, 3])
    }

    @Test(arguments: 0...255) func `only 0 and 1 answer yes or no`(byte: UInt8) {
        let flag = Result { () throws(CanonicalEncodingError) in
            try unsafe [byte].withUnsafeBufferPointer { bytes throws(CanonicalEncodingError) in
                var reader = unsafe BorrowedCanonicalReader(UnsafeRawBufferPointer(bytes))
                return try reader.readFlag()
            }
        }
        #expect(flag == (byte < 2 ? .success(byte == 1) : .failure(.invalidFlag)))
    }
}
