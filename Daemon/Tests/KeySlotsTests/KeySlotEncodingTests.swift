import AccessControl
import Crypto
import Foundation
import Testing

@testable import KeySlots

@Suite struct KeySlotEncodingTests {
    private static let alternatives: [FactorSet] = [
        [], [.passcode, .biometryCurrentSet, .securityKey, .applicationPassword],
    ]
    private static let sealed = Result { try Sample.slots(alternatives) }

    private let slots: [KeySlot]
    private let bytes: Data

    init() throws {
        slots = try Self.sealed.get()
        bytes = KeySlot.encode(slots)
    }

    @Test func `a list comes back as it was, and opens`() throws {
        let decoded = try KeySlot.decode(bytes)
        #expect(decoded == slots)
        #expect(try Sample.open(decoded[1]) == Sample.accessSecretBytes)
    }

    @Test func `a slice of a larger buffer decodes`() throws {
        #expect(try KeySlot.decode((Data([0, 0]) + bytes).dropFirst(2)) == slots)
    }

    @Test func `the layout is the documented one`() throws {
        // List header, then the slot without factors: number, factors, no parameters, no enrolment, one class layer.
        #expect(bytes.prefix(14) == Data([1, 1, 2, 0, 0, 0, 0, 0, 1, 0x13, 0, 0, 0, 1]))
        let first = 6 + 1125 + 48
        let second = 6 + Sample.passwordParameters.count + Sample.enrolmentID.count + 4 * 1125 + 32 + 28 + 4 * 16
        #expect(bytes.count == 3 + first + second)
    }

    @Test func `every truncation is malformed`() {
        for count in 0..<bytes.count {
            #expect(throws: SlotError.malformed, "\(count) bytes") { _ = try KeySlot.decode(bytes.prefix(count)) }
        }
    }

    @Test func `trailing bytes are malformed`() {
        #expect(throws: SlotError.malformed) { _ = try KeySlot.decode(bytes + [0]) }
        #expect(throws: SlotError.malformed) { _ = try KeySlot.decode(bytes + bytes) }
    }

    /// A flipped bit either makes the bytes malformed or gives other slots, of which the changed one opens for nobody.
    @Test func `no flipped bit goes unnoticed`() throws {
        var malformed = 0
        let opaque = opaque
        // Every bit of the structure; of keys and ciphertexts, which have no structure, one bit in each 40th byte.
        for index in bytes.indices {
            let isStructure = !opaque.contains { $0.contains(index) }
            guard isStructure || index % 40 == 0 else { continue }
            for bit in isStructure ? UInt8(0)..<8 : 3..<4 {
                var changed = bytes
                changed[index] ^= 1 << bit
                guard let decoded = try decodedUnlessMalformed(changed) else {
                    malformed += 1
                    continue
                }
                let slot = zip(decoded, slots).first { $0 != $1 }?.0
                expectClosed(try #require(slot, "byte \(index) bit \(bit) changes nothing"), "byte \(index) bit \(bit)")
            }
        }
        #expect(malformed > 100)
    }

    private func decodedUnlessMalformed(_ bytes: Data) throws -> [KeySlot]? {
        do { return try KeySlot.decode(bytes) } catch .malformed { return nil }
    }

    private func expectClosed(_ slot: KeySlot, _ comment: Comment) {
        do throws(SlotError) {
            _ = try Sample.open(slot)
            Issue.record(comment)
        } catch .refused, .malformed, .missingKey {
            // A changed epoch names a key that nobody has, a changed class another object.
        } catch {
            Issue.record(error, comment)
        }
    }

    /// Where encapsulated keys and ciphertexts lie in the sample.
    private var opaque: [Range<Int>] {
        var ranges = [14..<14 + 1120, 14 + 1120..<14 + 1120 + 48]
        var offset = 3 + 6 + 1125 + 48 + 6 + 13 + 24
        for _ in 0..<4 {
            ranges.append(offset + 5..<offset + 1125)
            offset += 1125
        }
        return ranges + [offset..<bytes.count]
    }

    @Test func `lists that the encoder never writes are malformed`() throws {
        let both = slots
        let header = Data([1, 1])
        let bodies = both.map { KeySlot.encode([$0]).dropFirst(3) }
        let lists: [(String, Data)] = [
            ("no slot", header + [0]),
            ("out of order", header + [2] + bodies[1] + bodies[0]),
            ("one twice", header + [2] + bodies[0] + bodies[0]),
            ("unknown version", Data([2, 1, 1]) + bodies[0]),
            ("unknown suite", Data([1, 2, 1]) + bodies[0]),
        ]
        for (what, bytes) in lists {
            #expect(throws: SlotError.malformed, "\(what)") { _ = try KeySlot.decode(bytes) }
        }
        #expect(try KeySlot.decode(header + [1] + bodies[0]) == [both[0]])
        // A removed passcode takes its slots along and leaves a gap in the numbers, which the others are bound to.
        #expect(try KeySlot.decode(header + [1] + bodies[1]) == [both[1]])
    }

    @Test func `slots of two classes are no list`() throws {
        let second = try Sample.slots([[], .passcode], header: Sample.header(availability: .always))[1]
        #expect(throws: SlotError.malformed) { _ = try KeySlot.decode(KeySlot.encode([slots[0], second])) }
    }

    @Test func `the same factors twice are no list`() throws {
        var body = Data(KeySlot.encode([slots[0]]).dropFirst(3))
        let first = body
        body[1] = 1
        #expect(throws: SlotError.malformed) { _ = try KeySlot.decode(Data([1, 1, 2]) + first + body) }
    }

    @Test func `the largest list decodes, and one slot more does not`() throws {
        let factors: [FactorSet] = [
            [], .passcode, .biometry, .securityKey, [.passcode, .biometry], [.passcode, .securityKey],
            [.biometry, .securityKey],
        ]
        #expect(factors.count == KeySlot.maximumCount)
        let slots = try Sample.slots(factors)
        #expect(try KeySlot.decode(KeySlot.encode(slots)) == slots)
        let extra = try #require(
            KeySlot(
                binding: SlotBinding(
                    number: 7, factors: .biometryCurrentSet, passwordParameters: nil, enrolmentID: Sample.enrolmentID),
                layers: slots[2].layers, ciphertext: slots[2].ciphertext))
        #expect(throws: SlotError.malformed) { _ = try KeySlot.decode(KeySlot.encode(slots + [extra])) }
    }

    @Test func `a header's bytes name every field with its length`() {
        var expected = Data([1, 1, 0, 0, 0, 5]) + Data("store".utf8)
        expected += [0, 0, 0, 5] + Data("owner".utf8)
        expected += [0, 0, 0, 6] + Data("object".utf8)
        expected += [3, 0, 0, 0, 3, 1, 3, 0]
        expected += [0, 0, 0, 5] + Data("group".utf8)
        #expect(Sample.header().encoded == expected)
    }
}
