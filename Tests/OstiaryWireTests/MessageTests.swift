import CanonicalEncoding
import Foundation
import SeededRandomness
import Testing

@testable import OstiaryMessages

/// Every message, as it is written and read back.
@Suite("Messages") struct MessageTests {
    static let seeds: [UInt64] = [1, 2, 3, 4]

    @Test(arguments: seeds) func `every message is read as it was written, whichever fields are set`(seed: UInt64)
        throws
    {
        for request in Samples.requests(seed: seed, ofEach: 32) {
            #expect(try WireRequest(canonicalBytes: request.canonicalBytes) == request)
        }
        for reply in Samples.replies(seed: seed, ofEach: 32) {
            #expect(try WireReply(canonicalBytes: reply.canonicalBytes) == reply)
        }
    }

    @Test func `two messages have the same bytes only when they are the same`() throws {
        let requests = Samples.requests(seed: 5, ofEach: 20)
        for request in requests {
            for other in requests {
                #expect(try (request == other) == (request.canonicalBytes == other.canonicalBytes))
            }
        }
    }

    @Test func `a request and a reply without a body are written and read`() throws {
        let request = WireRequest.with { $0.id = 7 }
        #expect(try request.canonicalBytes == [0, 0, 0, 0, 0, 0, 0, 7, 0])
        #expect(try WireRequest(canonicalBytes: request.canonicalBytes) == request)
        #expect(try WireReply(canonicalBytes: WireReply().canonicalBytes) == WireReply())
    }

    // MARK: nothing is forgotten

    /// The number of a body stands behind the id and the byte that says that there is one.
    private static let numberOffset = 9

    @Test func `the samples hold every body that can be read`() throws {
        // A body of zero bytes is a message with nothing set.
        let zeros = [UInt8](repeating: 0, count: 256)
        func readable<Body: WireChoice>(_ type: Body.Type) -> Set<UInt8> {
            Set(
                (0...255).filter { number in
                    zeros.withUnsafeBytes { bytes in
                        var reader = FieldReader(bytes, in: WireLimits.protocolVersion)
                        return Body(number: number, from: &reader) != nil
                    }
                })
        }
        let requests = Set(try Samples.requests(seed: 1).map { try $0.canonicalBytes[Self.numberOffset] })
        let replies = Set(try Samples.replies(seed: 1).map { try $0.canonicalBytes[Self.numberOffset] })
        #expect(requests == readable(WireRequest.OneOf_Body.self))
        #expect(replies == readable(WireReply.OneOf_Body.self))
        #expect(requests.count == 68)
        #expect(replies.count == 30)
    }

    /// Counts the fields that a message lists, and looks into those that are messages.
    private struct FieldCount: FieldCoder {
        let version = WireLimits.protocolVersion
        var count = 0
        mutating func field<Value: WireValue>(_ value: inout Value) {
            count += 1
            if let message = value as? any FieldList { Self.check(message) }
            if let list = value as? [any FieldList] { list.forEach(Self.check) }
            // What is chosen lies in the one child of a choice, and what may be absent in that of an optional.
            if Value.self is any WireChoice.Type || value is any ExpressibleByNilLiteral { Self.checkInside(value) }
        }

        static func check(_ message: any FieldList) {
            var (fields, copy) = (FieldCount(), message)
            copy.fields(&fields)
            #expect(fields.count == Mirror(reflecting: message).children.count, "\(type(of: message)) forgets a field")
        }

        static func checkInside(_ value: Any) {
            if let message = value as? any FieldList { return check(message) }
            for child in Mirror(reflecting: value).children { checkInside(child.value) }
        }
    }

    @Test func `every property of a message is one of its fields`() {
        for request in Samples.requests(seed: 6, ofEach: 16) {
            // A request lists no fields: it writes its id, its client and its body itself.
            #expect(Mirror(reflecting: request).children.count == 3)
            FieldCount.checkInside(request)
        }
        for reply in Samples.replies(seed: 6, ofEach: 16) { FieldCount.check(reply) }
    }

    @Test func `numbers without a name survive`() throws {
        let reply = WireReply.with {
            $0.body = .status(.with { $0.mode = .UNRECOGNIZED(4_000_000_000) })
        }
        let failure = WireReply.with { $0.body = .failure(.with { $0.code = 999 }) }
        for reply in [reply, failure] { #expect(try WireReply(canonicalBytes: reply.canonicalBytes) == reply) }
    }

    // MARK: what cannot be sent

    @Test func `texts, bytes and lists longer than a message are not written`() {
        let count = WireLimits.messageByteCount + 1
        let tooLarge: [WireReply.OneOf_Body] = [
            .failure(.with { $0.explanation = String(repeating: "x", count: count) }),
            .key(.with { $0.publicKey = Data(count: count) }),
            .granted(.with { $0.factors = [String](repeating: "", count: count) }),
            .rights(.with { $0.rights = [WireRight](repeating: .init(), count: count) }),
            .granted(.with { $0.factors = [String](repeating: String(repeating: "x", count: 100_000), count: 100) }),
        ]
        for body in tooLarge {
            #expect(throws: WireEncodingError.tooLarge) { try WireReply.with { $0.body = body }.canonicalBytes }
        }
    }

    @Test func `room for a header is left in front`() throws {
        let request = WireRequest.with { $0.body = .lock(.init()) }
        let bytes = try request.canonicalBytes(in: WireLimits.protocolVersion, behind: 3, reserving: 100)
        #expect(try bytes == [0, 0, 0] + request.canonicalBytes)
    }
}
