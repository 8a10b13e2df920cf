import AuditLog
import Foundation
import SecretMemory
import StoreTestSupport

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
            folder: folder.path, anchors: anchors, sealer: TestSealer(), epoch: 1, seed: testSeed(epoch: 1), time: 1)
        for number in 0..<count {
            if number == 3 { try log.startEpoch(2, seed: testSeed(epoch: 2), time: 2) }
            try log.append(Self.entry(number), durability: .soon)
        }
        try log.anchor()
    }

    static func entry(_ number: Int) -> AuditEntry {
        AuditEntry(
            time: UInt64(number), event: "sign", result: "granted", program: "/usr/bin/app", processID: 42,
            object: "right \(number)", operation: "use", factors: ["passcode"], strength: "key-bound")
    }

    func reopened() throws -> AuditLog {
        try AuditLog(folder: folder.path, anchors: anchors, sealer: TestSealer())
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

    static func seeds(_ epoch: UInt32) -> SecretBytes? { testSeed(epoch: epoch) }
}
