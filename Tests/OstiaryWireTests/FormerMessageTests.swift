import Crypto
import Foundation
import Testing

@testable import OstiaryMessages

/// What programs of former versions send and read stays as it was, in every field of every message. The transcripts hold a few
/// messages as they occur; here is each one, with all of its fields.
@Suite("Messages of former versions") struct FormerMessageTests {
    /// A message in a version, such as `7 request.sign`, and the digest of its bytes.
    private struct Line {
        let message: String
        let digest: String
    }

    private static let versions = ProtocolVersions.ofThisBuild.oldest..<ProtocolVersions.ofThisBuild.newest

    private static var present: [Line] {
        versions.flatMap { lines(Samples.fullRequests, in: $0) + lines(Samples.fullReplies, in: $0) }
    }

    private static func lines<Message: FrameMessage>(
        _ samples: [(name: String, message: Message)], in version: UInt32
    ) -> [Line] {
        samples.compactMap { sample in
            // A message that the version does not have is not written, or not read.
            guard let bytes = try? sample.message.canonicalBytes(in: version),
                (try? Message(canonicalBytes: bytes, in: version)) != nil
            else { return nil }
            return Line(message: "\(version) \(sample.name)", digest: digest(of: bytes))
        }
    }

    private static func digest(of bytes: [UInt8]) -> String {
        SHA256.hash(data: bytes).map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    }

    /// The recorded digests. Their file says how a version comes in.
    private static func recorded() throws -> [String: String] {
        let tests = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        let text = try String(
            contentsOf: tests.appendingPathComponent("WireTranscripts/messages.txt"), encoding: .utf8)
        var digests: [String: String] = [:]
        for line in text.split(separator: "\n") where !line.hasPrefix("#") {
            let parts = line.split(separator: " ").map(String.init)
            try #require(parts.count == 3, "a line is a version, a message and a digest: \(line)")
            let former = digests.updateValue(parts[2], forKey: "\(parts[0]) \(parts[1])")
            #expect(former == nil, "a message is there once: \(line)")
        }
        return digests
    }

    @Test func `each message of a former version has the bytes that it had then`() throws {
        let (present, recorded) = (Self.present, try Self.recorded())
        let changed = present.filter { (recorded[$0.message] ?? $0.digest) != $0.digest }.map(\.message)
        let unrecorded = present.map(\.message).filter { recorded[$0] == nil }
        let missing = Set(recorded.keys).subtracting(present.map(\.message)).sorted()
        #expect(changed == [], "Programs of these versions read other bytes. Give a new field `since:`.")
        #expect(unrecorded == [], "These versions had no such messages. Give a new request, reply or choice `since:`.")
        #expect(missing == [], "These versions had these messages, and their programs still use them.")
        // The whole file, for a version that has just become a former one.
        if present.count != recorded.count {
            print(present.map { "\($0.message) \($0.digest)" }.joined(separator: "\n"))
        }
    }
}
