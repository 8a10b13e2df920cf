import PAMProtocol
import PromptProtocol
import Testing

/// The bytes between daemon and helper.
@Suite struct MessageTests {
    static let request = PAMRequest(service: "face", folder: "/etc/pam.d", trustedUserID: 0)

    @Test func `a request has fixed bytes`() throws {
        let bytes = [1, 0, 4] + Array("face".utf8) + [0, 10] + Array("/etc/pam.d".utf8) + [0, 0, 0, 0]
        #expect(Self.request.bytes == bytes)
        #expect(PAMRequest(decoding: bytes) == Self.request)
    }

    @Test func `other bytes are no request`() throws {
        let bytes = try #require(Self.request.bytes)
        for count in 0..<bytes.count { #expect(PAMRequest(decoding: Array(bytes[..<count])) == nil) }
        #expect(PAMRequest(decoding: bytes + [0]) == nil)
        #expect(PAMRequest(decoding: [2] + bytes.dropFirst()) == nil)
        #expect(PAMRequest(decoding: [1, 0, 1, 0xFF] + bytes.dropFirst(7)) == nil)
    }

    @Test func `a request that is too long is none`() {
        let name = String(repeating: "a", count: PAMRequest.maximumByteCount)
        #expect(PAMRequest(service: name, folder: "/", trustedUserID: 0).bytes == nil)
    }

    static let longest = DisplayText(String(repeating: "😀", count: 300))
    static let reports: [PAMReport] =
        [.info(DisplayText("Look")), .error(DisplayText("")), .info(longest)] + PAMResult.allCases.map { .result($0) }

    @Test(arguments: reports) func `a report comes back`(_ report: PAMReport) {
        #expect(report.bytes.count <= PAMReport.maximumByteCount)
        #expect(PAMReport(decoding: report.bytes) == report)
    }

    @Test(
        arguments: [
            [], [0], [4], [3], [3, 0], [3, 9], [3, 1, 1], [1, 0xFF], [1, 0x1B, 0x5B], [2, 0x0A],
            [1] + Array("a\u{202E}b".utf8), [1] + Array(" a".utf8), [1] + [UInt8](repeating: 0x61, count: 301),
            [1] + [UInt8](repeating: 0x61, count: PAMReport.maximumByteCount),
        ] as [[UInt8]])
    func `other bytes are no report`(_ bytes: [UInt8]) {
        #expect(PAMReport(decoding: bytes) == nil)
    }
}
