import CanonicalEncoding
import Foundation
import SeededRandomness
import Testing

@testable import OstiaryMessages

/// Bytes that no message is written as.
@Suite("Messages from outside") struct MessageAttackTests {
    private static func requestBytes(seed: UInt64) throws -> [[UInt8]] {
        try Samples.requests(seed: seed).map { try $0.canonicalBytes }
    }

    private static func replyBytes(seed: UInt64) throws -> [[UInt8]] {
        try Samples.replies(seed: seed).map { try $0.canonicalBytes }
    }

    /// Why the bytes are no message of this type; nil when they are one, which then is written as just these bytes.
    private static func refusal<Message: FrameMessage>(
        _ bytes: [UInt8], as type: Message.Type, _ location: SourceLocation = #_sourceLocation
    ) -> CanonicalEncodingError? {
        do throws(CanonicalEncodingError) {
            let message = try Message(canonicalBytes: bytes)
            #expect(
                (try? message.canonicalBytes) == bytes, "read from other bytes than it is written as",
                sourceLocation: location)
            return nil
        } catch { return error }
    }

    @Test(arguments: MessageTests.seeds) func `each truncation is refused`(seed: UInt64) throws {
        for bytes in try Self.requestBytes(seed: seed) {
            for count in 0..<bytes.count {
                #expect(Self.refusal(Array(bytes.prefix(count)), as: WireRequest.self) == .truncated)
            }
        }
        for bytes in try Self.replyBytes(seed: seed) {
            for count in 0..<bytes.count {
                #expect(Self.refusal(Array(bytes.prefix(count)), as: WireReply.self) == .truncated)
            }
        }
    }

    @Test func `a byte that is left over is refused`() throws {
        for bytes in try Self.requestBytes(seed: 1) {
            #expect(Self.refusal(bytes + [0], as: WireRequest.self) == .trailingBytes)
        }
        for bytes in try Self.replyBytes(seed: 1) {
            #expect(Self.refusal(bytes + [0], as: WireReply.self) == .trailingBytes)
        }
    }

    @Test func `a field that comes twice is left over`() throws {
        let request = try WireRequest.with { $0.body = .findRight(.with { $0.identifier = "2fa" }) }.canonicalBytes
        // The name, and no group behind it.
        let name: [UInt8] = [0, 0, 0, 3] + "2fa".utf8 + [0, 0, 0, 0]
        #expect(request.suffix(name.count) == name[...])
        #expect(Self.refusal(request + name, as: WireRequest.self) == .trailingBytes)
        // The whole body again, and another one.
        #expect(Self.refusal(request + request.dropFirst(8), as: WireRequest.self) == .trailingBytes)
        #expect(Self.refusal(request + [1, 41], as: WireRequest.self) == .trailingBytes)
    }

    @Test func `a body that this version does not know is refused`() throws {
        let known = Set(try Self.requestBytes(seed: 1).map { $0[9] })
        for number in (0...255 as ClosedRange<UInt8>) where !known.contains(number) {
            let bytes = [0, 0, 0, 0, 0, 0, 0, 1, 1, number] + [UInt8](repeating: 0, count: 64)
            #expect(Self.refusal(bytes, as: WireRequest.self) == .unknownChoice, "number \(number)")
        }
    }

    @Test(arguments: 2...255) func `a body is there or not, and nothing between`(flag: UInt8) {
        #expect(Self.refusal([0, 0, 0, 0, 0, 0, 0, 1, flag, 41], as: WireRequest.self) == .invalidFlag)
    }

    @Test(
        arguments: [[0xFF], [0xC0, 0x80], [0xED, 0xA0, 0x80], [0xF4, 0x90, 0x80, 0x80], [0xE2, 0x82]] as [[UInt8]])
    func `text that is not UTF-8 is refused`(text: [UInt8]) {
        let bytes = [0, 0, 0, 0, 0, 0, 0, 1, 1, 21, 0, 0, 0, UInt8(text.count)] + text
        #expect(Self.refusal(bytes, as: WireRequest.self) == .invalidText)
    }

    @Test func `a length or a count that promises more than there is costs nothing`() {
        let promise: [UInt8] = [0xFF, 0xFF, 0xFF, 0xFF]
        // The name of a right, and the rights of a list.
        #expect(Self.refusal([0, 0, 0, 0, 0, 0, 0, 1, 1, 21] + promise, as: WireRequest.self) == .truncated)
        #expect(Self.refusal([0, 0, 0, 0, 0, 0, 0, 1, 1, 9] + promise, as: WireReply.self) == .truncated)
    }

    @Test(arguments: [1, 2]) func `a flipped bit is refused, or means another message`(seed: UInt64) throws {
        for bytes in try Self.requestBytes(seed: seed) { Self.flipEachBit(of: bytes, as: WireRequest.self) }
        for bytes in try Self.replyBytes(seed: seed) { Self.flipEachBit(of: bytes, as: WireReply.self) }
        let greeting = WireGreeting.with { ($0.oldestVersion, $0.nonce) = (2, Data(1...16)) }
        Self.flipEachBit(of: try greeting.canonicalBytes, as: WireGreeting.self)
    }

    private static func flipEachBit<Message: FrameMessage>(of bytes: [UInt8], as type: Message.Type) {
        for bit in 0..<bytes.count * 8 {
            var flipped = bytes
            flipped[bit / 8] ^= 1 << (bit % 8)
            _ = refusal(flipped, as: type)
        }
    }

    @Test(arguments: MessageTests.seeds) func `random bytes are refused, or mean a message`(seed: UInt64) {
        var fields = SampleFields(seed: seed)
        for _ in 0..<5000 {
            let noise = fields.bytes(upTo: 200)
            _ = Self.refusal(noise, as: WireRequest.self)
            _ = Self.refusal(noise, as: WireReply.self)
            _ = Self.refusal(noise, as: WireGreeting.self)
            // Noise alone is hardly ever a body.
            let number = UInt8.random(in: 0...90, using: &fields.generator)
            let small = noise.map { $0 & 3 }
            _ = Self.refusal([0, 0, 0, 0, 0, 0, 0, 1, 1, number] + small, as: WireRequest.self)
            _ = Self.refusal([0, 0, 0, 0, 0, 0, 0, 1, 1, number & 31] + small, as: WireReply.self)
        }
    }
}
