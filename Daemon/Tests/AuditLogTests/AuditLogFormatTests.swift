import Foundation
import Glibc
import SecretMemory
import StoreTestSupport
import Testing

@testable import AuditLog

/// The examples of `Documentation/formats/audit-log.md`, computed with another implementation of HMAC, HKDF and SHA-256.
@Suite("The documented examples of an audit log")
struct AuditLogFormatTests {
    private static let header = "4f5354494c4f470000010000a0a1a2a3a4a5a6a7a8a9aaabacadaeaf"
    private static let records = [
        """
        000000170202010000000000000003000000010000018bcfe56800736051d2bd0b094bedd808937a5123814ee5b92fd1f2cdd93a8bf078\
        897edeccaeb10d7343248e9a348b5f36be995c8af1beed573e5e796d26cbaca6118e99ff
        """,
        """
        0000005c02010100000000000000040000018bcfe5680100047369676e00076772616e746564000c2f7573722f62696e2f617070000000\
        2a00057269676874000375736501000870617373636f646500096b65792d626f756e640000000000014d46232189286ff40ea17f605fef\
        1b59835248a8fc24024261fdcaa7bf9b35a5265f4c128770fdf69b5269c7f404420feb00f9e0e38fb09ebf54afd11bd9d385
        """,
        """
        0000003e02010000000000000000040000018bcfe5680200046c6f636b0004646f6e65000c2f7573722f62696e2f6170700000002a0000\
        00000000000000000000018bd2e4abd098b1ae1cda2d368c79ae167b0dbc9273f67d2c7ef1b15b468d99f71a70d3b7fd77048ab1f65596\
        b7569e7c0f2509a2a31b56eb8c94569b2a7633ff
        """,
    ]
    /// As they were written before a record named the store's number; each has a key of its own.
    private static let recordsOfVersion1 = [
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

    private static let epochStart = LogRecord.Content.epochStart(number: 1, time: 1_700_000_000_000)
    private static let sign = LogRecord.Content.entry(
        AuditEntry(
            time: 1_700_000_000_001, event: "sign", result: "granted", program: "/usr/bin/app", processID: 42,
            object: "right", operation: "use", factors: ["passcode"], strength: "key-bound"))
    private static let lock = LogRecord.Content.entry(
        AuditEntry(
            time: 1_700_000_000_002, event: "lock", result: "done", program: "/usr/bin/app", processID: 42))

    private static func seed() -> SecretBytes {
        var bytes = Data(0..<32)
        return SecretBytes(taking: &bytes)
    }

    @Test func `header and records have the documented bytes`() throws {
        let header = try #require(Data(hexadecimal: Self.header))
        var template = LogHeader().bytes
        #expect(template.count == header.count)
        template.replaceSubrange(12..., with: header.dropFirst(12))
        #expect(Data(template) == header)

        var key = SealKey(epochSeed: Self.seed())
        var head = HashChain.initialHead(header: Array(header))
        // The anchor after record 0 made the key move on.
        for (index, (content, generation)) in [(Self.epochStart, 3), (Self.sign, 4), (Self.lock, 4)].enumerated() {
            if index == 1 { key.advanceIfUsed() }
            var bytes = Data()
            let payload = LogPayload(content, storeGeneration: UInt64(generation))
            try RecordBuffer.with(payload) { (record) throws(AuditLogError) in
                record.seal(with: key, after: head)
                record.copyHead(to: &head)
                try record.withRecord { (written) throws(AuditLogError) in bytes = Data(written) }
            }
            key.markUsed()
            #expect(bytes == Data(hexadecimal: Self.records[index]))
        }
    }

    @Test func `the header of a part has the documented bytes`() throws {
        let head = Array(try #require(Data(hexadecimal: Self.records[2])).suffix(32))
        let header = LogHeader(following: LogHeader(), closedAt: ClosedPart(count: 3, head: head))
        var bytes = header.bytes
        bytes.replaceSubrange(12..<28, with: 0xb0...0xbf)
        let documented = """
            4f5354494c4f470000020000b0b1b2b3b4b5b6b7b8b9babbbcbdbebf0000000100000000000000031a70d3b7fd77048ab1f65596b7569e\
            7c0f2509a2a31b56eb8c94569b2a7633ff
            """
        #expect(Data(bytes) == Data(hexadecimal: documented))
        #expect(header.number == 2 && header.start.index == 3)

        // Read back whole; at every other length it is no header, nor with a list that does not grow.
        let folder = try TestFolder()
        func read(_ bytes: [UInt8]) throws -> LogHeader? {
            try Data(bytes).write(to: URL(fileURLWithPath: folder.path("part")))
            guard let file = try LogFile(reading: folder.path("part"), ownedBy: geteuid()) else {
                throw AuditLogError.missing
            }
            return try LogHeader(of: file.source)
        }
        #expect(try read(header.bytes + [1, 2, 3]) == header)
        for count in 0..<bytes.count { #expect(try read(Array(bytes.prefix(count))) == nil) }
        for (offset, value) in [(29, 1), (31, 0), (31, 2), (39, 0)] as [(Int, UInt8)] {
            var changed = bytes
            changed[offset] = value
            #expect(try read(changed) == nil, "\(offset)")
        }
        let third = LogHeader(following: header, closedAt: ClosedPart(count: 9, head: head))
        #expect(try read(third.bytes) == third && third.number == 3 && third.records(ofPart: 2) == 3..<9)
        let notGrowing = LogHeader(following: header, closedAt: ClosedPart(count: 3, head: head))
        #expect(try read(notGrowing.bytes) == nil)
    }

    @Test(arguments: [(records, [3, 4, 4]), (recordsOfVersion1, [nil, nil])] as [([String], [UInt64?])])
    func `records of both versions are read and their seals checked`(
        records: [String], generations: [UInt64?]
    ) throws {
        let folder = try TestFolder()
        let file = try #require(records.reduce(Data(hexadecimal: Self.header)) { $0! + Data(hexadecimal: $1)! })
        try file.write(to: URL(fileURLWithPath: folder.path("audit.log")))
        // An anchor after the last record.
        var key = SealKey(epochSeed: Self.seed())
        for _ in records.indices.dropFirst(records.count == 3 ? 1 : 0) {
            key.markUsed()
            key.advanceIfUsed()
        }
        let anchors = TestAnchorStore(
            Anchor(
                count: UInt64(records.count), head: file.suffix(32), epoch: 1,
                sealedKey: try TestSealer().seal(key.copy()), place: nil))
        anchors.storeGeneration = 4
        let log = try AuditLog(folder: folder.path, ownedBy: geteuid(), anchors: anchors, sealer: TestSealer())
        #expect(log.state == .intact)
        let read = try log.page(from: 0, limit: 9).records
        #expect(read.map(\.content) == Array([Self.epochStart, Self.sign, Self.lock].prefix(records.count)))
        #expect(read.map(\.storeGeneration) == generations)
        let verdict = try log.verify(seeds: { _ in Self.seed() })
        #expect(verdict.isIntact && verdict.sealsChecked && verdict.recordCount == UInt64(records.count))
    }
}

extension Data {
    fileprivate init?(hexadecimal: String) {
        let digits = hexadecimal.compactMap(\.hexDigitValue)
        guard digits.count == hexadecimal.count, digits.count.isMultiple(of: 2) else { return nil }
        self.init(stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) })
    }
}
