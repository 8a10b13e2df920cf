import Foundation
import SSHFormats
import SeededRandomness
import Testing

/// RFC 4251, section 5.
@Suite struct SSHCodingTests {
    @Test(
        arguments: [
            ([], "00000000"), ([0], "00000000"), ([0, 0, 1], "0000000101"), ([0x7F], "000000017f"),
            ([0x80], "000000020080"), ([0, 0x80, 1], "00000003008001"),
            // The example of the RFC.
            ([0x09, 0xA3, 0x78, 0xF9, 0xB2, 0xE3, 0x32, 0xA7], "0000000809a378f9b2e332a7"),
        ] as [([UInt8], String)])
    func `a number is written in its shortest form`(_ number: [UInt8], _ digits: String) {
        let bytes = SSHWriter.bytes { $0.write(positiveInteger: number) }
        #expect(bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined() == digits)
    }

    @Test(
        arguments: [
            ([0, 0, 0, 0], .malformed(.number)), ([0, 0, 0, 1, 0], .malformed(.number)),
            ([0, 0, 0, 1, 0x80], .malformed(.number)), ([0, 0, 0, 2, 0, 0x7F], .malformed(.number)),
            ([0, 0, 0, 2, 1], .truncated), ([0, 0, 0, 4, 1, 0, 0, 0], .tooLarge), ([0, 0, 0], .truncated),
            ([0xFF, 0xFF, 0xFF, 0xFF], .truncated),
        ] as [([UInt8], SSHFormatError)])
    func `a number that is none, negative, padded or too long is refused`(_ bytes: [UInt8], _ error: SSHFormatError) {
        var reader = SSHReader(Data(bytes))
        #expect(throws: error) { try reader.readPositiveInteger(limit: 16) }
    }

    @Test func `what is written is read back, from any part of other bytes`() throws {
        let written = SSHWriter.bytes { writer in
            writer.write(UInt8(9))
            writer.write(flag: true)
            writer.write(UInt32(0x0102_0304))
            writer.write(UInt64(0x0506_0708_090A_0B0C))
            writer.write(text: "né")
            writer.write(positiveInteger: [0x80])
            writer.write(fixed: [1, 2])
        }
        var reader = SSHReader((Data(count: 5) + written).dropFirst(5))
        #expect(try reader.readByte() == 9 && reader.readFlag())
        #expect(try reader.readUInt32() == 0x0102_0304 && reader.readUInt64() == 0x0506_0708_090A_0B0C)
        #expect(try reader.readText(limit: 3) == "né" && reader.readPositiveInteger(limit: 8) == Data([0x80]))
        #expect(throws: SSHFormatError.trailingBytes) { try reader.finish() }
        #expect(try reader.read(count: 2) == Data([1, 2]) && reader.isAtEnd)
        try reader.finish()
        #expect(throws: SSHFormatError.truncated) { try reader.readByte() }
    }

    @Test(arguments: [2, 0xFF] as [UInt8]) func `a flag is 0 or 1`(_ byte: UInt8) {
        var reader = SSHReader(Data([byte]))
        #expect(throws: SSHFormatError.malformed(.flag)) { try reader.readFlag() }
    }

    @Test(arguments: [[0xFF], [0xC3], [0], Array("a\u{0}b".utf8), [0xED, 0xA0, 0x80]] as [[UInt8]])
    func `text that is no UTF-8 or holds a NUL is refused, not repaired`(_ text: [UInt8]) {
        var reader = SSHReader(SSHWriter.bytes { $0.write(string: text) })
        #expect(throws: SSHFormatError.malformed(.text)) { try reader.readText(limit: 100) }
    }

    @Test(arguments: ["", "a b", "a,b", "a\u{7F}", "é", "a\n"]) func `a name is visible ASCII without commas`(
        _ name: String
    ) {
        var reader = SSHReader(SSHWriter.bytes { $0.write(text: name) })
        #expect(throws: SSHFormatError.malformed(.text)) { try reader.readName() }
    }

    @Test func `a string is read up to its limit and no longer`() throws {
        let bytes = SSHWriter.bytes { $0.write(string: [1, 2, 3]) }
        var (fits, tooLong) = (SSHReader(bytes), SSHReader(bytes))
        #expect(try fits.readString(limit: 3) == Data([1, 2, 3]))
        #expect(throws: SSHFormatError.tooLarge) { try tooLong.readString(limit: 2) }
    }
}

/// What no test below tries by hand: bytes with a mistake anywhere.
enum Spoiled {
    /// Each beginning, and the bytes with one more behind.
    static func lengths(of bytes: Data) -> [Data] { (0..<bytes.count).map { bytes.prefix($0) } + [bytes + [0]] }

    /// The bytes with one bit turned over: each bit, or so many of them.
    static func bits(of bytes: Data, atMost count: Int = 4000, seed: UInt64 = 1) -> [Data] {
        var generator = SeededGenerator(seed: seed)
        let all = Array(0..<bytes.count * 8)
        let chosen = all.count <= count ? all : Array(all.shuffled(using: &generator).prefix(count))
        return chosen.map { bit in
            var changed = Data(bytes)
            changed[bit / 8] ^= 1 << UInt8(bit % 8)
            return changed
        }
    }
}
