import ExactNames
import Foundation
import SecretMemory
import StoreTestSupport

@testable import AuditLog

/// A log in a folder of its own.
struct LogFixture {
    let folder: TestFolder
    let anchors = TestAnchorStore()
    let log: AuditLog
    var path: String { folder.path("audit.log") }

    /// A log of `count` entries behind its first record, in two epochs if there are more than three, anchored at the
    /// end.
    init(entries count: Int = 0) throws {
        folder = try TestFolder()
        log = try AuditLog.create(
            folder: folder.path, ownedBy: geteuid(), anchors: anchors, sealer: TestSealer(), epoch: 1,
            seed: testSeed(epoch: 1), time: 1)
        for number in 0..<count {
            if number == 3 { try log.startEpoch(2, seed: testSeed(epoch: 2), time: 2) }
            try log.append(Self.entry(number), durability: .soon)
        }
        try log.anchor()
    }

    static func entry(_ number: Int, of owner: OwnerID? = nil) -> AuditEntry {
        AuditEntry(
            time: UInt64(number), owner: owner, event: "sign", result: "granted", program: "/usr/bin/app",
            processID: 42, object: "right \(number)", operation: "use", factors: ["passcode"], strength: "key-bound")
    }

    /// - Parameter readingAll: also what lies before the anchor.
    func reopened(readingAll: Bool = false) throws -> AuditLog {
        try AuditLog(
            folder: folder.path, ownedBy: geteuid(), anchors: anchors, sealer: TestSealer(), readingAll: readingAll)
    }

    func bytes() throws -> Data { try Data(contentsOf: URL(fileURLWithPath: path)) }

    func replace(_ bytes: Data) throws {
        // Written in place, as somebody would who changes the file under the running daemon.
        let file = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
        try file.truncate(atOffset: 0)
        try file.write(contentsOf: bytes)
        try file.close()
    }

    /// The bytes of the header and of each record.
    func pieces() throws -> (header: Data, records: [Data]) {
        let all = try bytes()
        var records: [Data] = []
        var rest = all.dropFirst(28)
        while rest.count >= 4 {
            let size = rest.prefix(4).reduce(0) { $0 << 8 | Int($1) } + 68
            records.append(Data(rest.prefix(size)))
            rest = rest.dropFirst(size)
        }
        return (all.prefix(28), records)
    }

    func replace(header: Data, records: [Data]) throws { try replace(records.reduce(header, +)) }

    /// Somebody without any key who changes a record's payload and recomputes all hashes behind it.
    func rechained(changing index: Int, _ change: (inout [UInt8]) -> Void) throws -> Data {
        let (header, records) = try pieces()
        var head = HashChain.initialHead(header: Array(header))
        var result = header
        for (number, record) in records.enumerated() {
            var payload = Array(record[4..<record.count - 64])
            if number == index { change(&payload) }
            let code = Array(record[(record.count - 64)..<(record.count - 32)])
            head = HashChain.head(after: head, payload: payload, code: code)
            result += RecordBytes.joined(payload: payload, code: code, head: head)
        }
        return result
    }

    static func seeds(_ epoch: UInt32) -> SecretBytes? { testSeed(epoch: epoch) }
}

enum RecordBytes {
    static func joined(payload: [UInt8], code: [UInt8], head: [UInt8]) -> Data {
        withUnsafeBytes(of: UInt32(payload.count).bigEndian) { Data($0) } + payload + code + head
    }
}

extension AuditLog {
    /// The administrator's verdict.
    func verify(seeds: (UInt32) throws -> SecretBytes? = { _ in nil }) throws -> AuditVerdict {
        try verify(for: .everything, seeds: seeds)
    }
}

extension OwnerID {
    /// An owner of tests.
    static func test(_ number: UInt8) -> OwnerID { OwnerID(bytes: Array(repeating: number, count: OwnerID.byteCount))! }
}
