import ExactNames
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
        000000170302010000000000000003000000010000018bcfe56800312de9090b5a4fe2430db2e0ab5e0bee54aba929d288fc8bf2779f44\
        5fc9f34273ca40474e7025f34ce424040c437357e05743a8d8385cdf608b06f0750a9364
        """,
        """
        0000006c0301010000000000000004222222222222222222222222222222220000018bcfe5680100047369676e00076772616e74656400\
        0c2f7573722f62696e2f6170700000002a00057269676874000375736501000870617373636f646500096b65792d626f756e6400000000\
        0001b67d89f1bf01a5f25cc355b09067bacc2cf3bbbfb439a1e4332fd973d641fef8e112037d819b4f32117977299b277873845587394b\
        4ab79fe9ed0019457fa006
        """,
        """
        0000004e0301000000000000000004000000000000000000000000000000000000018bcfe5680200046c6f636b0004646f6e65000c2f75\
        73722f62696e2f6170700000002a000000000000000000000000014e5d91ddcee4c3da78d4b033ed64a85dd8d9f6ce1095bfa605278d8d\
        2183a93ede63a25d4ac0bff6ba769f15d9fbd8ad771697adde2acbdbea06f7afe67b67c6
        """,
    ]

    private static let epochStart = LogRecord.Content.epochStart(number: 1, time: 1_700_000_000_000)
    private static let sign = LogRecord.Content.entry(
        AuditEntry(
            time: 1_700_000_000_001, owner: OwnerID(bytes: Array(repeating: 0x22, count: 16)), event: "sign",
            result: "granted", program: "/usr/bin/app", processID: 42, object: "right", operation: "use",
            factors: ["passcode"], strength: "key-bound"))
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
            4f5354494c4f470000020000b0b1b2b3b4b5b6b7b8b9babbbcbdbebf000000010000000000000003de63a25d4ac0bff6ba769f15d9fbd8\
            ad771697adde2acbdbea06f7afe67b67c6
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

    @Test func `the documented records are read and their seals checked`() throws {
        let folder = try TestFolder()
        let records = Self.records
        let file = try #require(records.reduce(Data(hexadecimal: Self.header)) { $0! + Data(hexadecimal: $1)! })
        try file.write(to: URL(fileURLWithPath: folder.path("audit.log")))
        // An anchor after the last record.
        var key = SealKey(epochSeed: Self.seed())
        for _ in 0..<2 {
            key.markUsed()
            key.advanceIfUsed()
        }
        let anchors = TestAnchorStore(
            Anchor(
                count: UInt64(records.count), head: file.suffix(32), epoch: 1,
                sealedKey: try TestSealer().seal(key.copy()),
                place: Anchor.Place(position: UInt64(file.count), storeGeneration: 4)))
        anchors.storeGeneration = 4
        let log = try AuditLog(folder: folder.path, ownedBy: geteuid(), anchors: anchors, sealer: TestSealer())
        #expect(log.state == .intact)
        let read = try log.page(from: 0, limit: 9).records
        #expect(read.map(\.content) == [Self.epochStart, Self.sign, Self.lock])
        #expect(read.map(\.storeGeneration) == [3, 4, 4])
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
