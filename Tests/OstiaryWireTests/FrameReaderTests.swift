import Foundation
import Glibc
import OstiaryWire
import SecretMemory
import Testing
import UnixSocket

@Suite("Reading frames", .timeLimit(.minutes(1)))
struct FrameReaderTests {
    private let near: UnixSocket
    private let far: UnixSocket

    init() throws { (near, far) = try socketPair() }

    private static func request(tailByteCount: Int = 0) throws -> [UInt8] {
        try FrameWriter.frame(WireRequest.with { $0.id = 7 }, tail: SecretBytes(zeroed: tailByteCount))
    }

    /// The id of the next request, or why there is none.
    private static func next(_ reader: inout FrameReader, limit: Int = .max) -> Result<UInt64, FrameReadError> {
        do { return .success(try reader.next(WireRequest.self, bodyByteCount: limit).message.id) } catch {
            return .failure(error)
        }
    }

    // MARK: time

    @Test func `how long a connection was idle does not count against a frame's time`() throws {
        var reader = FrameReader(socket: near, frameSeconds: 1)
        let (far, frame) = (far, try Self.request())
        Thread {
            usleep(1_500_000)
            try? far.send(Array(frame[..<3]))
            usleep(20_000)
            try? far.send(Array(frame[3...]))
        }.start()
        #expect(Self.next(&reader) == .success(7))
    }

    @Test(arguments: [1, FrameHeader.byteCount, FrameHeader.byteCount + 1])
    func `a frame that is begun and not finished in time ends the connection`(count: Int) throws {
        var reader = FrameReader(socket: near, frameSeconds: 0.05)
        try far.send(Array(Self.request().prefix(count)))
        #expect(Self.next(&reader) == .failure(.unfinished))
    }

    @Test func `bytes that trickle in do not prolong a frame's time`() throws {
        var reader = FrameReader(socket: near, frameSeconds: 0.3)
        let (far, frame) = (far, try Self.request(tailByteCount: 1000))
        let begin = ContinuousClock.now
        let sender = Thread {
            for byte in frame {
                guard (try? far.send([byte])) != nil else { return }
                usleep(10_000)
            }
        }
        sender.start()
        #expect(Self.next(&reader) == .failure(.unfinished))
        near.shutdown()
        #expect(begin.duration(to: .now) < .seconds(8), "the whole frame takes ten seconds")
    }

    // MARK: size

    @Test func `a frame within the reader's limit is read, tail included`() throws {
        var reader = FrameReader(socket: near)
        let frame = try Self.request(tailByteCount: 10)
        try far.send(frame)
        #expect(Self.next(&reader, limit: frame.count - FrameHeader.byteCount) == .success(7))
    }

    @Test(arguments: [0, 1, 11]) func `a frame beyond the reader's limit is refused`(missing: Int) throws {
        var reader = FrameReader(socket: near)
        let frame = try Self.request(tailByteCount: 10)
        let limit = frame.count - FrameHeader.byteCount - missing
        try far.send(frame)
        #expect(Self.next(&reader, limit: limit) == (missing == 0 ? .success(7) : .failure(.frame(.tooLarge))))
    }

    @Test func `what is announced beyond the limit is refused before it comes`() throws {
        var reader = FrameReader(socket: near)
        try far.send([0, 0, 0x10, 0x01, 0, 0, 0, 0])
        #expect(Self.next(&reader, limit: 4096) == .failure(.frame(.tooLarge)))
    }
}
