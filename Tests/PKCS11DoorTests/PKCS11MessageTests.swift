import Foundation
import SeededRandomness
import SecretMemory
import Testing

@testable import PKCS11Door

/// The bytes of Documentation/formats/pkcs11.md.
@Suite("Messages of PKCS #11", .timeLimit(.minutes(10)))
struct PKCS11MessageTests {
    private let key = ObjectReference(.privateKey, .right, id: Data(repeating: 0x11, count: 16))!

    private static func bytes(_ hexadecimal: String) -> Data {
        var digits = hexadecimal.filter { $0 != " " }[...]
        var bytes = Data()
        while let byte = UInt8(digits.prefix(2), radix: 16) {
            bytes.append(byte)
            digits = digits.dropFirst(2)
        }
        return bytes
    }

    private func error(_ content: Data) -> PKCS11FormatError? {
        do {
            _ = try PKCS11Request.read(content)
            return nil
        } catch { return error }
    }

    @Test func `the examples of the document`() throws {
        let hello = Self.bytes("00 00 00 0A 01 00 00 00 00 4F 50 31 31 01")
        #expect(try PKCS11Request.byteCount(hello.prefix(4)) == 10)
        let greeting = try PKCS11Request.read(Data(hello.dropFirst(4)))
        #expect(greeting.number == 0 && greeting.request == .hello)
        #expect(PKCS11Answer.hello == Self.bytes("00 00 00 06 81 00 00 00 00 01"))
        let sign =
            Self.bytes("00 00 00 4B 04 00 00 00 01 03 01") + Data(repeating: 0x11, count: 16)
            + Self.bytes("00 00 10 41 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00")
            + Data(repeating: 0x22, count: 32)
        #expect(try PKCS11Request.byteCount(sign.prefix(4)) == sign.count - 4)
        let request = try PKCS11Request.read(Data(sign.dropFirst(4)))
        #expect(request.number == 1)
        #expect(
            request.request
                == .sign(key, WireMechanism(0x1041), operation: 0, data: Data(repeating: 0x22, count: 32)))
        #expect(PKCS11Answer.refused(.rejected, number: 1) == Self.bytes("00 00 00 09 84 00 00 00 01 00 00 02 00"))
    }

    private var samples: [Data] {
        [
            ModuleMessage.hello, ModuleMessage.objects(7, from: 3), ModuleMessage.forget(2), ModuleMessage.cancel(9),
            ModuleMessage.update(3, 1, 0x1044, Data([1, 2])), ModuleMessage.sign(4, key, 0x1041, Data(), operation: 1),
            ModuleMessage.decrypt(5, key, 1, Data([1])), ModuleMessage.derive(6, key, 0x1050, Data([4])),
        ]
    }

    /// The least part of each sample that is a message itself, because its end may have any length.
    private static let endings: [UInt8: Int] = [3: 2, 4: 0, 5: 1, 6: 1]

    @Test func `a message that is cut off, or has something behind it, is none`() throws {
        for sample in samples {
            #expect(error(sample) == nil, "\(sample[0])")
            let open = Self.endings[sample[0]] ?? 0
            // Of what may have any length, at least one byte stays where one must be there.
            let leastCount = sample.count - (sample[0] == 3 ? open - 1 : sample[0] == 6 ? 0 : open)
            for count in 0..<leastCount { #expect(error(sample.prefix(count)) == .malformed, "\(sample[0]), \(count)") }
            guard Self.endings[sample[0]] == nil else { continue }
            #expect(error(sample + [0]) == .malformed, "\(sample[0])")
        }
    }

    @Test func `each part has a limit`() {
        let limits: [(UInt8, Int, (Data) -> Data)] = [
            (3, PKCS11Limits.dataByteCount, { ModuleMessage.update(1, 1, 0x1044, $0) }),
            (4, PKCS11Limits.dataByteCount, { ModuleMessage.sign(1, key, 0x1041, $0) }),
            (5, PKCS11Limits.ciphertextByteCount, { ModuleMessage.decrypt(1, key, 1, $0) }),
            (6, PKCS11Limits.publicKeyByteCount, { ModuleMessage.derive(1, key, 0x1050, $0) }),
        ]
        for (kind, limit, message) in limits {
            #expect(error(message(Data(count: limit))) == nil, "\(kind)")
            #expect(error(message(Data(count: limit + 1))) == .tooLarge, "\(kind)")
        }
    }

    @Test(arguments: [(4, PKCS11FormatError.malformed), (65_537, .tooLarge), (Int(UInt32.max), .tooLarge)])
    func `a length that no message has`(count: Int, error: PKCS11FormatError) {
        #expect(throws: error) { try PKCS11Request.byteCount(ModuleMessage.number(UInt32(count))) }
    }

    @Test func `the shortest and the longest length`() throws {
        #expect(try PKCS11Request.byteCount(ModuleMessage.number(5)) == 5)
        #expect(try PKCS11Request.byteCount(ModuleMessage.number(65_536)) == 65_536)
    }

    @Test func `numbers are where an answer is, and only there`() {
        for message in [
            ModuleMessage.content(1, 1, Data("OP11".utf8) + [1]), ModuleMessage.content(7, 1, ModuleMessage.number(1)),
            ModuleMessage.content(8, 1, ModuleMessage.number(1)), ModuleMessage.objects(0),
            ModuleMessage.sign(0, key, 0x1041, Data()), ModuleMessage.update(0, 1, 0x1044, Data([1])),
            ModuleMessage.decrypt(0, key, 1, Data()), ModuleMessage.derive(0, key, 0x1050, Data([4])),
        ] { #expect(error(message) == .malformed, "\(message[0])") }
    }

    @Test func `kinds, classes and places that are not there`() {
        for kind in [UInt8(0), 9, 0x81, 255] { #expect(error(ModuleMessage.content(kind, 1)) == .malformed) }
        for (place, byte) in [(5, UInt8(0)), (5, 4), (6, 0), (6, 5)] {
            var message = ModuleMessage.sign(1, key, 0x1041, Data())
            message[place] = byte
            #expect(error(message) == .malformed, "\(place), \(byte)")
        }
        #expect(error(ModuleMessage.update(1, 0, 0x1044, Data([1]))) == .malformed, "an operation has a number")
    }

    @Test func `another version is said, and another protocol is none`() {
        #expect(error(ModuleMessage.content(1, 0, Data("OP11".utf8) + [2])) == .otherVersion(2))
        #expect(error(ModuleMessage.content(1, 0, Data("OP12".utf8) + [1])) == .malformed)
    }

    @Test func `changed bytes are read or refused, and never more than they are`() {
        var generator = SeededGenerator(seed: 11)
        for _ in 0..<20_000 {
            var message = samples.randomElement(using: &generator) ?? Data()
            for _ in 0..<Int.random(in: 1...4, using: &generator) {
                message[Int.random(in: 0..<message.count, using: &generator)] = UInt8.random(
                    in: 0...255, using: &generator)
            }
            _ = error(message)
        }
    }

    // MARK: answers

    private func object(_ id: UInt8, _ value: Data) -> TokenObject {
        TokenObject(
            ObjectReference(.certificate, .certificate, id: Data(repeating: id, count: 16))!, longestResult: 0x0102,
            [.value: .bytes(value), .objectClass: .number(1), .allowedMechanisms: .numbers([1, 0x1041])])
    }

    @Test func `an object has its attributes by number, and numbers have eight bytes`() {
        #expect(
            Data(object(5, Data([9])).bytes)
                == Self.bytes("01 04") + Data(repeating: 5, count: 16) + Self.bytes("01 02 03")
                + Self.bytes("00 00 00 00 02 00 08 00 00 00 00 00 00 00 01")
                + Self.bytes("00 00 00 11 01 00 01 09")
                + Self.bytes("40 00 06 00 02 00 10 00 00 00 00 00 00 00 01 00 00 00 00 00 00 10 41"))
    }

    @Test func `a list that does not fit into one message goes on in the next one`() {
        let objects = (0..<5).map { object(UInt8($0), Data(count: 25_000)) }
        var (cursor, seen) = (0, 0)
        repeat {
            let page = PKCS11Answer.objects(objects, from: cursor, number: 3)
            #expect(page.count <= 4 + PKCS11Limits.messageByteCount)
            let next = Int(page[9..<13].reduce(UInt32(0)) { $0 << 8 | UInt32($1) })
            seen += Int(page[13]) << 8 | Int(page[14])
            #expect(next == 0 || next > cursor)
            cursor = next
        } while cursor != 0
        #expect(seen == 5)
        #expect(
            PKCS11Answer.objects([], from: 0, number: 3) == Self.bytes("00 00 00 0B 82 00 00 00 03 00 00 00 00 00 00"))
        #expect(
            PKCS11Answer.objects(objects, from: 99, number: 3)
                == Self.bytes("00 00 00 0B 82 00 00 00 03 00 00 00 00 00 00"))
    }

    @Test func `an object that no message carries is told`() {
        #expect(object(1, Data(count: PKCS11Limits.valueByteCount)).isSendable)
        #expect(!object(1, Data(count: PKCS11Limits.valueByteCount + 1)).isSendable)
    }

    @Test func `a secret comes behind its head`() {
        let message = PKCS11Answer.result(secret: SecretBytes(Data([1, 2])), number: 9)
        #expect(Data(exposing: message) == Self.bytes("00 00 00 07 83 00 00 00 09 01 02"))
        #expect(PKCS11Answer.result(Data([1, 2]), number: 9) == Self.bytes("00 00 00 07 83 00 00 00 09 01 02"))
    }
}
