import Foundation
import SecretMemory
import Testing

@testable import AuditLog

/// The example of `Documentation/formats/audit-log.md`, computed with another implementation of HMAC, HKDF and SHA-256.
@Suite("The documented example of an audit log")
struct AuditLogFormatTests {
    private static let header = "4f5354494c4f470000010000a0a1a2a3a4a5a6a7a8a9aaabacadaeaf"
    private static let records = [
        """
        0000000e0102000000010000018bcfe568006c7743adb71518c54193b4a580b5452e265c72cb5241381e1fcb3f896ddee38e5d2046548b\
        dc9903e4c8af208d0e4df1fea4dcdcbb98b19ae34fc77a0740b3d8
        """,
        """
        0000005301010000018bcfe5680100047369676e00076772616e746564000c2f7573722f62696e2f6170700000002a0005726967687400\
        0375736501000870617373636f646500096b65792d626f756e64000000000001637d250aa595b10be9223876a589dcbea399b0649c0507\
        0b435a1c537331b665c9c7b96a1140e3c535b41e143176ce323d0089fb724dc137eff1b65e95dc37bc
        """,
    ]

    @Test func `header and records have the documented bytes`() throws {
        let header = try #require(Data(hexadecimal: Self.header))
        var template = LogFormat.newHeader()
        #expect(template.count == header.count)
        template.replaceSubrange(12..., with: header.dropFirst(12))
        #expect(Data(template) == header)

        let contents: [LogRecord.Content] = [
            .epochStart(number: 1, time: 1_700_000_000_000),
            .entry(
                AuditEntry(
                    time: 1_700_000_000_001, event: "sign", result: "granted", program: "/usr/bin/app", processID: 42,
                    object: "right", operation: "use", factors: ["passcode"], strength: "key-bound")),
        ]
        var seedBytes = Data(0..<32)
        let seed = SecretBytes(taking: &seedBytes)
        var key = SealKey(epochSeed: seed)
        var head = HashChain.initialHead(header: Array(header))
        for (content, expected) in zip(contents, Self.records) {
            let code = key.code(head: head, payload: content.payload)
            head = HashChain.head(after: head, payload: content.payload, code: code)
            key.advance()
            #expect(
                Data(RawRecord.bytes(payload: content.payload, code: code, head: head)) == Data(hexadecimal: expected))
        }
    }
}

extension Data {
    fileprivate init?(hexadecimal: String) {
        let digits = hexadecimal.compactMap(\.hexDigitValue)
        guard digits.count == hexadecimal.count, digits.count.isMultiple(of: 2) else { return nil }
        self.init(stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) })
    }
}
