import Foundation
import Testing

@testable import OwnerKeys

/// The bytes of `Documentation/formats/biometry.md`.
@Suite("The record of biometry")
struct BiometryRecordTests {
    private static func bytes(_ text: String) -> Data {
        let digits = Array(text.filter { !$0.isWhitespace })
        return Data(
            stride(from: 0, to: digits.count, by: 2).map { UInt8(String(digits[$0..<($0 + 2)]), radix: 16)! })
    }

    private static let example = bytes(
        "01 01 0000001e 03 6c6566742d7468756d62 0a 72696768742d696e6465782d66696e676572")

    private static var record: BiometryRecord {
        var record = BiometryRecord()
        (record.missCount, record.isResting) = (3, true)
        record.enrolledSet = EnrolledSetMark(Data([3]) + Data("left-thumb\nright-index-finger".utf8))
        return record
    }

    @Test func `has the bytes of the document`() throws {
        #expect(Self.record.encoded == Self.example)
        #expect(try BiometryRecord(missCount: 3, decoding: Self.example) == Self.record)
    }

    @Test func `of nothing is no set and no rest`() throws {
        #expect(BiometryRecord().encoded == Self.bytes("01 00 00000000"))
        #expect(try BiometryRecord(missCount: 0, decoding: Self.bytes("01 00 00000000")) == BiometryRecord())
    }

    @Test func `that is cut off, has something behind it or another version is refused`() {
        for count in 0..<Self.example.count {
            #expect(throws: (any Error).self) { try BiometryRecord(missCount: 0, decoding: Self.example.prefix(count)) }
        }
        #expect(throws: (any Error).self) { try BiometryRecord(missCount: 0, decoding: Self.example + [0]) }
        for version: UInt8 in [0, 2, 255] {
            let other = Data([version]) + Self.example.dropFirst()
            #expect(throws: BiometryRecordError.unknownVersion) { try BiometryRecord(missCount: 0, decoding: other) }
        }
    }

    @Test func `with a flipped bit is never the same record`() {
        for index in Self.example.indices {
            for bit in 0..<8 where index != 1 {
                var changed = Self.example
                changed[index] ^= 1 << bit
                #expect((try? BiometryRecord(missCount: 3, decoding: changed)) != Self.record)
            }
        }
    }
}
