import CLinuxShims
import CanonicalEncoding
import Foundation
import Glibc
import OstiaryWire
import SecretMemory
import Testing
import UnixSocket

@testable import OstiaryMessages

/// Requests that a door makes for its clients, and the descriptors that travel with them.
@Suite("Requests for clients") struct ClientRequestTests {
    private static func bytes(_ text: String) -> [UInt8] {
        let digits = text.filter { !$0.isWhitespace }
        return stride(from: 0, to: digits.count, by: 2).map { offset in
            UInt8(digits.dropFirst(offset).prefix(2), radix: 16)!
        }
    }

    private static let example = WireRequest.with {
        ($0.id, $0.body) = (7, .openContext(.init()))
        $0.onBehalf = .with { ($0.descriptors, $0.label) = ([.socket, .terminal], "git") }
    }
    private static let exampleBytes = bytes(
        "0000000000000007 01 78 00000002 00000001 00000003 00000003 676974 0a 00")

    /// Every request, each for a client.
    private static func requests(seed: UInt64) -> [WireRequest] {
        var fields = SampleFields(seed: seed)
        return Samples.requests(seed: seed).map { request in
            var request = request
            request.onBehalf = fields.value()
            return request
        }
    }

    @Test func `a request for a client has the bytes of the document`() throws {
        #expect(try Self.example.canonicalBytes == Self.exampleBytes)
        #expect(try WireRequest(canonicalBytes: Self.exampleBytes) == Self.example)
    }

    @Test func `a request of the program itself has the bytes of before`() throws {
        var request = Self.example
        request.onBehalf = nil
        #expect(try request.canonicalBytes == Self.bytes("0000000000000007 01 0a 00"))
        #expect(try request.canonicalBytes(in: 7) == request.canonicalBytes(in: 8))
    }

    @Test(arguments: MessageTests.seeds) func `each request is written and read for a client`(seed: UInt64) throws {
        for request in Self.requests(seed: seed) {
            #expect(try WireRequest(canonicalBytes: request.canonicalBytes) == request)
        }
    }

    @Test(arguments: MessageTests.seeds) func `each truncation and each byte more is refused`(seed: UInt64) throws {
        for request in Self.requests(seed: seed) {
            let bytes = try request.canonicalBytes
            for count in 0..<bytes.count {
                #expect(throws: CanonicalEncodingError.truncated) {
                    try WireRequest(canonicalBytes: Array(bytes.prefix(count)))
                }
            }
            #expect(throws: CanonicalEncodingError.trailingBytes) { try WireRequest(canonicalBytes: bytes + [0]) }
        }
    }

    @Test func `clients do not nest`() {
        let once = Self.exampleBytes.dropLast(2)
        let twice = once + Self.exampleBytes.dropFirst(9)
        #expect(throws: CanonicalEncodingError.unknownChoice) { try WireRequest(canonicalBytes: Array(twice)) }
        #expect(throws: CanonicalEncodingError.truncated) { try WireRequest(canonicalBytes: Array(once)) }
    }

    @Test func `an older version has no clients`() {
        #expect(throws: WireEncodingError.malformed) { try Self.example.canonicalBytes(in: 7) }
        #expect(throws: CanonicalEncodingError.unknownChoice) {
            try WireRequest(canonicalBytes: Self.exampleBytes, in: 7)
        }
        #expect(WireRequest.clientVersion == 8)
    }

    @Test func `what an older daemon would overlook is sent to none`() {
        let bodies: [WireRequest.OneOf_Body] = [
            .createRight(.with { $0.accessGroup = "g" }), .findRight(.with { $0.accessGroup = "g" }),
            .listRights(.with { $0.accessGroup = "g" }), .removeRight(.with { $0.accessGroup = "g" }),
            .registerApplication(.with { $0.isDoor = true }),
        ]
        for body in bodies { #expect(body.oldestVersion == 8) }
        let several = WireRequest.OneOf_Body.registerApplication(
            .with { ($0.isDoor, $0.others) = (true, [WireFurtherProgram()]) })
        #expect(several.oldestVersion == 9)
        #expect(WireRequest.OneOf_Body.createRight(.init()).oldestVersion == 7)
    }

    // MARK: descriptors

    private static func next(_ reader: inout FrameReader) -> Result<[PassedDescriptor.Kind], FrameReadError> {
        do throws(FrameReadError) {
            return .success(try reader.next(WireRequest.self).descriptors.map(\.kind))
        } catch { return .failure(error) }
    }

    @Test func `terminals, sockets and processes come in their order, and other files end the connection`() throws {
        let (near, far) = try socketPair()
        var reader = FrameReader(socket: near)
        reader.endHandshake(takesClients: true)
        let null = try Descriptor(open("/dev/null", O_RDWR | O_CLOEXEC), from: "open")
        let process = try Descriptor(ostiary_open_process(getpid()), from: "pidfd_open")
        try FrameWriter.send(Self.example, descriptors: [process.number, null.number, far.number], on: far)
        #expect(Self.next(&reader) == .success([.process, .device, .socket]))
        try FrameWriter.send(Self.example, on: far)
        #expect(Self.next(&reader) == .success([]))
        let folder = try Descriptor(open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC), from: "open")
        try FrameWriter.send(Self.example, descriptors: [far.number, folder.number], on: far)
        #expect(Self.next(&reader) == .failure(.foreignDescriptor))
    }

    @Test func `a file without a type that is no process ends the connection`() throws {
        let (near, far) = try socketPair()
        var reader = FrameReader(socket: near)
        reader.endHandshake(takesClients: true)
        let events = try Descriptor(inotify_init1(CInt(IN_CLOEXEC)), from: "inotify_init1")
        try FrameWriter.send(Self.example, descriptors: [events.number], on: far)
        #expect(Self.next(&reader) == .failure(.foreignDescriptor))
    }

    @Test func `a connection without clients takes one device and nothing else`() throws {
        for passed in [1, 2] {
            let (near, far) = try socketPair()
            var reader = FrameReader(socket: near)
            reader.endHandshake()
            let null = try Descriptor(open("/dev/null", O_RDWR | O_CLOEXEC), from: "open")
            try FrameWriter.send(
                Self.example, descriptors: passed == 1 ? [far.number] : [null.number, null.number], on: far)
            #expect(Self.next(&reader) == .failure(passed == 1 ? .foreignDescriptor : .surplusDescriptors))
        }
    }
}
