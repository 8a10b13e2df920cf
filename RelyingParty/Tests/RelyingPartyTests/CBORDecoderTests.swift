import CanonicalCBOR
import SeededRandomness
import Testing

@testable import RelyingParty

@Suite struct CBORDecoderTests {
    private func error(_ bytes: [UInt8], _ order: CBORDecoder.KeyOrder = .canonical) -> CBORError? {
        do {
            _ = try CBORDecoder.decode(bytes[...], order)
            return nil
        } catch {
            return error
        }
    }

    /// One of everything.
    private static let sample = CBORItem.map([
        (.number(1), .number(-257)), (.number(300), .bytes(Array(repeating: 9, count: 30))),
        (.number(-1), .array([.text("é"), .boolean(true), .boolean(false), .null])),
        (.text("a"), .map([(.text("b"), .number(0x1_0000_0000))])), (.text("bb"), .number(70_000)),
    ]).encoded

    @Test func `values are read`() throws {
        let map = try #require(CBORDecoder.decode(Self.sample[...], .canonical).map)
        #expect(map[1]?.integer == -257)
        #expect(map[300]?.bytes?.count == 30)
        #expect(map[-1]?.array == [.text("é"), .boolean(true), .boolean(false), .null])
        #expect(map["a"]?.map?["b"]?.integer == 0x1_0000_0000)
        #expect(map["bb"]?.integer == 70_000)
        #expect(map["c"] == nil && map[2] == nil)
    }

    @Test func `each truncation is refused as one`() {
        for count in 0..<Self.sample.count {
            #expect(error(Array(Self.sample.prefix(count))) == CBORError(.truncated, at: count))
        }
    }

    @Test func `a byte after the value is refused`() {
        #expect(error(Self.sample + [0]) == CBORError(.trailingBytes, at: Self.sample.count))
    }

    @Test(arguments: [[0x5F, 0x41, 0, 0xFF], [0x7F, 0xFF], [0x9F, 0xFF], [0xBF, 0xFF], [0xFF]] as [[UInt8]])
    func `indefinite lengths are refused`(_ bytes: [UInt8]) {
        #expect(error(bytes) == CBORError(.indefiniteLength, at: 0))
    }

    @Test(
        arguments: [
            [0x18, 23], [0x19, 0, 255], [0x1A, 0, 0, 255, 255], [0x1B, 0, 0, 0, 0, 255, 255, 255, 255], [0x38, 0],
            [0x58, 1, 0], [0x78, 1, 0x61], [0x98, 1, 0], [0xB8, 0],
        ] as [[UInt8]])
    func `numbers and lengths that could be shorter are refused`(_ bytes: [UInt8]) {
        #expect(error(bytes) == CBORError(.notShortest, at: 0))
    }

    @Test(
        arguments: [
            [0x18, 24], [0x19, 1, 0], [0x1A, 0, 1, 0, 0], [0x1B, 0, 0, 0, 1, 0, 0, 0, 0], [0x38, 24],
        ] as [[UInt8]])
    func `the shortest forms are read`(_ bytes: [UInt8]) {
        #expect(error(bytes) == nil)
    }

    @Test(arguments: [0x1C, 0x1D, 0x1E, 0x5C, 0xFC] as [UInt8])
    func `reserved encodings are refused`(_ byte: UInt8) {
        #expect(error([byte]) == CBORError(.reservedEncoding, at: 0))
    }

    @Test(
        arguments: [
            [0xC0, 0], [0xD8, 24, 0x41, 0], [0xF7], [0xE0], [0xF8, 32], [0xF9, 0, 0], [0xFA, 0, 0, 0, 0],
            [0xFB, 0, 0, 0, 0, 0, 0, 0, 0],
        ] as [[UInt8]])
    func `tags, fractions and unknown simple values are refused`(_ bytes: [UInt8]) {
        #expect(error(bytes) == CBORError(.unsupportedType, at: 0))
    }

    @Test func `keys are numbers or text`() {
        for key in [[0x41, 0], [0x80], [0xA0], [0xF5], [0xF6]] as [[UInt8]] {
            #expect(error([0xA1] + key + [0]) == CBORError(.unsupportedKey, at: 1))
        }
    }

    @Test func `a key that stands twice is refused in any order`() {
        for order in [CBORDecoder.KeyOrder.canonical, .any] {
            #expect(error([0xA2, 1, 0, 1, 0], order) == CBORError(.duplicateKey, at: 3))
            #expect(error([0xA3, 1, 0, 2, 0, 1, 0], order) == CBORError(.duplicateKey, at: 5))
            #expect(error([0xA2, 0x61, 0x61, 0, 0x61, 0x61, 0], order) == CBORError(.duplicateKey, at: 4))
        }
    }

    @Test func `keys stand in the order of CTAP 2, unless any order is taken`() {
        let swapped: [([UInt8], Int)] = [
            ([0xA2, 2, 0, 1, 0], 3), ([0xA2, 0x20, 0, 1, 0], 3), ([0xA2, 0x61, 0x61, 0, 0x20, 0], 4),
            ([0xA2, 0x62, 0x61, 0x61, 0, 0x61, 0x62, 0], 5), ([0xA2, 0x61, 0x62, 0, 0x61, 0x61, 0], 4),
            ([0xA2, 0x19, 1, 0, 0, 1, 0], 5),
        ]
        for (bytes, offset) in swapped {
            #expect(error(bytes) == CBORError(.keysOutOfOrder, at: offset))
            #expect(error(bytes, .any) == nil)
        }
        // The type comes before the length.
        #expect(error([0xA2, 0x19, 1, 0, 0, 0x20, 0]) == nil)
    }

    @Test func `text is UTF-8`() {
        for bytes in [[0x61, 0xFF], [0x62, 0xC0, 0x80], [0x63, 0xED, 0xA0, 0x80]] as [[UInt8]] {
            #expect(error(bytes) == CBORError(.invalidText, at: 0))
        }
    }

    @Test func `four levels are read, five are not`() {
        #expect(error([0x81, 0x81, 0x81, 0x80]) == nil)
        #expect(error([0x81, 0x81, 0x81, 0x81, 0x80]) == CBORError(.nestedTooDeeply, at: 4))
        #expect(error([0x81, 0xA1, 0, 0x81, 0xA1, 0, 0x80]) == CBORError(.nestedTooDeeply, at: 6))
        #expect(error([UInt8](repeating: 0x81, count: 100_000)) == CBORError(.nestedTooDeeply, at: 4))
    }

    @Test func `sixty-four entries are read, one more is not`() {
        #expect(error([0x98, 64] + [UInt8](repeating: 0, count: 64)) == nil)
        #expect(error([0x98, 65] + [UInt8](repeating: 0, count: 65)) == CBORError(.tooManyEntries, at: 0))
        #expect(error([0xB8, 65]) == CBORError(.tooManyEntries, at: 0))
    }

    @Test func `lengths beyond the bytes are refused before anything is taken`() {
        for type: UInt8 in [0x5B, 0x7B] {
            let bytes = [type] + [UInt8](repeating: 0xFF, count: 8)
            #expect(error(bytes) == CBORError(.truncated, at: 9))
        }
        for type: UInt8 in [0x9B, 0xBB] {
            #expect(error([type] + [UInt8](repeating: 0xFF, count: 8)) == CBORError(.tooManyEntries, at: 0))
        }
    }

    @Test func `numbers beyond 64 bits with sign are no integers`() throws {
        let largest = try CBORDecoder.decode(([0x3B] + [UInt8](repeating: 0xFF, count: 8))[...], .canonical)
        #expect(largest == .negative(.max) && largest.integer == nil)
        #expect(try CBORDecoder.decode([0x3B, 0x7F] + [UInt8](repeating: 0xFF, count: 7), .canonical).integer == .min)
    }

    /// There is one way to write a value: what is read, written again, gives the same bytes.
    @Test func `whatever is read has no other encoding`() {
        var generator = SeededGenerator(seed: 36)
        var readCount = 0
        for _ in 0..<20_000 {
            var bytes = Self.sample
            for _ in 0..<Int.random(in: 1...3, using: &generator) {
                bytes[Int.random(in: 0..<bytes.count, using: &generator)] ^=
                    1 << UInt8.random(in: 0..<8, using: &generator)
            }
            guard let value = try? CBORDecoder.decode(bytes[...], .canonical) else { continue }
            readCount += 1
            #expect(CBORItem(value).encoded == bytes)
        }
        #expect(readCount > 1000)
    }
}

extension CBORItem {
    /// The item that is written as `value`.
    init(_ value: CBORValue) {
        self =
            switch value {
            case .unsigned(let number): .raw(Self.head(0, number))
            case .negative(let number): .raw(Self.head(1, number))
            case .bytes(let bytes): .bytes(Array(bytes))
            case .text(let text): .text(text)
            case .array(let values): .array(values.map { CBORItem($0) })
            case .map(let map): .map(map.entries.map { (CBORItem($0.key), CBORItem($0.value)) })
            case .boolean(let value): .boolean(value)
            case .null: .null
            }
    }

    private static func head(_ majorType: UInt8, _ argument: UInt64) -> [UInt8] {
        guard let small = Int(exactly: argument) else {
            return [majorType << 5 | 27] + (0..<8).reversed().map { UInt8(truncatingIfNeeded: argument >> ($0 * 8)) }
        }
        return head(majorType, small)
    }
}
