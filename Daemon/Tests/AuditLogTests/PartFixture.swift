import Foundation
import Glibc
import StoreTestSupport

@testable import AuditLog

/// A log of three parts, of six records each: the second begins an epoch, and two records of the third are not anchored.
struct PartFixture {
    let base: LogFixture
    var log: AuditLog { base.log }
    var anchors: TestAnchorStore { base.anchors }
    var open: String { base.path }

    init() throws {
        base = try LogFixture()
        for number in 1..<6 { try log.append(LogFixture.entry(number), durability: .soon) }
        try log.cut(time: 10)
        try log.append(LogFixture.entry(7), durability: .soon)
        try log.startEpoch(2, seed: testSeed(epoch: 2), time: 2)
        for number in 9..<12 { try log.append(LogFixture.entry(number), durability: .soon) }
        try log.cut(time: 20)
        for number in 13..<16 { try log.append(LogFixture.entry(number), durability: .soon) }
        try log.anchor()
        for number in 16..<18 { try log.append(LogFixture.entry(number), durability: .soon) }
    }

    func closed(_ number: Int) -> String { "\(open).\(number)" }

    func bytes(_ path: String) throws -> Data { try Data(contentsOf: URL(fileURLWithPath: path)) }
    func write(_ bytes: Data, to path: String) throws { try bytes.write(to: URL(fileURLWithPath: path)) }
    func exists(_ path: String) -> Bool { FileManager.default.fileExists(atPath: path) }
    func move(_ path: String, to other: String) throws {
        guard rename(path, other) == 0 else { throw AuditLogError.io(code: errno) }
    }
    func remove(_ path: String) throws { try FileManager.default.removeItem(atPath: path) }

    /// The first byte of each record of a file, and its end.
    func starts(_ path: String) throws -> [Int] {
        guard let file = try LogFile(reading: path, ownedBy: geteuid()), let header = try LogHeader(of: file.source)
        else {
            throw AuditLogError.damaged
        }
        var walk = ChainWalk(file.source, from: header.start, limit: file.end)
        var starts = [header.bytes.count]
        while case .record = try walk.next() { starts.append(walk.position) }
        return starts
    }
}
