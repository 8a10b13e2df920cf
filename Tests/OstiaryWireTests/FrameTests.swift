import OstiaryMessages
import OstiaryWire
import SecretMemory
import Testing

@Suite("Frames")
struct FrameTests {
    private static func parse(_ bytes: [UInt8]) throws(FrameError) -> FrameHeader {
        try FrameHeader(parsing: bytes.span.bytes)
    }

    private static func header(_ message: UInt32, _ tail: UInt32) -> [UInt8] {
        [message, tail].flatMap { count in withUnsafeBytes(of: count.bigEndian) { Array($0) } }
    }

    @Test func `a header is two big-endian counts`() throws {
        let header = try FrameHeader(messageByteCount: 0x0001_0203, tailByteCount: 0x0004_0506)
        var bytes: [UInt8] = [1, 1, 1, 1, 1, 1, 1, 1, 0xFF]
        header.write(to: &bytes)
        #expect(bytes == [0, 1, 2, 3, 0, 4, 5, 6, 0xFF])
        #expect(try Self.parse(bytes) == header)
        #expect(header.bodyByteCount == 0x0005_0709)
    }

    @Test(
        arguments: [
            (1, 0), (1, UInt32(WireLimits.tailByteCount)), (UInt32(WireLimits.messageByteCount), 0),
            (UInt32(WireLimits.messageByteCount), UInt32(WireLimits.tailByteCount)),
        ] as [(UInt32, UInt32)])
    func `counts up to the limits are read`(message: UInt32, tail: UInt32) throws {
        let header = try Self.parse(Self.header(message, tail))
        #expect(header.messageByteCount == Int(message))
        #expect(header.tailByteCount == Int(tail))
    }

    @Test(
        arguments: [
            (UInt32(WireLimits.messageByteCount) + 1, 0), (1, UInt32(WireLimits.tailByteCount) + 1),
            (.max, 0), (1, .max), (.max, .max), (0x8000_0000, 0), (1, 0x8000_0000), (0x0100_0000, 0x0100_0000),
        ] as [(UInt32, UInt32)])
    func `counts beyond the limits, up to 4 GiB, are refused from the header alone`(message: UInt32, tail: UInt32) {
        #expect(throws: FrameError.tooLarge) { try Self.parse(Self.header(message, tail)) }
        #expect(throws: FrameError.tooLarge) {
            try FrameHeader(messageByteCount: Int(message), tailByteCount: Int(tail))
        }
    }

    @Test(arguments: [0, 1, .max] as [UInt32])
    func `a frame without a message is refused`(tail: UInt32) {
        #expect(throws: FrameError.empty) { try Self.parse(Self.header(0, tail)) }
        #expect(throws: FrameError.empty) { try FrameHeader(messageByteCount: 0, tailByteCount: Int(tail)) }
    }

    @Test(arguments: 0..<FrameHeader.byteCount)
    func `each truncation of a header is refused`(count: Int) {
        #expect(throws: FrameError.truncated) { try Self.parse(Array(Self.header(5, 7).prefix(count))) }
    }

    @Test func `bytes behind the header are left to the reader`() throws {
        #expect(try Self.parse(Self.header(5, 7) + [1, 2, 3]).bodyByteCount == 12)
    }

    // MARK: encoding

    @Test func `an encoded message is its header, its bytes and its tail`() throws {
        var request = WireRequest()
        request.id = 42
        request.body = .sign(.with { $0.algorithm = "algid:sign:ECDSA:digest-X962:SHA256" })
        let frame = try FrameWriter.frame(request, tail: SecretBytes(zeroed: 32))
        let header = try Self.parse(frame)
        #expect(header.messageByteCount == frame.count - FrameHeader.byteCount - 32)
        #expect(header.tailByteCount == 32)
        #expect(try WireRequest(canonicalBytes: Array(frame[FrameHeader.byteCount..<frame.count - 32])) == request)
    }

    /// A reply whose encoding has `byteCount` bytes.
    private static func reply(byteCount: Int) throws -> WireReply {
        func reply(explanationByteCount: Int) -> WireReply {
            var reply = WireReply()
            reply.body = .failure(.with { $0.explanation = String(repeating: "x", count: explanationByteCount) })
            return reply
        }
        return try reply(explanationByteCount: byteCount - reply(explanationByteCount: 0).canonicalBytes.count)
    }

    @Test func `a message of the largest size is sent, and one byte more is not`() throws {
        let largest = try Self.reply(byteCount: WireLimits.messageByteCount)
        #expect(
            try Self.parse(FrameWriter.frame(largest)).messageByteCount
                == WireLimits.messageByteCount)
        let larger = try Self.reply(byteCount: WireLimits.messageByteCount + 1)
        #expect(throws: FrameError.tooLarge) { try FrameWriter.frame(larger) }
    }

    @Test func `a tail of the largest size is announced, and one byte more is not`() throws {
        var request = WireRequest()
        request.id = 1
        let frame = try FrameWriter.frame(request, tail: SecretBytes(zeroed: WireLimits.tailByteCount))
        #expect(try Self.parse(frame).tailByteCount == WireLimits.tailByteCount)
        #expect(throws: FrameError.tooLarge) {
            try FrameWriter.frame(request, tail: SecretBytes(zeroed: WireLimits.tailByteCount + 1))
        }
    }

    @Test func `a negative count is a mistake of the caller`() async {
        await #expect(processExitsWith: .failure) {
            var request = WireRequest()
            request.id = 1
            _ = try FrameWriter.frame(request, tail: SecretBytes(zeroed: -1))
        }
    }
}
